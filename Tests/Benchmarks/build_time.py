#!/usr/bin/python3
"""build_time.py RESULTS: measures what building awd costs, in CPU seconds of all processes, and writes it to RESULTS.

The committed tree is built in a folder of its own, so that nothing is left over from earlier builds.
"""

import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# As `make build` builds.
RELEASE = ["swift", "build", "-c", "release", "--static-swift-stdlib", "-debug-info-format", "none", "--product", "awd"]
# As `make test` builds.
TESTS = ["swift", "build", "--build-tests", "--explicit-target-dependency-import-check", "error",
         "--disable-index-store", "-debug-info-format", "none"]
# A plug-in's file that others of the plug-in depend on.
CHANGED = ["Plugins/Apptimist/ApptimistService.swift", "Plugins/Msgr/MsgrService.swift"]


def measure(command: list[str], folder: pathlib.Path) -> tuple[float, float]:
    """Runs a command; returns its CPU and wall seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall


def main() -> None:
    results = pathlib.Path(sys.argv[1]).resolve()
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()
    lines = [f"building awd at {commit}", f"{'':44} {'CPU s':>8} {'wall s':>8}"]

    def row(name: str, command: list[str], folder: pathlib.Path) -> None:
        cpu, wall = measure(command, folder)
        line = f"{name:44} {cpu:8.0f} {wall:8.0f}"
        print(line, flush=True)
        lines.append(line)

    with tempfile.TemporaryDirectory(prefix="awd-build-time-") as folder:
        clone = pathlib.Path(folder, "awd")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        row("release, from clean", RELEASE, clone)
        for file in CHANGED:
            with open(clone / file, "a") as source:
                source.write("// changed\n")
            row(f"release, a line of {pathlib.Path(file).parts[1]} changed", RELEASE, clone)
        row("debug with all tests, from clean", TESTS, clone)
    results.write_text("\n".join(lines) + "\n")


main()

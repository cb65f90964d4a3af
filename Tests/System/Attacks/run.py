#!/usr/bin/python3
"""run.py AWD [NAME…]: attacks the program AWD with every script beside this file, or with those named, one after the other.

Each prints one line, PASS or FAIL with its figures. A script that takes longer than a minute has failed.
"""

import os
import pathlib
import signal
import subprocess
import sys

LIMIT = 60
FOLDER = pathlib.Path(__file__).parent


def run(script: pathlib.Path, program: str) -> bool:
    # In a process group of its own, so that a script that hangs takes its server with it.
    process = subprocess.Popen([sys.executable, "-B", script, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        print(f"FAIL {script.stem}: not over after {LIMIT} s", flush=True)
        return False
    lines = [line for line in output.splitlines() if line.startswith(("PASS ", "FAIL "))]
    if process.returncode == 0 and any(line.startswith("PASS ") for line in lines):
        print("\n".join(lines), flush=True)
        return True
    print("\n".join(lines) if lines else f"FAIL {script.stem}: {output.strip()[-1000:]}", flush=True)
    return False


def main():
    program = os.path.abspath(sys.argv[1])
    scripts = [path for path in sorted(FOLDER.glob("*.py")) if path.stem not in ("attack", "run")]
    if len(sys.argv) > 2:
        unknown = set(sys.argv[2:]) - {path.stem for path in scripts}
        if unknown:
            sys.exit(f"run.py: no such attack: {' '.join(sorted(unknown))}")
        scripts = [path for path in scripts if path.stem in sys.argv[2:]]
    failed = sum(not run(script, program) for script in scripts)
    print(f"{len(scripts) - failed} of {len(scripts)} attacks fail, as they should" + (f"; {failed} don't" if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""documents.py AWD [--write] CHECK …: compares the documents with the program AWD and the sources.

The checks are functions of this folder's modules. With --write, what can be written from the program is written.
"""

import pathlib
import subprocess
import sys

import commands_page
import configuration_page
import examples
import limits_page
import names_in_sources

ROOT = pathlib.Path(__file__).resolve().parents[3]
GUIDE = ROOT / "Sources/awd/awd.docc"
PAGES = sorted(GUIDE.rglob("*.md")) + sorted(ROOT.glob("*.md")) + [ROOT / "Clients/JavaScript/README.md"]
# What changed is told in the words of its time.
PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
CHECKS = {
    "configuration": lambda awd, write: configuration_page.check(awd, GUIDE, write),
    "commands": lambda awd, write: commands_page.check(awd, GUIDE, write),
    "uses": lambda awd, write: commands_page.check_uses(awd, PRESENT),
    "keys": lambda awd, write: names_in_sources.keys(configuration_page.keys(GUIDE), PRESENT),
    "metrics": lambda awd, write: names_in_sources.metrics(ROOT, GUIDE, PRESENT),
    "events": lambda awd, write: names_in_sources.events(ROOT, GUIDE, write),
    "statuses": lambda awd, write: names_in_sources.statuses(ROOT, PRESENT),
    "limits": lambda awd, write: limits_page.check(ROOT, GUIDE),
    "examples": lambda awd, write: examples.check(awd, PRESENT),
    "version": lambda awd, write: names_in_sources.version(ROOT),
    "licences": lambda awd, write: names_in_sources.licences(ROOT, awd),
    "types": lambda awd, write: names_in_sources.types(ROOT, GUIDE),
    "charts": lambda awd, write: charts(write),
    "links": lambda awd, write: names_in_sources.links(ROOT, PAGES),
}


def charts(write: bool) -> list[str]:
    """The pictures of Performance are those of the results."""
    words = [sys.executable, str(ROOT / "Tests/Benchmarks/charts.py"), str(ROOT / "Tests/Benchmarks/results/bench.txt"), str(GUIDE / "Resources")]
    outcome = subprocess.run(words + ([] if write else ["--check"]), capture_output=True, text=True, timeout=60)
    return [outcome.stderr.strip()] if outcome.returncode else []


def main():
    awd, *words = sys.argv[1:]
    write = "--write" in words
    names = [word for word in words if not word.startswith("--")] or list(CHECKS)
    failures = [failure for name in names for failure in CHECKS[name](awd, write)]
    if failures:
        sys.exit("\n".join(failures))
    print("ok", *names)


main()

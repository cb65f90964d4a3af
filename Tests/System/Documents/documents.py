#!/usr/bin/python3
"""documents.py AWD [--write] CHECK …: compares the documents with the program AWD and the sources.

The checks are functions of this folder's modules. With --write, what can be written from the program is written.
"""

import pathlib
import sys

import commands_page
import configuration_page
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
    "version": lambda awd, write: names_in_sources.version(ROOT),
    "licences": lambda awd, write: names_in_sources.licences(ROOT),
    "types": lambda awd, write: names_in_sources.types(ROOT, GUIDE),
    "links": lambda awd, write: names_in_sources.links(ROOT, PAGES),
}


def main():
    awd, *words = sys.argv[1:]
    write = "--write" in words
    names = [word for word in words if not word.startswith("--")] or list(CHECKS)
    failures = [failure for name in names for failure in CHECKS[name](awd, write)]
    if failures:
        sys.exit("\n".join(failures))
    print("ok", *names)


main()

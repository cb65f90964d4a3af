#!/usr/bin/env python3
"""quote.py RESULTS ARTICLE: replaces each block of ARTICLE that begins with "== PART" by this part of RESULTS, a file that
bench.py has written, without the spreads. A part that RESULTS lacks stays as it is. Of Apptimist's part only the limit and the
messages a second are quoted."""
import re, sys


def rates(part: str) -> str:
    """The rows of Apptimist's part as one table: a line for each load, a column for each server."""
    loads: dict[str, dict[str, str]] = {}
    head, rows = part.split("\n\n", 1)
    limit = re.search(r"(?m)^Limit of one core: \d+ messages/s", head)
    for row in rows.splitlines():
        if found := re.match(r"(\S.*?)\s{2,}(\S.*?)\s{2,}(\d+)\s+\d+ %", row):
            loads.setdefault(found[1], {})[found[2]] = found[3]
    servers = list(dict.fromkeys(server for rates in loads.values() for server in rates))
    names = dict(zip(servers, "ABCDEFGHIJ"))
    lines = [f"{letter}  {name}" for name, letter in names.items()]
    lines += ["", "messages/s, on the way".ljust(24) + "".join(letter.rjust(8) for letter in names.values())]
    lines += [load.removesuffix(" on the way").ljust(24) + "".join(rates.get(server, "").rjust(8) for server in servers).rstrip()
              for load, rates in loads.items()]
    return "\n".join(["== apptimist", *([limit[0]] if limit else []), "", *lines])


def brief(part: str) -> str:
    """The part without its spreads, which stand in parentheses or in a column."""
    return re.sub(r" \(spread \d+ %\)|(?m:(?<=\d)   *\d+ %(?=  |$))|  spread(?=  |$)", "", part)


results, article = sys.argv[1:]
parts = {part.split("\n", 1)[0]: part.rstrip() for part in re.split(r"(?m)^(?=== )", open(results).read()) if part.strip()}
if "== apptimist" in parts: parts["== apptimist"] = rates(parts["== apptimist"])
parts = {name: brief(part) for name, part in parts.items()}
text = open(article).read()
text = re.sub(r"(?ms)^```text\n(== \w+)$.*?^```$",
              lambda block: f"```text\n{parts[block[1]]}\n```" if block[1] in parts else block[0], text)
open(article, "w").write(text)
print(f"quoted in {article}: {', '.join(name[3:] for name in parts)}")

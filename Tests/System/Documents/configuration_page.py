"""The tables of the page Configuration, compared with the keys that the program reads.

A row is `| key | type and range | default | meaning |`, below a heading that names the section in brackets. The program's types
and ranges are those that `awd check` names when a key has a wrong value.
"""

import json
import pathlib
import re
import subprocess
import tempfile

PAGE = "Configuration.md"
# The push server is off by default, and needs two keys.
EVERY_SERVICE = """server.services = ["tokenscript", "msgr", "apptimist", "pushserver"]
server.public_url = "https://push.example"
pushserver.push = "log"
pushserver.relay_key = "%s"
""" % ("a5" * 32)
GIVEN = {"server.services", "server.public_url", "pushserver.push", "pushserver.relay_key"}
# Values that are wrong for one type or another.
WRONG = ["1.5", '"\\u0001"', "-1", '"9999TiB"', '"99999999d"']
# Tables whose keys the operator chooses, so that none is read where none is given.
CHOSEN = {"chains", "tokenscript.chains", "tokenscript.clients"}
# Defaults that the page gives in words: those of this machine, of the public URL, and one that is too long.
IN_WORDS = {
    "server.services": "all but `pushserver`",
    "tokenscript.schemas": "`<data>/schemas` if that exists",
    "tokenscript.explorers": "those of 18 chains",
    "msgr.password_threads": "cores − 1, at least 1",
    "msgr.siwe.domain": "host and port of `server.public_url`",
    "msgr.siwe.uri": "`server.public_url` + `/msgr/`",
    "apptimist.siwe.domain": "host and port of `server.public_url`",
    "apptimist.siwe.uri": "`server.public_url` + `path`",
}
ROW = re.compile(r"^\| `(?P<key>[^`]+)` \| (?P<type>.*?) \| (?P<default>.*?) \| (?P<meaning>.*) \|$")
WORDS = ("integer", "size", "duration", "list", "table", "path", "true or false")


class Program:
    """The program's keys, as `awd check` reports them."""

    def __init__(self, awd: str):
        self.awd = awd
        self.temporary = tempfile.TemporaryDirectory(prefix="awd-configuration-")
        self.folder = pathlib.Path(self.temporary.name)

    def report(self, toml: str) -> dict:
        file = self.folder / "awd.toml"
        file.write_text(toml)
        outcome = subprocess.run([self.awd, "check", "--json", "--config", str(file)], capture_output=True, text=True, timeout=60)
        return json.loads(outcome.stdout)

    def defaults(self) -> dict[str, str]:
        found = {}
        for toml in ("", EVERY_SERVICE):
            for setting in self.report(toml)["settings"]:
                found.setdefault(setting["key"], setting["value"])
        return {key: self.plain(value) for key, value in found.items()}

    def plain(self, value: str) -> str:
        """The value as the page writes it: paths below the data folder, addresses without the scheme that they have anyway."""
        value = value.replace(f"{self.folder}/var/", "<data>/").replace(f"{self.folder}/", "").replace("http://127", "127")
        if value in ('""', "[]", "{}"):
            return "none"
        return f"`{value.strip(chr(34))}`"

    def types(self, keys: list[str]) -> dict[str, str]:
        """The type and range of each key, in the page's words."""
        messages: dict[str, list[str]] = {key: [] for key in keys}
        keys = [key for key in keys if key not in GIVEN]
        for start in range(0, len(keys), 40):
            for wrong in WRONG:
                part = keys[start:start + 40]
                toml = EVERY_SERVICE + "".join(f"{key} = {wrong}\n" for key in part)
                for problem in self.report(toml)["problems"]:
                    key = problem["key"].split("[")[0]
                    messages.setdefault(key, []).append(problem["message"])
        return {key: self.type(messages[key]) for key in messages}

    def type(self, messages: list[str]) -> str:
        text = "\n".join(messages)
        if "expected a list of" in text:
            return "list"
        if "expected a table" in text:
            return "table"
        if "expected a path, found" in text:
            return "path"
        if "expected true or false" in text:
            return "`true` or `false`"
        if found := re.search(r"expected an integer from (-?\d+) to (\d+)", text):
            return "integer, {:,} to {:,}".format(*map(int, found.groups()))
        if found := re.search(r'expected a (size|duration) from "(\w+)" to "(\w+)"', text):
            return "{}, `{}` to `{}`".format(*found.groups())
        if found := re.search(r"expected one of (.*), found", text):
            return "one of " + ", ".join(f"`{name}`" for name in re.findall(r'"([^"]+)"', found[1]))
        return "text"


def rows(page: pathlib.Path):
    """Each row of the page's tables with its whole key, as (number of the line, key, match)."""
    section = prefix = ""
    for number, line in enumerate(page.read_text().splitlines()):
        if line.startswith("#"):
            heading = re.match(r"#+ .*\[([a-z_.]+)\]", line)
            if line.startswith("## "):
                section = heading[1] + "." if heading else ""
            prefix = heading[1] + "." if heading else section
        if found := ROW.match(line):
            yield number, prefix + found["key"], found


def check(awd: str, guide: pathlib.Path, write: bool) -> list[str]:
    page = guide / PAGE
    program = Program(awd)
    defaults = program.defaults()
    types = program.types(list(defaults))
    lines = page.read_text().splitlines()
    failures = []
    told = set()
    for number, key, row in rows(page):
        if key in told:
            failures.append(f"{key} stands twice in {PAGE}")
        told.add(key)
        if key in CHOSEN:
            continue
        if key not in defaults:
            failures.append(f"{PAGE} has the key {key}, which the program doesn't read")
            continue
        default = IN_WORDS.get(key) or defaults[key]
        kind = types[key]
        if key in GIVEN:
            kind, default = row["type"], row["default"]
        elif kind in ("list", "table"):
            if row["type"].startswith(kind):
                kind = row["type"]
        elif kind == "text" and not row["type"].startswith(WORDS):
            kind = row["type"]
        if (row["type"], row["default"]) != (kind, default):
            failures.append(f"{key}: the program has “{kind}” and “{default}”, {PAGE} has “{row['type']}” and “{row['default']}”")
            lines[number] = f"| `{row['key']}` | {kind} | {default} | {row['meaning']} |"
    failures += [f"{PAGE} lacks the key {key}: {types[key]}, {defaults[key]}" for key in defaults if key not in told]
    if write:
        page.write_text("\n".join(lines) + "\n")
    return failures


def keys(guide: pathlib.Path) -> set[str]:
    """All keys of the page, as others name them."""
    return {key for _, key, _ in rows(guide / PAGE)}

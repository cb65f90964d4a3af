"""The page Commands, whose last section is written from each command's `--help`; and commands that other pages name."""

import pathlib
import re
import subprocess

PAGE = "Commands.md"
# A command that only awd itself runs.
HIDDEN = "repo schema-worker"
HEADING = "## Every command"


class Commands:
    def __init__(self, awd: str):
        self.awd = awd
        help_text = self.help()
        self.summaries: dict[str, str] = {}
        for line in help_text.splitlines():
            if found := re.match(r"  (\S+(?: \S+){0,2})  +(\S.*)", line):
                name = found[1]
                self.summaries[name] = found[2]
            elif self.summaries and line.startswith("     "):
                self.summaries[list(self.summaries)[-1]] += " " + line.strip()
        self.options = {name: set(re.findall(r"--[a-z-]+", self.help(name))) for name in self.summaries}

    def help(self, name: str = "") -> str:
        words = [self.awd, *name.split(), "--help"]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout

    def section(self, name: str) -> str:
        """The page's text about one command."""
        usage, summary, *parameters = self.help(name).split("\n\n")
        usage = usage.removeprefix("usage: ")
        text = [f"### awd {name}", "", *[part.strip() + "." if part.strip()[-1] not in ".:" else part.strip() for part in [summary]],
                "", "```", usage.strip(), "```", ""]
        rows: list[list[str]] = []
        for line in "\n".join(parameters).splitlines():
            if found := re.match(r"  (\S+(?: \S+)*)(?:  +(\S.*))?$", line):
                rows.append([found[1], found[2] or ""])
            elif rows and line.strip():
                rows[-1][1] += " " + line.strip()
        for parameter, meaning in rows:
            if parameter != "--help":
                text.append(f"- `{parameter}`: {meaning.strip()}")
        return "\n".join(text).rstrip() + "\n"


def expected(awd: str, page: pathlib.Path) -> str:
    commands = Commands(awd)
    before = page.read_text().split(HEADING)[0]
    return before + HEADING + "\n\n" + "\n".join(commands.section(name) for name in sorted(commands.summaries))


def check(awd: str, guide: pathlib.Path, write: bool) -> list[str]:
    page = guide / PAGE
    text = expected(awd, page)
    if page.read_text() == text:
        return []
    if write:
        page.write_text(text)
    return [f"{PAGE} isn't what the commands' --help says; documents.py --write commands writes it"]


def check_uses(awd: str, pages: list[pathlib.Path]) -> list[str]:
    """Compares the commands and options that pages name with those that there are."""
    commands = Commands(awd)
    groups = {name.split()[0] for name in commands.summaries if " " in name}
    failures = []
    for page in pages:
        # Rows of log events are the program's own words.
        text = re.sub(r"^\| (debug|info|warning|error) .*$", "", page.read_text(), flags=re.MULTILINE)
        spans = re.findall(r"```[^\n]*\n(.*?)```", text, re.DOTALL) + re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
        for span in spans:
            for line in re.sub(r"\\\n\s*", " ", span).splitlines():
                line = re.split(r"\s+#\s", line)[0]
                if line.startswith("Description="):
                    continue
                for found in re.finditer(r"(?:^|[\s(/;'|&])awd (?!awd )((?:[a-z][a-z-]*)(?: [a-z][a-z-]*){0,2})\b([^|;&)]*)", line):
                    # The user of that name, and words of systemd.
                    if re.search(r"(-u|systemctl|group|install|adduser|user|service|COMMAND) ?$", line[:found.start() + 1]):
                        continue
                    words = found[1].split()
                    names = [" ".join(words[:count]) for count in (3, 2, 1)]
                    name = next((name for name in names if name in commands.summaries), None)
                    if name is None:
                        if words[0] in groups and len(words) < 3 or names[1] == HIDDEN:
                            continue
                        failures.append(f"{page.name} names `awd {found[1]}`, which is no command: {line.strip()}")
                        continue
                    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", found[2]):
                        if option not in commands.options[name] | {"--help"}:
                            failures.append(f"{page.name}: `awd {name}` has no option {option}: {line.strip()}")
    return failures

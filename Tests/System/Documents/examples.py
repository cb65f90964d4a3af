"""The examples of the pages: configurations that awd takes, and JSON and YAML that can be parsed."""

import json
import pathlib
import re
import subprocess
import tempfile


def check(awd: str, pages: list[pathlib.Path]) -> list[str]:
    failures = []
    for page in pages:
        for language, text in re.findall(r"^```(toml|json|yaml)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            fault = {"toml": lambda: configuration(awd, text), "json": lambda: parsed(text), "yaml": lambda: documents(text)}[language]()
            if fault:
                failures.append(f"{page.name}: {fault} in\n{text}")
    return failures


def configuration(awd: str, text: str) -> str:
    """What awd says of the keys; what a page leaves out, and files that aren't there, don't count."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "awd.toml")
        file.write_text(text)
        outcome = subprocess.run([awd, "check", "--json", "--config", str(file)], capture_output=True, text=True, timeout=60)
    problems = [f"{problem['key']}: {problem['message']}" for problem in json.loads(outcome.stdout)["problems"]]
    return "; ".join(problem for problem in problems if "unknown key" in problem or "found" in problem or ": expected" not in problem)


def parsed(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def documents(text: str) -> str:
    import yaml
    try:
        list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        return str(error)
    return ""

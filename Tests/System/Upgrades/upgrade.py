#!/usr/bin/python3
"""upgrade.py AWD: brings a store of each schema since version 0.1.0 up to date, compares it with a new one, and tries an older
and a newer one, which are refused.

SERVICE-NUMBER.sql is what a service kept after its migration NUMBER: the migrations as they were at the commit that the file
names, and a row in each table. `upgrade.py AWD --dump` writes those of the newest migrations that have none yet.
"""

import collections
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
# What is made anew from the repository's files.
INDEX = {"tokenscript_contracts", "tokenscript_files"}
# The histories of libraries' tables, by the owner whose dumps hold them.
WITH = {"apptimist": ["msgr", "push"], "msgr": ["push"]}
# A step that SQLite doesn't have is none of them.
STEPS = "SELECT owner, number FROM store_migrations ORDER BY owner, number"


def awd(program: str, folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
    configuration = folder / "awd.toml"
    configuration.write_text('[server]\ndata = "."\nlisten = ["127.0.0.1:0"]\n')
    return subprocess.run([program, *words, "--config", str(configuration)], capture_output=True, text=True, timeout=60)


def schema(path: pathlib.Path) -> set[tuple[str, str, str]]:
    """Everything in the schema with its SQL, in which comments, quotes and white space make no difference."""
    with sqlite3.connect(path) as store:
        rows = store.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").fetchall()
        return {(kind, name, re.sub(r"\s*([(),])\s*|\s+", lambda space: space[1] or " ", re.sub(r'--.*|"', "", sql)).strip())
                for kind, name, sql in rows}


def counts(path: pathlib.Path) -> dict[str, int]:
    with sqlite3.connect(path) as store:
        names = [row[0] for row in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: store.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names
                if not name.startswith(("sqlite_", "store_"))}


def rows(path: pathlib.Path) -> collections.Counter[str]:
    """All rows as they would be inserted."""
    with sqlite3.connect(path) as store:
        return collections.Counter(line for line in store.iterdump() if line.startswith("INSERT"))


def store_of(dump: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    path = folder / "awd.sqlite3"
    with sqlite3.connect(path) as store:
        store.executescript(dump.read_text())
    return path


def dump(owner: str, before: int, number: int):
    """Brings the newest dump up to date with the rest of its tables, of which each empty one should then get a row."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = store_of(FOLDER / f"{owner}-{before}.sql", folder)
        outcome = awd(sys.argv[1], folder, "user", "list")
        if outcome.returncode:
            sys.exit(outcome.stderr)
        with sqlite3.connect(path) as store:
            owners = [owner, *WITH.get(owner, [])]
            store.execute(f"DELETE FROM store_migrations WHERE owner NOT IN ({', '.join('?' * len(owners))})", owners)
            store.execute("DROP TABLE store_probe")
            store.execute("PRAGMA foreign_keys = OFF")
            for kind, part in store.execute("SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall():
                if not part.startswith(tuple(f"{name}_" for name in [*owners, "store", "sqlite"])):
                    store.execute(f"DROP {kind} {part}")
            commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=FOLDER)
            head = f"-- What {owner} kept after its migration {number}, as of commit {commit.stdout.strip()}.\n"
            lines = list(store.iterdump())
            # Without a table that counts on, there is no sequence in the new store.
            if not any("AUTOINCREMENT" in line for line in lines):
                lines = [line for line in lines if "sqlite_sequence" not in line]
            (FOLDER / f"{owner}-{number}.sql").write_text(head + "\n".join(lines) + "\n")


def upgrade(program: str, file: pathlib.Path, fresh: set) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = store_of(file, folder)
        before = counts(path)
        empty = [table for table, count in before.items() if not count]
        outcome = awd(program, folder, "user", "list")
        if outcome.returncode:
            return [f"{file.name}: {outcome.stderr}"]
        after = counts(path)
        failures = [f"{file.name}: {table} has no row; add one, so that there is something to migrate" for table in empty]
        failures += [f"{file.name}: {table} had {count} rows and has {after[table]}" for table, count in before.items()
                     if table in after and after[table] != count and table not in INDEX]
        failures += [f"{file.name}: the schema differs from a new one: {part}" for part in schema(path) ^ fresh]
        with sqlite3.connect(path) as store:
            if (found := store.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
                failures.append(f"{file.name}: {found}")
        return failures


def downgrade(program: str, path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """A store of a newer version is refused in words, and stays as it was."""
    with sqlite3.connect(path) as store:
        store.execute("INSERT INTO store_migrations (owner, number) VALUES ('msgr', 1000)")
    before = counts(path)
    outcome = awd(program, folder, "serve")
    words = "the database was made by a newer version: it has migration 1000 of msgr"
    if outcome.returncode == 0 or words not in outcome.stderr or counts(path) != before:
        return [f"downgrade: {outcome.returncode} {outcome.stderr}"]
    return []


def before_upgrades(program: str, owner: str, first: int) -> list[str]:
    """A store from before version 0.1.0 is refused in words, and stays as it was."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = store_of(FOLDER / f"{owner}-{first}.sql", folder)
        with sqlite3.connect(path) as store:
            store.execute("DELETE FROM store_migrations WHERE number >= ?", [first])
        before = rows(path)
        outcome = awd(program, folder, "user", "list")
        if outcome.returncode == 0 or "start version 0.1.0 with it once" not in outcome.stderr or rows(path) != before:
            return [f"{owner} before {first}: {outcome.returncode} {outcome.stderr}"]
        return []


def version(program: str) -> list[str]:
    """The program's version is the newest one in CHANGELOG.md."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout
    newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (FOLDER.parents[2] / "CHANGELOG.md").read_text(), re.MULTILINE)
    if newest is None or told != f"awd {newest[1]}\n":
        return [f"CHANGELOG.md doesn't begin with the version of {told}"]
    return []


def main():
    program = sys.argv[1]
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        outcome = awd(program, folder, "user", "list")
        if outcome.returncode:
            sys.exit(outcome.stderr)
        path = folder / "awd.sqlite3"
        fresh = schema(path)
        with sqlite3.connect(path) as store:
            newest = {}
            for owner, number in store.execute(STEPS):
                newest.setdefault(owner, []).append(number)
        # Msgr's steps stand beside Apptimist's, and have dumps of their own.
        libraries = {library for libraries in WITH.values() for library in libraries} - WITH.keys()
        for owner, numbers in newest.items():
            if owner in libraries:
                continue
            # A service that came later has nothing older.
            if numbers[0] > 1:
                failures += before_upgrades(program, owner, numbers[0])
            for before, number in zip([0, *numbers], numbers):
                file = FOLDER / f"{owner}-{number}.sql"
                if not file.exists() and "--dump" in sys.argv:
                    dump(owner, before, number)
                if not file.exists():
                    failures.append(f"Tests/System/Upgrades/{file.name} is missing: run `python3 Tests/System/Upgrades/upgrade.py "
                                    ".build/release/awd --dump`, give each new table a row in it, and commit it")
                    continue
                failures += upgrade(program, file, fresh)
        failures += downgrade(program, path, folder) + version(program)
    if failures:
        sys.exit("FAIL\n" + "\n".join(failures))
    print("ok", *(f"{owner} {numbers[0]} to {numbers[-1]}" for owner, numbers in newest.items()))


main()

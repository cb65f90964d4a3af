#!/usr/bin/python3
"""upgrade.py AWD: brings a store of each schema since version 1.0.0 up to date, compares it with a new one, and tries a newer
one, which is refused.

SERVICE-NUMBER.sql is what a service kept after its migration NUMBER: the migrations as they were at the commit that the file
names, and a row in each table. `upgrade.py AWD --dump` writes those of the newest migrations that have none yet, and gives each
table without a row one that only its types and constraints shape.
"""

import collections
import pathlib
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
# What is made anew from the repository's files.
INDEX = {"tokenscript_contracts", "tokenscript_files"}
# The histories of libraries' tables, by the owner whose dumps hold them.
WITH = {"apptimist": ["push"], "msgr": ["push"], "pushserver": ["push"]}
# A step that SQLite doesn't have is none of them.
STEPS = "SELECT owner, number FROM store_migrations ORDER BY owner, number"


def awd(program: str, folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
    configuration = folder / "awd.toml"
    configuration.write_text('[server]\ndata = "."\nlisten = ["127.0.0.1:0"]\n')
    return subprocess.run([program, *words, "--config", str(configuration)], capture_output=True, text=True, timeout=60)


def start(program: str, folder: pathlib.Path) -> str:
    """Starts the program until it is ready, which makes a store. Returns what is wrong, or nothing."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    configuration = folder / "awd.toml"
    configuration.write_text(f'[server]\ndata = "."\nlisten = ["127.0.0.1:{port}"]\n')
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen([program, "serve", "--config", str(configuration)], stdout=output, stderr=output)
        try:
            for _ in range(1200):
                if process.poll() is not None:
                    return log.read_text()
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                        return ""
                except OSError:
                    time.sleep(0.05)
            return f"not ready: {log.read_text()}"
        finally:
            process.terminate()
            process.wait(20)


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


def value(column: str, kind: str, sql: str):
    """A value for a column that has to have one. Rows are found by it, so it is no number that a program would give."""
    if re.search(rf"{column} \w+[^,]*CHECK \(length\({column}\) = 20\)", sql):
        return b"\x07" * 20
    return {"INTEGER": 1, "REAL": 1.0, "TEXT": "x", "BLOB": b"x", "ANY": "x"}[kind]


def primary_key(store: sqlite3.Connection, table: str) -> list[str]:
    columns = [row for row in store.execute(f"PRAGMA table_info({table})") if row[5]]
    return [row[1] for row in sorted(columns, key=lambda row: row[5])]


def fill(store: sqlite3.Connection, owners: list[str]):
    """Gives each empty table a row, those first that others refer to."""
    tables = {name: sql for name, sql in store.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
              if name.startswith(tuple(f"{owner}_" for owner in owners))}
    store.execute("PRAGMA foreign_keys = ON")
    while tables:
        ready = [name for name in tables
                 if all(row[2] not in tables or row[2] == name for row in store.execute(f"PRAGMA foreign_key_list({name})"))]
        for name in ready:
            sql = tables.pop(name)
            if store.execute(f"SELECT count(*) FROM {name}").fetchone()[0]:
                continue
            references = {row[3]: (row[2], row[4] or primary_key(store, row[2])[row[1]])
                          for row in store.execute(f"PRAGMA foreign_key_list({name})")}
            columns = {}
            for _, column, kind, must, default, key in store.execute(f"PRAGMA table_info({name})"):
                if column in references and (must or key):
                    other, place = references[column]
                    columns[column] = store.execute(f"SELECT {place} FROM {other}").fetchone()[0]
                elif (must and default is None) or key:
                    columns[column] = value(column, kind, sql)
            marks = ", ".join("?" * len(columns))
            store.execute(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})", list(columns.values()))


def dump(owner: str, before: int, number: int):
    """Brings the newest dump, or a new store, up to date, and gives each table a row."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if before:
            path = store_of(FOLDER / f"{owner}-{before}.sql", folder)
            outcome = awd(sys.argv[1], folder, "user", "list")
            fault = outcome.stderr if outcome.returncode else ""
        else:
            path = folder / "awd.sqlite3"
            fault = start(sys.argv[1], folder)
        if fault:
            sys.exit(fault)
        with sqlite3.connect(path) as store:
            owners = [owner, *WITH.get(owner, [])]
            store.execute(f"DELETE FROM store_migrations WHERE owner NOT IN ({', '.join('?' * len(owners))})", owners)
            store.execute("UPDATE store_migrations SET applied_at = 1700000000")
            # The store makes its own tables anew; some are a service's, so named that no backup has them.
            own = "".join(path.read_text() for path in ROOT.glob("*/*/Resources/Schema/schema.sqlite.sql")
                          if f"CREATE TABLE {owner}_" in path.read_text())
            for table, in store.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'store_%' AND type = 'table'").fetchall():
                if table != "store_migrations" and f"CREATE TABLE {table} " not in own:
                    store.execute(f"DROP TABLE {table}")
            store.execute("PRAGMA foreign_keys = OFF")
            for kind, part in store.execute("SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall():
                if not part.startswith(tuple(f"{name}_" for name in [*owners, "store", "sqlite"])):
                    store.execute(f"DROP {kind} {part}")
            store.commit()
            fill(store, owners)
            store.commit()
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
        # A command, as the server would tidy away what has expired.
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


def main():
    program = sys.argv[1]
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if fault := start(program, folder):
            sys.exit(fault)
        path = folder / "awd.sqlite3"
        fresh = schema(path)
        with sqlite3.connect(path) as store:
            newest = {}
            for owner, number in store.execute(STEPS):
                newest.setdefault(owner, []).append(number)
        libraries = {library for libraries in WITH.values() for library in libraries}
        for owner, numbers in newest.items():
            if owner in libraries:
                continue
            for before, number in zip([0, *numbers], numbers):
                file = FOLDER / f"{owner}-{number}.sql"
                if not file.exists() and "--dump" in sys.argv:
                    dump(owner, before, number)
                if not file.exists():
                    failures.append(f"Tests/System/Upgrades/{file.name} is missing: run `python3 Tests/System/Upgrades/upgrade.py "
                                    ".build/release/awd --dump`, and commit it")
                    continue
                failures += upgrade(program, file, fresh)
        failures += downgrade(program, path, folder)
    if failures:
        sys.exit("FAIL\n" + "\n".join(failures))
    print("ok", *(f"{owner} {numbers[0]} to {numbers[-1]}" for owner, numbers in newest.items()))


main()

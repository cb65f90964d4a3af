#!/usr/bin/python3
"""plans.py: reads how PostgreSQL would run the program's statements that order and limit rows, on tables that were analyzed while
they were empty, and while they were small, large and skewed. A plan that walks through a whole index or table because few rows
are expected, or many are expected to fit, is an error: it becomes slow when the outbox is long or an inbox is full.

The statements are found in the sources, the tables in the schemas. It starts a server of its own, and needs no awd.
"""

import json
import os
import pathlib
import pwd
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMAS = ["Sources/Storage/Resources/tables", "Sources/Push/Resources/Schema/schema", "Plugins/Msgr/Resources/Schema/schema",
           "Plugins/Apptimist/Resources/Schema/schema", "Plugins/PushServer/Resources/Schema/schema",
           "Plugins/TokenScriptRepo/Resources/Schema/schema"]
# Tables that stay small, or of which all rows are wanted.
SMALL = {"store_nodes", "store_probe", "store_history", "store_identity", "store_migrations", "store_keys", "store_clock",
         "apptimist_settled", "push_targets"}
# What is empty again and again on a healthy server, and grows fastest when something fails. Plans for what grows more slowly are
# made anew every two seconds.
EMPTYING = {"push_outbox"}
# Statements that read all of a table on purpose, by a piece of their text: they run once in minutes or for an operator.
WHOLE = ["expires_at <= ", "GROUP BY", "sent_at <", "shown_at", "noted_at", "count(*)", "seen_at <", "used_at <", "used_at ASC",
         "accepted_at <", "received_at <", "time <", "p.change > "]
# The types of parameters, by the columns that they are an array of; `bigint` is that of most others.
TYPES = {"device": "bytea", "account": "bytea", "address": "bytea", "content": "bytea", "tag": "bytea", "key": "bytea",
         "push_id": "text", "collapse_key": "text", "sender": "text", "recipient": "text", "is_first": "boolean", "name": "text",
         "text": "text", "client_id": "text", "device_id": "text", "parts": "text", "topic": "text", "username": "text",
         "other": "text", "owner": "text", "password": "text", "token": "bytea", "is_needed": "boolean", "is_sender": "boolean",
         "message": "bytea", "header": "bytea", "data": "bytea"}
# Where the same names stand for other types.
LISTS = {"recipient, sender, n": "bigint, bigint, bigint", "owner": "bigint", "owner, message": "bigint, bytea",
         "owner, position, sender, size, content, id": "bigint, bigint, bigint, bigint, bigint, bytea",
         "id, holders, sender, header, data": "bigint, bigint, bigint, bytea, bytea",
         "owner, id, position": "bigint, bytea, bigint", "owner, sender, entries, bytes, oldest": ", ".join(["bigint"] * 5),
         "owner, last, entries, bytes": ", ".join(["bigint"] * 4), "id, owner, due": "bigint, bytea, bigint",
         "owner, device, position, due": "bigint, bytea, bigint, bigint",
         "device, account, kind, address, push_id, content, urgency, collapse_key, position, due_at, is_first, owner, rank":
         "bytea, bytea, bigint, bytea, text, bytea, bigint, text, bigint, bigint, boolean, bytea, bigint"}
# The types of single parameters, by what stands around them.
SINGLE = [(r"(?<=n\.is_leased = 1 THEN )(\$\d+)(?= END)", r"\1::bytea"), (r"(\$\d+) IS NULL", r"\1::text IS NULL"),
          (r"THEN (\$\d+) ELSE (\$\d+)(?= END)", r"THEN \1::bigint ELSE \2::bigint"),
          (r"unnest\((\$\d+)\) t\b", r"unnest(\1::text[]) t"),
          (r"\b(substr|length)\((\$\d+)", r"\1(\2::bytea"),
          (r"\((\$\d+)\)\[array_position\((\$\d+), id", r"(\1::bigint[])[array_position(\2::bigint[], id"),
          (r"\((\$\d+)\)\[array_position\((\$\d+), device", r"(\1::bigint[])[array_position(\2::bytea[], device")]
SEARCH = re.compile(r'"""\n(.*?)"""|"((?:[^"\\\n]|\\.)*)"', re.S)


def statements() -> list[tuple[str, str]]:
    """The statements that PostgreSQL might run in a way that isn't meant, each with its place, as PostgreSQL gets them: those that
    order rows or ask for the least or greatest, for which it may walk through another index, and those that join tables, by name or
    by arrays and other statements in their conditions."""
    found = []
    for folder in ("Sources", "Plugins"):
        for path in sorted((ROOT / folder).rglob("*.swift")):
            if "WalletClient" in path.parts:
                continue
            text = path.read_text()
            for match in SEARCH.finditer(text):
                sql = match[1] if match[1] is not None else match[2]
                if not re.match(r"\s*(SELECT|UPDATE|DELETE|INSERT|WITH)\b", sql) or "\\(" in sql:
                    continue
                # SQLite's alone, an operator's, or a backup's.
                if re.search(r"sqlite_schema|AS BLOB|backup_files|pg_notify", sql) or "Administration" in path.name:
                    continue
                if is_judged(sql):
                    found.append((f"{path.relative_to(ROOT)}:{text[:match.start()].count(chr(10)) + 1}", translated(sql)))
    for schema in SCHEMAS:
        path = ROOT / f"{schema}.postgresql.sql"
        text = path.read_text()
        for function in re.finditer(r"\$\$(.*?)\$\$", text, re.S):
            for match in re.finditer(r"(?:SELECT|UPDATE|DELETE FROM|INSERT INTO)\b[^;]*;", function[1]):
                line = text[:function.start(1) + match.start()].count("\n") + 1
                found.append((f"{path.relative_to(ROOT)}:{line}", of_a_trigger(match[0].rstrip(";"))))
    return found


def is_judged(sql: str) -> bool:
    return bool(re.search(r"ORDER BY|unnest\(|ANY \(|\b(min|max)\(|\b(JOIN|USING|EXISTS)\b|\bIN \(\s*SELECT\b|^\s*WITH\b", sql))


def of_a_trigger(sql: str) -> str:
    """The text with parameters in place of the row's columns."""
    columns = list(dict.fromkeys(re.findall(r"\b(?:old|new)\.\w+", sql)))
    for number, column in enumerate(columns, 1):
        # A difference of two parameters alone has no type.
        kind = "::bigint" if column.endswith(".size") else ""
        sql = re.sub(rf"\b{re.escape(column)}\b", f"${number}{kind}", sql)
    return sql


def translated(sql: str) -> str:
    """The text with PostgreSQL's parameters, as the store translates it."""
    sql = re.sub(r"/\*postgresql (.*?)\*/", r"\1", sql, flags=re.S)
    number = 0

    def parameter(match):
        nonlocal number
        number = max(number, int(match[1])) if match[1] else number + 1
        return f"${int(match[1]) if match[1] else number}"

    return typed(re.sub(r"\?(\d*)", parameter, sql))


def typed(sql: str) -> str:
    """The text with the types of arrays and of parameters that only the program knows."""

    def kinds(names):
        columns = ", ".join(names)
        return LISTS[columns].split(", ") if columns in LISTS else [TYPES.get(name, "bigint") for name in names]

    def arrays(match):
        names = match[3].replace(",", " ").split()
        casts = [f"{value.strip()}::{kind}[]" for value, kind in zip(match[1].split(","), kinds(names))]
        return f"unnest({', '.join(casts)}){match[2]}({match[3]})"

    def columns(match):
        pairs = re.findall(r"unnest\((\$\d+)\) AS (\w+)", match[0])
        casts = zip(pairs, kinds([name for _, name in pairs]))
        return "SELECT " + ", ".join(f"unnest({value}::{kind}[]) AS {name}" for (value, name), kind in casts)

    sql = re.sub(r"unnest\(([^()]*)\)(\s+(?:WITH ORDINALITY\s+)?AS \w+ )\(([^()]*)\)", arrays, sql)
    sql = re.sub(r"SELECT unnest\(\$\d+\) AS \w+(?:,\s+unnest\(\$\d+\) AS \w+)*", columns, sql)
    for pattern, typing in SINGLE:
        sql = re.sub(pattern, typing, sql)
    return sql


class Server:
    """A server in a temporary folder, as another user than root."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="awd-plans-")
        self.programs = max(pathlib.Path("/usr/lib/postgresql").iterdir(), key=lambda path: int(path.name)) / "bin"
        self.owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if self.owner:
            account = pwd.getpwnam("postgres")
            os.chown(self.folder.name, account.pw_uid, account.pw_gid)
        self.run("initdb", "-D", f"{self.folder.name}/data", "-U", "awd", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.run("pg_ctl", "-D", f"{self.folder.name}/data", "-w", "-l", f"{self.folder.name}/log", "-o",
                 f"-c listen_addresses= -c unix_socket_directories={self.folder.name} -c fsync=off -c autovacuum=off", "start")
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-D", f"{self.folder.name}/data", "-m", "immediate", "stop")
        self.folder.cleanup()

    def run(self, program: str, *words: str):
        subprocess.run([*self.owner, self.programs / program, *words], check=True, capture_output=True, cwd=self.folder.name)

    def sql(self, text: str, stop: bool = True) -> str:
        result = subprocess.run(
            ["psql", "-h", self.folder.name, "-U", "awd", "-d", "postgres", "-X", "-q", "-A", "-t", "-v",
             f"ON_ERROR_STOP={int(stop)}"], input=text, capture_output=True, text=True, timeout=300)
        if result.returncode:
            raise RuntimeError(result.stderr.strip())
        return result.stdout


def fill(server: Server, table: str, rows: int, is_skewed: bool):
    """Gives a table rows; with a skew nine of ten have the same values in all columns but one that tells them apart."""
    columns = json.loads(server.sql(
        "SELECT json_agg(json_build_array(attname, format_type(atttypid, NULL), attidentity) ORDER BY attnum) FROM pg_attribute "
        f"WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"))
    key = server.sql(
        "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[i.indnkeyatts - 1] "
        f"WHERE i.indrelid = '{table}'::regclass AND i.indisprimary").strip()
    values = []
    for name, kind, _ in columns:
        number = "n" if name == key or not is_skewed else "CASE WHEN n % 10 = 0 THEN n ELSE 7 END"
        if name == key:
            number = "n"
        elif not is_skewed:
            number = "n % 1000"
        values.append({"bigint": f"({number})::bigint", "text": f"'x' || ({number})", "bytea": f"int8send(({number})::bigint)",
                       "double precision": f"({number})::float8", "timestamp with time zone": "now()"}.get(kind, "NULL"))
    flags = {"is_next", "is_read", "is_truncated", "begins_run"}
    values = ["(n % 2)" if name in flags else value for (name, _, _), value in zip(columns, values)]
    names = ", ".join(name for name, _, _ in columns)
    server.sql(f"SET session_replication_role = replica; INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE "
               f"SELECT {', '.join(values)} FROM generate_series(1, {rows}) n ON CONFLICT DO NOTHING")


def unfit(plan: dict, found: list[tuple[str, str]], is_limited: bool = False) -> list[tuple[str, str]]:
    """The scans of a plan that go through all of a table, with its name."""
    table = plan.get("Relation Name")
    if table in WATCHED and plan["Node Type"] in ("Seq Scan", "Index Scan", "Index Only Scan"):
        # The first rows of an index are no walk through it.
        if "Index Cond" not in plan and not is_partial(plan) and not (is_limited and "Filter" not in plan):
            found.append((table, f"{plan['Node Type']} of {table} by {plan.get('Index Name', 'no index')}, filtered by "
                                 f"{plan.get('Filter', 'nothing')}"))
    for part in plan.get("Plans", []):
        unfit(part, found, plan["Node Type"] == "Limit" or is_limited and plan["Node Type"] == "Incremental Sort")
    return found


def is_partial(plan: dict) -> bool:
    """Whether an index has only the rows that are asked for: then going through it is meant."""
    return plan.get("Index Name") in PARTIAL


PARTIAL: set[str] = set()
WATCHED: set[str] = set()
# How connections plan, and those for calls over arrays besides.
SETTINGS = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off; SET random_page_cost = 1.1;"
NO_CALLS = "SET enable_hashjoin = on; SET enable_mergejoin = on; SET enable_material = on;"
CALLS = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;"


def explained(server: Server, statements: list[str]) -> list[tuple[dict, str]]:
    """The plan of each statement, or the reason that there is none."""
    script = ["\\set VERBOSITY terse"]
    for number, sql in enumerate(statements):
        script += [
            f"{SETTINGS} {CALLS if 'unnest(' in sql else NO_CALLS}",
            f"PREPARE s AS {sql};", "\\if :ERROR", f"\\echo MARK {number} ERROR :LAST_ERROR_MESSAGE", "\\else",
            "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 's' \\gset",
            "SELECT CASE WHEN :cardinality = 0 THEN '' ELSE '(' || rtrim(repeat('NULL, ', :cardinality), ', ') || ')' END "
            "AS values \\gset", f"\\echo MARK {number}", "EXPLAIN (FORMAT JSON) EXECUTE s :values;",
            "\\if :ERROR", "\\echo ERROR :LAST_ERROR_MESSAGE", "\\endif", "DEALLOCATE s;", "\\endif"]
    # The rows that statements' triggers find.
    gone = "CREATE TEMP TABLE gone (LIKE push_outbox); CREATE TEMP TABLE gone_entries (LIKE msgr_topic_entries);\n"
    output = server.sql(gone + "\n".join(script), stop=False)
    results = []
    for part in re.split(r"(?m)^MARK \d+", output)[1:]:
        text = part.strip()
        results.append(({}, text.removeprefix("ERROR ")) if text.startswith("ERROR") else (json.loads(text)[0]["Plan"], ""))
    return results


def main():
    everything = statements()
    failures: list[str] = []
    unread: set[str] = set()
    with Server() as server:
        for path in SCHEMAS:
            server.sql((ROOT / f"{path}.postgresql.sql").read_text())
        PARTIAL.update(server.sql("SELECT indexrelid::regclass FROM pg_index WHERE indpred IS NOT NULL").split())
        tables = set(server.sql(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace").split())
        WATCHED.update(tables - SMALL)
        # The rows are made up.
        server.sql("".join(server.sql(
            "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I;', conrelid::regclass, conname) FROM pg_constraint "
            "WHERE contype = 'c' AND connamespace = 'public'::regnamespace").splitlines()))
        states = ["empty", "small", "large", "skewed"]
        for state in states:
            for table in sorted(WATCHED) if state != "empty" else []:
                server.sql(f"SET session_replication_role = replica; DELETE FROM {table}")
                fill(server, table, {"small": 20}.get(state, 20_000), state == "skewed")
            server.sql("VACUUM ANALYZE")
            for (place, sql), (plan, error) in zip(everything, explained(server, [sql for _, sql in everything])):
                if error:
                    unread.add(f"{place}: {error}")
                    continue
                # A read over an array has to be right from the first moment on.
                is_strict = state in ("large", "skewed") or "unnest(" in sql and sql.lstrip().startswith("SELECT")
                scans = [scan for table, scan in unfit(plan, []) if is_strict or table in EMPTYING]
                if scans and not any(piece in sql for piece in WHOLE):
                    failures += [f"{place}, {state}: {scan}" for scan in scans]
    if "--list" in sys.argv:
        print("\n".join(place for place, _ in everything))
    if failures or unread:
        sys.exit("FAIL plans\n" + "\n".join(sorted(set(failures)) + [f"not read: {line}" for line in sorted(unread)]))
    print(f"PASS plans: {len(everything)} statements, {len(states)} states")


if __name__ == "__main__":
    main()

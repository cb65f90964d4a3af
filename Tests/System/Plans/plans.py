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
# What is usually empty or grows far, and is asked all the time.
WATCHED = {"push_outbox", "msgr_messages", "msgr_sent", "msgr_client_ids", "msgr_tokens", "msgr_devices", "msgr_streams",
           "apptimist_entries", "apptimist_contents", "apptimist_message_ids", "apptimist_shares", "apptimist_addresses",
           "apptimist_sessions", "apptimist_dropped", "msgr_topic_entries", "pushserver_messages"}
# Those among them that are empty again and again on a healthy server, so that a plan of that moment is kept. What only grows
# is analyzed when it does, and planned anew.
EMPTYING = {"push_outbox", "apptimist_contents", "apptimist_sessions", "msgr_streams"}
# Statements that read all of a table on purpose, by a piece of their text: they run once in minutes, and delete or count.
WHOLE = ["expires_at <= ", "GROUP BY", "sent_at <", "shown_at", "noted_at", "count(*)", "seen_at <", "used_at <", "used_at ASC",
         "taken_at <", "received_at <", "time <"]
# The types of the columns that aren't numbers.
TYPES = {"device": "bytea", "account": "bytea", "address": "bytea", "content": "bytea", "tag": "bytea", "key": "bytea",
         "push_id": "text", "collapse_key": "text", "sender": "text", "recipient": "text", "is_first": "boolean"}
SEARCH = re.compile(r'"""\n(.*?)"""|"((?:[^"\\\n]|\\.)*)"', re.S)


def statements() -> list[tuple[str, str]]:
    """The statements with ORDER BY and LIMIT, each with its place, as PostgreSQL gets them."""
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
                if "ORDER BY" in sql and "LIMIT" in sql:
                    found.append((f"{path.relative_to(ROOT)}:{text[:match.start()].count(chr(10)) + 1}", translated(sql)))
    return found


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
    """The text with the types of arrays and of parameters that only the program knows, by the names of their columns."""

    def arrays(match):
        columns = [name.strip() for name in match[3].split(",")]
        casts = [f"{value.strip()}::{TYPES.get(name, 'bigint')}[]" for value, name in zip(match[1].split(","), columns)]
        return f"unnest({', '.join(casts)}){match[2]}({match[3]})"

    sql = re.sub(r"unnest\(([^()]*)\)(\s+(?:WITH ORDINALITY )?AS \w+ )\(([^()]*)\)", arrays, sql)
    return re.sub(r"(\$\d+) IS NULL", r"\1::text IS NULL", sql)


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


def unfit(plan: dict, found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The scans of a plan that go through all of a watched table, with its name."""
    table = plan.get("Relation Name")
    if table in WATCHED and plan["Node Type"] in ("Seq Scan", "Index Scan", "Index Only Scan"):
        if "Index Cond" not in plan and not is_partial(plan):
            found.append((table, f"{plan['Node Type']} of {table} by {plan.get('Index Name', 'no index')}, filtered by "
                                 f"{plan.get('Filter', 'nothing')}"))
    for part in plan.get("Plans", []):
        unfit(part, found)
    return found


def is_partial(plan: dict) -> bool:
    """Whether an index has only the rows that are asked for: then going through it is meant."""
    return plan.get("Index Name") in PARTIAL


PARTIAL: set[str] = set()


def main():
    everything = statements()
    failures, skipped = [], []
    with Server() as server:
        for path in SCHEMAS:
            server.sql((ROOT / f"{path}.postgresql.sql").read_text())
        PARTIAL.update(server.sql("SELECT indexrelid::regclass FROM pg_index WHERE indpred IS NOT NULL").split())
        states = ["empty", "small", "large", "skewed"]
        for state in states:
            tables = server.sql(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
                "AND relname NOT LIKE 'store%'").split()
            for table in sorted(set(tables) & WATCHED) if state != "empty" else []:
                server.sql(f"SET session_replication_role = replica; DELETE FROM {table}")
                fill(server, table, {"small": 20}.get(state, 20_000), state == "skewed")
            server.sql("VACUUM ANALYZE")
            for place, sql in everything:
                try:
                    text = server.sql(
                        "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off;\n"
                        f"PREPARE s AS {sql};\nSELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 's'\\gset\n"
                        "SELECT CASE WHEN :cardinality = 0 THEN '' ELSE '(' || rtrim(repeat('NULL, ', :cardinality), ', ') || ')' END "
                        "AS values \\gset\nEXPLAIN (FORMAT JSON) EXECUTE s :values;")
                except RuntimeError as error:
                    if (place, "") not in skipped:
                        skipped.append((place, str(error).split("\n")[0]))
                    continue
                scans = [scan for table, scan in unfit(json.loads(text)[0]["Plan"], []) if state in ("large", "skewed") or table in EMPTYING]
                if scans and not any(piece in sql for piece in WHOLE):
                    failures += [f"{place}, {state}: {scan}" for scan in scans]
    unread = sorted({f"{place}: {why}" for place, why in skipped})
    if "--list" in sys.argv:
        print("\n".join(place for place, _ in everything))
    if failures:
        sys.exit("FAIL plans\n" + "\n".join(sorted(set(failures)) + [f"not read: {line}" for line in unread]))
    print(f"PASS plans: {len(everything) - len(unread)} of {len(everything)} statements, {len(states)} states"
          + "".join(f"\n  not read: {line}" for line in unread))


if __name__ == "__main__":
    main()

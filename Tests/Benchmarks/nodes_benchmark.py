#!/usr/bin/python3
"""nodes_benchmark.py [--only TEXT] AWD GENERATOR [SECONDS] [ROUNDS]: awd on PostgreSQL, as one node and as two, against awd on
SQLite, in turn.

All processes share the machine's cores, PostgreSQL's too. Each commit is on the disk (fsync) before it is answered. Each
measurement has a database of its own, which was vacuumed and analyzed while it was empty, as a healthy server's outbox is; the
server's log has files that were used before, as those of a server that has run for a while. Msgr:
`/message` with 64 keep-alive clients by token, to 4,096 recipients of one device each, who have written to each other before; of
two nodes each has half of the clients. Pushes go to the log, or to a push service that can't be reached, with nothing else in
the outbox and with 50,000 pushes. The web app's users have a browser that is pushed to, whose push service can't be reached,
send with a `ClientId`, and keep a copy of what they send. Apptimist: 1 KB in pairs, of two nodes with all receivers at the second
one, and to a forum's readers.

PostgreSQL's floor is a bare client (postgresql_floor.c) that writes the same rows in groups of the same size over as many
connections, and neither reads nor decides anything. Behind it stands awd's share of it: of its messages a second, for which awd
and what loads it have to share the cores, and of PostgreSQL's own CPU time. The table shows the medians of the rounds; the CPU
time is PostgreSQL's, for each message."""
import base64, concurrent.futures, contextlib, json, os, pathlib, re, shutil, sqlite3, statistics, subprocess, sys, urllib.request
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "System/Nodes"))
from nodes import PostgreSQL, free_port, temporary_folder  # noqa: E402
from support import cpu_seconds, running, spread, wait_for_port, wrk  # noqa: E402

arguments = sys.argv[1:]
only = ""
if arguments[0] == "--only":
    only, arguments = arguments[1], arguments[2:]
AWD, GENERATOR = map(os.path.abspath, arguments[:2])
SECONDS = int(arguments[2]) if len(arguments) > 2 else 2
ROUNDS = int(arguments[3]) if len(arguments) > 3 else 3
CLIENTS, RECIPIENTS, WAITING, LANES = 64, 4096, 50_000, 2
# All clients are at one address, which may have all that there is.
SETTINGS = """limits = { connections_per_address = 16000, requests_per_address = 16000, memory = "1GiB" }
[log]
level = "%s"
[msgr]
push = "%s"
messages_per_minute = 1000000000
registrations_per_minute = 1000000000
registrations_per_day = 1000000000
password_memory = "8KiB"
[msgr.web_push]
contact = "mailto:benchmark@example.org"
allow = ["127.0.0.1:1"]
[msgr.apns]
topic = "org.example"
url = "https://127.0.0.1:1"
key = "%s"
key_id = "ABCDEFGHIJ"
team_id = "ABCDEFGHIJ"
[apptimist]
unauthenticated_sessions_per_address = 2048
forum_posts_size = "1TiB"
messages_size_per_address = "1TiB"
stored_size_per_address = "1TiB"
accounts_per_address = 1000000
"""
folder = temporary_folder()
server = PostgreSQL(folder, settings={"shared_buffers": "512MB", "min_wal_size": "1GB", "max_wal_size": "4GB"})
databases = iter(range(1_000_000))


class Result(NamedTuple):
    rate: float
    middle: float = 0
    last: float = 0
    # PostgreSQL's CPU time for each message, in microseconds.
    cost: float = 0


class Place(NamedTuple):
    """Running nodes over one database, or one awd on SQLite."""
    database: str
    ports: list[int]
    pids: list[int]
    tokens: list[str]


class Template(NamedTuple):
    """A stopped awd's database and keys, of which measurements get copies."""
    database: str
    data: pathlib.Path
    tokens: list[str]


templates: dict[tuple[str, bool], Template] = {}


@contextlib.contextmanager
def daemons(count, url, data, push):
    """So many processes over a database. Gives their ports and process numbers."""
    with contextlib.ExitStack() as stack:
        ports, pids = [], []
        for index in range(count):
            port, keeper = free_port()
            stack.callback(keeper.close)
            path = folder / f"{next(databases)}.toml"
            path.write_text(f'[store]\nurl = "{url}"\nlanes = {LANES}\n[server]\nlisten = ["127.0.0.1:{port}"]\n'
                            f'services = ["msgr", "apptimist"]\ndata = "{data}"\n'
                            + SETTINGS % ("error", push, folder / "push.p8"))
            # It says that it can't reach the push service.
            process = stack.enter_context(running([AWD, "serve", "--config", path], stdout=subprocess.DEVNULL,
                                                  stderr=subprocess.DEVNULL))
            wait_for_port(port, process)
            ports.append(port)
            pids.append(process.pid)
        yield ports, pids


def template(users, is_shared):
    """The database with users of a kind (phones, browsers, or none), which is made once."""
    if found := templates.get((users, is_shared)):
        return found
    name = f"model{len(templates)}"
    data = folder / name
    url = "sqlite:awd.sqlite3"
    if is_shared:
        server.make_database(name)
        url = server.url(name)
    tokens = []
    with daemons(1, url, data, "log") as ((port,), _):
        if is_shared:
            server.query("VACUUM ANALYZE", name)
        if users != "none":
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                tokens = list(pool.map(lambda number: register(port, f"sender{number}", f"{number:064x}", users == "browsers"),
                                       range(CLIENTS)))
                list(pool.map(lambda number: register(port, f"user{number}", f"f{number:063x}", users == "browsers"),
                              range(RECIPIENTS)))
    acquaintances = [(f"sender{number % CLIENTS}", f"user{number}") for number in range(RECIPIENTS if tokens else 0)]
    if is_shared:
        values = ", ".join(f"('{sender}', '{user}', 0)" for sender, user in acquaintances)
        if values:
            server.query(f"INSERT INTO msgr_acquaintances (username, other, written_at) VALUES {values}", name)
    else:
        with contextlib.closing(sqlite3.connect(data / "awd.sqlite3")) as database, database:
            database.executemany("INSERT INTO msgr_acquaintances (username, other, written_at) VALUES (?, ?, 0)", acquaintances)
    templates[users, is_shared] = Template(name, data, tokens)
    return templates[users, is_shared]


@contextlib.contextmanager
def nodes(count, users="none", push="log"):
    """So many nodes over a new database; none means one awd on SQLite."""
    model = template(users, count > 0)
    name = f"n{next(databases)}"
    data = folder / name
    shutil.copytree(model.data, data)
    url = "sqlite:awd.sqlite3"
    if count:
        server.query(f"CREATE DATABASE {name} TEMPLATE {model.database}")
        url = server.url(name)
    with daemons(max(1, count), url, data, push) as (ports, pids):
        yield Place(name, ports, pids, model.tokens)
    if count:
        server.query(f"DROP DATABASE {name} WITH (FORCE)")
    shutil.rmtree(data)


def post(port, path, fields, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(fields).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


POINT = ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def register(port, name, device, is_browser):
    if is_browser:
        device = f"stream:{device}"
    token = post(port, "/register", {"Username": name, "Password": "correct horse", "DeviceID": device})["Token"]
    if is_browser:
        point = base64.urlsafe_b64encode(POINT).decode().rstrip("=")
        post(port, "/subscribe", {"Endpoint": f"https://127.0.0.1:1/{name}", "P256dh": point, "Auth": "A" * 22}, token)
    return token


def database_seconds():
    """The CPU time of all processes of PostgreSQL's, also of those that have ended."""
    while True:
        processes = server.processes()
        # Again where one has ended meanwhile, which would be counted twice or not at all.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            seconds = cpu_seconds(processes[0], with_ended_children=True) + sum(map(cpu_seconds, processes[1:]))
            if server.processes() == processes:
                return seconds


def write_script(place, are_browsers):
    script = folder / "wrk.lua"
    with open(script, "w") as file:
        file.write("local requests = {}\nlocal next = 0\nfunction init()\n")
        for number in range(RECIPIENTS):
            fields = {"UserTo": f"user{number}", "Message": f"Hello there, this is message number {number}."}
            if are_browsers:
                fields["ClientId"] = "ClientId-"
            fields = json.dumps(fields)
            header = f'["Authorization"] = "Bearer {place.tokens[number % CLIENTS]}"'
            file.write(f'  requests[{number}] = wrk.format("POST", "/message", {{{header}}}, [[{fields}]])\n')
        file.write(f"end\nfunction request()\n  next = next + 1\n  local text = requests[next % {RECIPIENTS}]\n")
        if are_browsers:
            # As many digits each time, so that the length of the body stays.
            file.write('  text = text:gsub("ClientId%-", string.format("%09d", next), 1)\n')
        file.write("  return text\nend\n")
    return script


def load_msgr(place, are_browsers=False):
    script = write_script(place, are_browsers)
    before = database_seconds()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(
            lambda port: wrk(f"http://127.0.0.1:{port}", SECONDS, CLIENTS // len(place.ports), "--timeout", "20s", "-s",
                             script, prefix=[]), place.ports))
    messages = sum(result[0] for result in results)
    return Result(sum(result[1] for result in results), max(result[2] for result in results),
                  max(result[3] for result in results), (database_seconds() - before) / messages * 1e6)


def msgr(count, are_browsers=False):
    def measure():
        with nodes(count, "browsers" if are_browsers else "phones") as place:
            return {NAMES[count]: load_msgr(place, are_browsers)}
    return measure


def writes(place):
    """The writes and the commits that a node has counted."""
    with urllib.request.urlopen(f"http://127.0.0.1:{place.ports[0]}/metrics", timeout=30) as response:
        text = response.read().decode()
    return [float(re.search(rf"(?m)^awd_store_{name}_total (\S+)", text)[1]) for name in ("writes", "groups")]


def floor(place, rows, group):
    """PostgreSQL's floor for groups of a size, over the same database."""
    before = database_seconds()
    output = subprocess.run([folder / "postgresql_floor", server.url(place.database), rows, str(LANES), str(group), str(SECONDS)],
                            capture_output=True, text=True, check=True).stdout
    rate, messages = map(float, output.split())
    return Result(rate, cost=(database_seconds() - before) / messages * 1e6)


def above_floor(measure, rows, place):
    """What awd does, and the floor for groups as large as awd's."""
    before = writes(place)
    found = measure()
    after = writes(place)
    group = max(1, round((after[0] - before[0]) / (after[1] - before[1])))
    return {NAMES[1]: found, FLOOR: floor(place, rows, group)}


def msgr_away():
    with nodes(1, "phones", "apns") as place:
        found = above_floor(lambda: load_msgr(place), "msgr", place)
    return {AWAY: found[NAMES[1]], FLOOR: found[FLOOR]}


def msgr_waiting():
    with nodes(1, "phones", "apns") as place:
        # Its push has a content that can be read: others would be dropped.
        post(place.ports[0], "/message", {"UserTo": "user0", "Message": "Hello there."}, place.tokens[0])
        server.query(f"""
            INSERT INTO push_outbox (service, device, account, kind, address, push_id, content, urgency, position, created_at,
              expires_at, due_at, is_next)
            SELECT 'msgr', device, account, 0, device, gen_random_uuid()::text, (SELECT content FROM push_outbox LIMIT 1), 1, 0,
              now, now + 604800000, now, is_next
            FROM (
              SELECT convert_to('f' || lpad(to_hex(n % {RECIPIENTS}), 63, '0'), 'UTF8') AS device,
                convert_to('user' || n % {RECIPIENTS}, 'UTF8') AS account, CASE WHEN n < {RECIPIENTS} THEN 1 ELSE 0 END AS is_next,
                (extract(epoch FROM now()) * 1000)::bigint AS now
              FROM generate_series(0, {WAITING - 1}) n) pushes""", place.database)
        return {LONG: load_msgr(place)}


def apptimist(count, *work, has_floor=False):
    def load(place):
        ports = ",".join(map(str, place.ports))
        process = f"{place.pids[0]},{server.process.pid}" if count else place.pids[0]
        output = subprocess.run(list(map(str, [GENERATOR, work[0], "apptimist", ports, process, *work[1:], SECONDS])),
                                capture_output=True, text=True, timeout=180)
        if output.returncode:
            sys.exit(output.stderr)
        result = json.loads(output.stdout)
        return Result(result["rate"], result["p50"], result["p99"], result["database"])

    def measure():
        with nodes(count) as place:
            if has_floor:
                return above_floor(lambda: load(place), "pairs", place)
            return {NAMES[count]: load(place)}
    return measure


NAMES = {0: "SQLite", 1: "PostgreSQL, one node", 2: "PostgreSQL, two nodes"}
AWAY, LONG, FLOOR = "PostgreSQL, none waiting", "PostgreSQL, 50,000 waiting", "PostgreSQL's floor"
# What each is compared with; the first one of the floor's is compared with the floor.
BASES = {NAMES[1]: NAMES[0], NAMES[2]: NAMES[0], LONG: AWAY}
ROWS = {
    "Msgr, /message": [msgr(0), msgr(1), msgr(2)],
    "Msgr, the push service away": [msgr_away, msgr_waiting],
    "Msgr, the web app's users": [msgr(0, True), msgr(1, True)],
    "Apptimist, 64 pairs, 1 on the way": [
        apptimist(0, "pairs", 64, 1), apptimist(1, "pairs", 64, 1, has_floor=True), apptimist(2, "pairs", 64, 1)],
    "Apptimist, 64 pairs, 8 on the way": [apptimist(0, "pairs", 64, 8), apptimist(1, "pairs", 64, 8)],
    "Apptimist, to 10": [apptimist(0, "fanout", 10, 8), apptimist(1, "fanout", 10, 8)],
    "Apptimist, to 100": [apptimist(0, "fanout", 100, 8), apptimist(1, "fanout", 100, 8)],
    "Apptimist, 8 pairs, 1 on the way": [apptimist(count, "pairs", 8, 1) for count in NAMES],
    "Apptimist, 1 pair, 1 on the way": [apptimist(count, "pairs", 1, 1) for count in NAMES],
}


def against(label, results):
    """The comparison that stands behind a row."""
    def ratio(own, other, part):
        return statistics.median(a[part] / b[part] for a, b in zip(results[own], results[other]))

    if label == FLOOR:
        own = AWAY if AWAY in results else NAMES[1]
        return f"awd {ratio(own, label, 0):.2f} x, CPU {ratio(label, own, 3):.2f} x"
    base = BASES.get(label)
    return f"{ratio(label, base, 0):.2f} x" if base in results else ""


def use_log():
    """Makes the server use 1 GiB of its log. A new file is written with zeros first, for which all commits wait."""
    for _ in range(64):
        server.query("SELECT pg_logical_emit_message(false, 'used', '')")
        server.query("SELECT pg_switch_wal()")
    server.query("CHECKPOINT")


def main():
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder / "push.p8"],
                   check=True, stderr=subprocess.DEVNULL)
    include = subprocess.run(["pg_config", "--includedir"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-I", include, "-o", folder / "postgresql_floor", HERE / "postgresql_floor.c",
                    "-lpq", "-pthread"], check=True)
    server.make(segment=16)
    server.start()
    use_log()
    print(f"{'':34}{'store':27}{'a second':>9}{'spread':>8}{'p50 ms':>8}{'p99 ms':>8}{'CPU us':>8}  against the first")
    for title, measures in ROWS.items():
        if only not in title:
            continue
        results: dict[str, list[Result]] = {}
        for _ in range(ROUNDS):
            for measure in measures:
                for label, result in measure().items():
                    results.setdefault(label, []).append(result)
        for label, found in results.items():
            middle = Result(*(statistics.median(values) for values in zip(*found)))
            times = f"{middle.middle:8.2f}{middle.last:8.2f}" if middle.last else " " * 16
            cost = f"{middle.cost:8.1f}" if middle.cost else " " * 8
            print(f"{title:34}{label:27}{middle.rate:9.0f}{spread([result.rate for result in found]):>8}{times}{cost}  "
                  f"{against(label, results)}".rstrip(), flush=True)
    server.end()


if __name__ == "__main__":
    main()

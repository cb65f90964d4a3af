#!/usr/bin/python3
"""nodes_benchmark.py AWD GENERATOR [SECONDS] [ROUNDS]: awd on PostgreSQL, as one node and as two, against awd on SQLite, in turn.

All processes share the machine's cores, PostgreSQL's too. Each commit is on the disk (fsync) before it is answered. Msgr:
`/message` with 64 keep-alive clients by token, to 4,096 recipients of one device each, pushed to the log; of two nodes each has
half of the clients. The web app's users have a browser that is pushed to, whose push service can't be reached, send with a
`ClientId`, and keep a copy of what they send. Apptimist: 1 KB in pairs, of two nodes with all receivers at the second one, and to a
forum's readers. The table shows the medians of the rounds."""
import base64, concurrent.futures, contextlib, json, os, pathlib, statistics, subprocess, sys, time, urllib.request

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "System/Nodes"))
from nodes import PostgreSQL, free_port, temporary_folder  # noqa: E402
from support import running, spread, wait_for_port, wrk  # noqa: E402

AWD, GENERATOR = map(os.path.abspath, sys.argv[1:3])
SECONDS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
CLIENTS, RECIPIENTS = 64, 4096
# All clients are at one address, which may have all that there is.
SETTINGS = """limits = { connections_per_address = 16000, requests_per_address = 16000, memory = "1GiB" }
[log]
level = "error"
[msgr]
push = "log"
messages_per_minute = 1000000000
registrations_per_minute = 1000000000
registrations_per_day = 1000000000
password_memory = "8KiB"
[msgr.web_push]
contact = "mailto:benchmark@example.org"
allow = ["127.0.0.1:1"]
[apptimist]
unauthenticated_sessions_per_address = 2048
forum_posts_size = "1TiB"
messages_size_per_address = "1TiB"
stored_size_per_address = "1TiB"
accounts_per_address = 1000000
"""
folder = temporary_folder()
server = PostgreSQL(folder, settings={"shared_buffers": "512MB", "max_wal_size": "4GB"})
databases = iter(range(1_000_000))


@contextlib.contextmanager
def nodes(count):
    """So many nodes over a new database; none means one awd on SQLite. Gives their ports and processes."""
    number = next(databases)
    url = "sqlite:awd.sqlite3"
    if count:
        server.make_database(f"n{number}")
        url = server.url(f"n{number}")
    with contextlib.ExitStack() as stack:
        found = []
        for index in range(max(1, count)):
            port, keeper = free_port()
            stack.callback(keeper.close)
            path = folder / f"{number}-{index}.toml"
            path.write_text(f'[store]\nurl = "{url}"\n[server]\nlisten = ["127.0.0.1:{port}"]\n'
                            f'services = ["msgr", "apptimist"]\ndata = "{folder}/{number}"\n{SETTINGS}')
            process = stack.enter_context(running([AWD, "serve", "--config", path], stdout=subprocess.DEVNULL))
            wait_for_port(port, process)
            found.append((port, process.pid))
        yield found
    if count:
        server.query(f"DROP DATABASE n{number} WITH (FORCE)")


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


def msgr(count, are_browsers=False):
    with nodes(count) as found:
        ports = [port for port, _ in found]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            tokens = list(pool.map(lambda number: register(ports[0], f"sender{number}", f"{number:064x}", are_browsers),
                                   range(CLIENTS)))
            list(pool.map(lambda number: register(ports[0], f"user{number}", f"f{number:063x}", are_browsers),
                          range(RECIPIENTS)))
        script = folder / "wrk.lua"
        with open(script, "w") as file:
            file.write("local requests = {}\nlocal next = 0\nfunction init()\n")
            for number in range(RECIPIENTS):
                fields = {"UserTo": f"user{number}", "Message": f"Hello there, this is message number {number}."}
                if are_browsers:
                    fields["ClientId"] = "ClientId-"
                fields = json.dumps(fields)
                header = f'["Authorization"] = "Bearer {tokens[number % CLIENTS]}"'
                file.write(f'  requests[{number}] = wrk.format("POST", "/message", {{{header}}}, [[{fields}]])\n')
            file.write(f"end\nfunction request()\n  next = next + 1\n  local text = requests[next % {RECIPIENTS}]\n")
            if are_browsers:
                # As many digits each time, so that the length of the body stays.
                file.write('  text = text:gsub("ClientId%-", string.format("%09d", next), 1)\n')
            file.write("  return text\nend\n")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            results = list(pool.map(
                lambda port: wrk(f"http://127.0.0.1:{port}", SECONDS, CLIENTS // len(ports), "--timeout", "20s", "-s",
                                 script, prefix=[]), ports))
        return sum(result[1] for result in results), max(result[2] for result in results), max(
            result[3] for result in results)


def apptimist(count, *work):
    with nodes(count) as found:
        ports = ",".join(str(port) for port, _ in found)
        output = subprocess.run(list(map(str, [GENERATOR, work[0], "apptimist", ports, found[0][1], *work[1:], SECONDS])),
                                capture_output=True, text=True, timeout=180)
        if output.returncode:
            sys.exit(output.stderr)
        result = json.loads(output.stdout)
        return result["rate"], result["p50"], result["p99"]


ROWS = {
    "Msgr, /message": ((0, 1, 2), msgr),
    "Msgr, the web app's users": ((0, 1), lambda count: msgr(count, are_browsers=True)),
    "Apptimist, 64 pairs, 1 on the way": ((0, 1, 2), lambda count: apptimist(count, "pairs", 64, 1)),
    "Apptimist, 64 pairs, 8 on the way": ((0, 1), lambda count: apptimist(count, "pairs", 64, 8)),
    "Apptimist, to 10": ((0, 1), lambda count: apptimist(count, "fanout", 10, 8)),
    "Apptimist, to 100": ((0, 1), lambda count: apptimist(count, "fanout", 100, 8)),
    "Apptimist, 8 pairs, 1 on the way": ((0, 1, 2), lambda count: apptimist(count, "pairs", 8, 1)),
    "Apptimist, 1 pair, 1 on the way": ((0, 1, 2), lambda count: apptimist(count, "pairs", 1, 1)),
}
NAMES = {0: "SQLite", 1: "PostgreSQL, one node", 2: "PostgreSQL, two nodes"}
server.make(segment=16)
server.start()
print(f"{'':36}{'store':24}{'a second':>10}{'spread':>8}{'p50 ms':>10}{'p99 ms':>10}{'of SQLite':>12}")
for title, (counts, measure) in ROWS.items():
    results = {count: [] for count in counts}
    for _ in range(ROUNDS):
        for count in counts:
            results[count].append(measure(count))
    for count in counts:
        rate, middle, last = (statistics.median(result[part] for result in results[count]) for part in range(3))
        ratio = statistics.median(own[0] / sqlite[0] for own, sqlite in zip(results[count], results[0]))
        rates = [result[0] for result in results[count]]
        against = f"{ratio:10.2f} x" if count else ""
        print(f"{title:36}{NAMES[count]:24}{rate:10.0f}{spread(rates):>8}{middle:10.2f}{last:10.2f}{against}", flush=True)
server.end()

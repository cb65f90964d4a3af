#!/usr/bin/env python3
"""msgr_benchmark.py AWD MESSAGE_BENCHMARK NODE [SECONDS] [ROUNDS]: `/message` with 64 keep-alive clients. Each response is
sent after the fsync that made its message durable. awd, by password (the verified pair is cached, so that Argon2id doesn't
run again) and by bearer token, against Node's `http` and `node:sqlite` (message_server.mjs) and against the store alone
writing the same rows, in turn, each over a fresh database with the same 4,096 recipients of one device each, to whom the
senders have written before. A message is a row of the inbox and one of the outbox. The push service can't be reached, so that the outbox grows as Node's does; the
last row pushes too, to the log. The table shows the medians of the rounds. All processes share the machine's cores."""
import contextlib, json, os, shutil, sqlite3, statistics, subprocess, sys, tempfile, time, urllib.error, urllib.request
from support import awd_command, cpu_seconds, free_port, running, spread, temporary_folder, wrk

AWD, STORE, NODE = (os.path.abspath(path) for path in sys.argv[1:4])
SECONDS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
ROUNDS = int(sys.argv[5]) if len(sys.argv) > 5 else 5
HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS, RECIPIENTS = 64, 4096


def post(port, path, fields):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(fields).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def wait_for(port):
    for _ in range(400):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.025)
    sys.exit("a server doesn't start")


def server(*command):
    # awd reports on stderr that it can't reach the push service.
    return running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def awd(folder, port, push):
    return server(*awd_command(
        AWD, folder, port, "msgr",
        '[msgr]\nregistrations_per_minute = 1000000000\nregistrations_per_day = 1000000000\n'
        f'messages_per_minute = 1000000000\npassword_memory = "8KiB"\npush = "{push}"\n[msgr.apns]\n'
        f'topic = "org.example"\nurl = "https://127.0.0.1:1"\nkey = "{work}/push.p8"\nkey_id = "ABCDEFGHIJ"\n'
        'team_id = "ABCDEFGHIJ"\n', threads=0, level="error"))


def write_script(path, tokens):
    """Writes a script for wrk that sends to each recipient, from the senders in turn."""
    with open(path, "w") as file:
        file.write("local requests = {}\nlocal next = 0\nfunction init()\n")
        for number in range(RECIPIENTS):
            fields = {"UserFrom": f"sender{number % CLIENTS}", "Password": "correct horse"}
            fields |= {"UserTo": f"user{number}", "Message": f"Hello there, this is message number {number}."}
            header = ""
            if tokens:
                del fields["UserFrom"], fields["Password"]
                header = f'["Authorization"] = "Bearer {tokens[number % CLIENTS]}"'
            file.write(
                f'  requests[{number}] = wrk.format("POST", "/message", {{{header}}}, [[{json.dumps(fields)}]])\n')
        file.write(f"end\nfunction request()\n  next = (next + 1) % {RECIPIENTS}\n  return requests[next]\nend\n")


def load(port, process, tokens=None):
    """Returns messages per second, the p50 and p99, and the CPU time of the server for each message."""
    write_script(f"{work}/wrk.lua", tokens)
    options = ["--timeout", "20s", "-s", f"{work}/wrk.lua"]
    before = cpu_seconds(process.pid)
    count, *figures = wrk(f"http://127.0.0.1:{port}", SECONDS, CLIENTS, *options, prefix=[])
    return *figures, (cpu_seconds(process.pid) - before) / count * 1e6


def acquaint(path):
    """Makes the senders people who have written to the recipients before."""
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as database, database:
        database.executemany("INSERT INTO msgr_acquaintances (username, other, written_at) VALUES (?, ?, 0)",
                             [(f"sender{number % CLIENTS}", f"user{number}") for number in range(RECIPIENTS)])


def run(case):
    folder = tempfile.mkdtemp(dir=work)
    # With the keys beside it, on which rows depend.
    shutil.copytree(f"{work}/template/data", f"{folder}/data")
    database = f"{folder}/data/awd.sqlite3"
    try:
        if case == "store":
            output = subprocess.run([STORE, str(SECONDS), str(RECIPIENTS)],
                                    capture_output=True, text=True, check=True).stdout
            return tuple(float(value) for value in output.split())
        port = free_port()
        if case.startswith("node"):
            serving = server(NODE, f"{HERE}/message_server.mjs", database, port, case.split()[1])
        else:
            serving = awd(folder, port, "log" if case.endswith("log") else "apns")
        with serving as process:
            wait_for(port)
            # Senders with a device that streams keep copies of what they send.
            prefix = "stream:" if case == "awd own" else ""
            tokens = [
                post(port, "/register", {"Username": f"sender{number}", "Password": "correct horse",
                                         "DeviceID": f"{prefix}{number:064x}"}).get("Token")
                for number in range(CLIENTS)
            ]
            if case.startswith("awd"):
                acquaint(database)
            return load(port, process, tokens if case == "awd token" else None)
    finally:
        shutil.rmtree(folder)


def make_template():
    """Has awd make a database, and adds the recipients."""
    port = free_port()
    os.mkdir(f"{work}/template")
    with awd(f"{work}/template", port, "log"):
        wait_for(port)
    path = f"{work}/template/data/awd.sqlite3"
    with sqlite3.connect(path) as database:
        for number in range(RECIPIENTS):
            database.execute(
                "INSERT INTO msgr_users (username, password, created_at) VALUES (?, '', 0)", (f"user{number}",))
            database.execute(
                "INSERT INTO msgr_devices (device_id, username, bound_at) VALUES (?, ?, 0)",
                (f"{number:064x}".replace("0", "f", 1), f"user{number}"))
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


CASES = {
    "awd": "awd, password",
    "awd token": "awd, bearer token",
    "awd own": "awd, password, and the senders keep copies",
    "node each": "Node, a transaction for each message",
    "node group": "Node, a transaction for each turn's messages",
    "store": "the store alone, the same rows",
    "awd log": "awd, password, and pushed to the log",
}
with temporary_folder() as work:
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                    f"{work}/push.p8"], check=True, stderr=subprocess.DEVNULL)
    make_template()
    results = {case: [] for case in CASES}
    for _ in range(ROUNDS):
        for case in CASES:
            results[case].append(run(case))
    print("Durable before each response, by fsync: a row of the inbox and one of the outbox")
    print(f"{'':46}{'messages/s':>12}{'spread':>8}{'p50 ms':>9}{'p99 ms':>9}{'CPU us/msg':>12}{'awd: speed':>13}")
    for case, name in CASES.items():
        rate, half, most, cost = (statistics.median(values) for values in zip(*results[case]))
        rates = [result[0] for result in results[case]]
        ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in zip(results["awd"], results[case]))
        against = f"{ratio:11.2f} x" if case != "awd" else ""
        print(f"{name:46}{rate:12.0f}{spread(rates):>8}{half:9.2f}{most:9.2f}{cost:12.1f}{against}")

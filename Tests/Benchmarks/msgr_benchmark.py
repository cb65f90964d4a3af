#!/usr/bin/env python3
"""msgr_benchmark.py AWD MESSAGE_BENCHMARK NODE [SECONDS] [ROUNDS]: `/message` with 64 keep-alive clients, each answer behind
the fsync that made its message durable. awd, with the password pair cached and with bearer tokens, against Node's `http`
and `node:sqlite` (message_server.mjs) and against the same rows written by the store alone, in turn, each over a fresh
database with the same 4,096 recipients of one device each. A message is a row of the inbox and one of the outbox; the
push service can't be reached, so that the outbox grows as Node's does. The last row pushes too, to the log."""
import json, os, shutil, signal, socket, sqlite3, statistics, subprocess, sys, tempfile, time, urllib.error, urllib.request

AWD, STORE, NODE = (os.path.abspath(path) for path in sys.argv[1:4])
SECONDS = int(sys.argv[4]) if len(sys.argv) > 4 else 4
ROUNDS = int(sys.argv[5]) if len(sys.argv) > 5 else 3
HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS, RECIPIENTS = 64, 4096


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(port, path, fields):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(fields).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def wait_for(port):
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    sys.exit("a server doesn't start")


class Server:
    def __init__(self, *command):
        # awd tells on stderr that nobody takes its pushes.
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdout=quiet, stderr=quiet)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def configuration(folder, port, push):
    with open(f"{folder}/awd.toml", "w") as file:
        file.write(
            f'[server]\nlisten = ["127.0.0.1:{port}"]\nservices = ["msgr"]\ndata = "{folder}"\n[log]\nlevel = "error"\n'
            f'[msgr]\nmessages_per_minute = 1000000000\npassword_memory = "8KiB"\npush = "{push}"\n[msgr.apns]\ntopic = "org.example"\n'
            f'url = "https://127.0.0.1:1"\nkey = "{work}/push.p8"\nkey_id = "ABCDEFGHIJ"\nteam_id = "ABCDEFGHIJ"\n'
        )
    return f"{folder}/awd.toml"


def write_script(path, tokens):
    """A request for each recipient, the senders in turn."""
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


def load(port, tokens=None):
    write_script(f"{work}/wrk.lua", tokens)
    output = subprocess.run(
        ["wrk", "-t1", f"-c{CLIENTS}", f"-d{SECONDS}s", "--latency", "--timeout", "20s", "-s", f"{work}/wrk.lua",
         f"http://127.0.0.1:{port}"],
        capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        sys.exit(output)
    units = {"us": 1e-3, "ms": 1, "s": 1e3}

    def milliseconds(name):
        text = output.split("Latency Distribution")[1].split(name)[1].split()[0]
        unit = text.lstrip("0123456789.")
        return float(text[:-len(unit)]) * units[unit]

    return float(output.split("Requests/sec:")[1].split()[0]), milliseconds("50%"), milliseconds("99%")


def run(case):
    folder = tempfile.mkdtemp(dir=work)
    shutil.copy(f"{work}/template.sqlite3", f"{folder}/awd.sqlite3")
    try:
        if case == "store":
            output = subprocess.run([STORE, str(SECONDS), str(RECIPIENTS)],
                                    capture_output=True, text=True, check=True).stdout
            return tuple(float(value) for value in output.split())
        port = free_port()
        if case.startswith("node"):
            command = [NODE, f"{HERE}/message_server.mjs", f"{folder}/awd.sqlite3", str(port), case.split()[1]]
        else:
            push = "log" if case.endswith("log") else "apns"
            command = [AWD, "serve", "--config", configuration(folder, port, push)]
        with Server(*command):
            wait_for(port)
            tokens = [
                post(port, "/register", {"Username": f"sender{number}", "Password": "correct horse",
                                         "DeviceID": f"{number:064x}"}).get("Token")
                for number in range(CLIENTS)
            ]
            return load(port, tokens if case == "awd token" else None)
    finally:
        shutil.rmtree(folder)


def make_template():
    """A database that awd has made, with the recipients."""
    port = free_port()
    os.mkdir(f"{work}/template")
    with Server(AWD, "serve", "--config", configuration(f"{work}/template", port, "log")):
        wait_for(port)
    with sqlite3.connect(f"{work}/template/awd.sqlite3") as database:
        for number in range(RECIPIENTS):
            database.execute(
                "INSERT INTO msgr_users (username, password, created_at) VALUES (?, '', 0)", (f"user{number}",))
            database.execute(
                "INSERT INTO msgr_devices (device_id, username, bound_at) VALUES (?, ?, 0)",
                (f"{number:064x}".replace("0", "f", 1), f"user{number}"))
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    shutil.copy(f"{work}/template/awd.sqlite3", f"{work}/template.sqlite3")


CASES = {
    "awd": "awd, password",
    "awd token": "awd, bearer token",
    "node each": "Node, a transaction for each message",
    "node group": "Node, a transaction for what came together",
    "store": "the store alone, the same rows",
    "awd log": "awd, password, and pushed to the log",
}
work = tempfile.mkdtemp(prefix="awd-benchmark-", dir=os.environ.get("TMPDIR", "/var/tmp"))
try:
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                    f"{work}/push.p8"], check=True, stderr=subprocess.DEVNULL)
    make_template()
    results = {case: [] for case in CASES}
    for _ in range(ROUNDS):
        for case in CASES:
            results[case].append(run(case))
    print(f"{'':46}{'messages/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'awd reaches':>13}")
    for case, name in CASES.items():
        rate, half, most = (statistics.median(values) for values in zip(*results[case]))
        ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in zip(results["awd"], results[case]))
        print(f"{name:46}{rate:12.0f}{half:9.2f}{most:9.2f}{ratio:11.2f} x")
finally:
    shutil.rmtree(work, ignore_errors=True)

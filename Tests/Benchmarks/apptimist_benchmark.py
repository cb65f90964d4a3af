#!/usr/bin/env python3
"""apptimist_benchmark.py AWD GENERATOR NATS_SERVER [SECONDS] [ROUNDS]: messages of 1 KB through awd's Apptimist, NATS
JetStream and mosquitto, the servers in turn, by one load generator on a core of its own; the server has the other.

Pairs: 64 senders, each with 1 or 8 messages on the way to its receiver. Fan-out: one sender with 1 or 8 posts to so many
subscribers on the way; the next when the last of them has one. Times are from sending to arrival (of a fan-out: at
the last), and the medians of the rounds. What each server makes durable before it delivers is printed beside it."""
import json, os, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

AWD, GENERATOR, NATS = map(os.path.abspath, sys.argv[1:4])
SECONDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
ROUNDS = int(sys.argv[5]) if len(sys.argv) > 5 else 3
PAIRS = 64
AUDIENCES = (10, 100, 1000)
DURABLE = {
    "awd": "each message, by fsync (group commit), before anyone gets it",
    "nats": "each message, by fsync (sync_interval: always), all pairs in one stream",
    "nats-streams": "the same, with a stream for each pair",
    "mosquitto": "nothing until autosave_interval (30 min) or exit; QoS 1, persistent sessions",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    for _ in range(200):
        if process.poll() is not None:
            sys.exit(f"{process.args} has ended")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing answers at port {port}")


cores = os.cpu_count() or 1
server_core = ["taskset", "-c", "0"]
other_cores = ["taskset", "-c", f"1-{cores - 1}"] if cores > 1 else []


def start(name, folder, port):
    os.makedirs(folder)
    if name == "awd":
        with open(f"{folder}/awd.toml", "w") as file:
            file.write(f'[server]\nlisten = ["127.0.0.1:{port}"]\nservices = ["apptimist"]\nthreads = 1\n'
                       f'data = "{folder}/data"\n[log]\nlevel = "warning"\n')
        command = [AWD, "serve", "--config", f"{folder}/awd.toml"]
    elif name == "mosquitto":
        with open(f"{folder}/mosquitto.conf", "w") as file:
            file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
                       f"persistence_location {folder}/\nset_tcp_nodelay true\nlog_type error\nuser root\n"
                       "max_inflight_messages 0\nmax_queued_messages 0\n")
        command = ["mosquitto", "-c", f"{folder}/mosquitto.conf"]
    else:
        with open(f"{folder}/nats.conf", "w") as file:
            file.write(f'listen: 127.0.0.1:{port}\njetstream {{ store_dir: "{folder}/js", sync_interval: always }}\n')
        command = [NATS, "-c", f"{folder}/nats.conf"]
    process = subprocess.Popen(server_core + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(port, process)
    return process


def measure(name, work, *arguments):
    """Runs one measurement on a fresh server."""
    folder = tempfile.mkdtemp(prefix="awd-benchmark-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    port = free_port()
    process = start(name, f"{folder}/{name}", port)
    protocol = {"awd": "apptimist", "mosquitto": "mqtt"}.get(name, name)
    try:
        command = [*other_cores, GENERATOR, work, protocol, port, process.pid, *arguments, SECONDS]
        output = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=180)
        if output.returncode:
            sys.exit(f"{name}: {output.stderr}")
        return json.loads(output.stdout)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def table(title, names, work, *arguments):
    results = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            results[name].append(measure(name, work, *arguments))
    own = [result["rate"] for result in results["awd"]]
    for name in names:
        middle = {key: statistics.median(result[key] for result in results[name]) for key in results[name][0]}
        ratio = statistics.median(a / result["rate"] for a, result in zip(own, results[name]))
        against = f"{ratio:8.2f} x" if name != "awd" else ""
        print(f"{title:26}{name:14}{middle['rate']:12.0f}{middle['p50']:10.2f}{middle['p99']:10.2f}"
              f"{middle['cost']:12.1f}{against}", flush=True)
    return statistics.median(own)


limit = json.loads(subprocess.run(server_core + [GENERATOR, "limit"], capture_output=True, text=True, check=True).stdout)
for name, what in DURABLE.items():
    print(f"{name:14}{what}")
print(f"limit         {limit['rate']:.0f} messages/s on one core: two boxes {limit['boxes']:.1f} us, one row in a group "
      f"commit {limit['row']:.1f} us, four socket calls {limit['sockets']:.1f} us")
print(f"\n{'':26}{'server':14}{'messages/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'CPU us/msg':>12}{'awd: speed':>12}")
names = list(DURABLE)
for window in (1, 8):
    rate = table(f"{PAIRS} pairs, {window} on the way", names, "pairs", PAIRS, window)
    print(f"{'':26}{'awd: of limit':14}{rate / limit['rate'] * 100:11.0f} %")
for audience in AUDIENCES:
    for window in (1, 8):
        table(f"to {audience}, {window} on the way", [name for name in names if name != "nats-streams"], "fanout",
              audience, window)

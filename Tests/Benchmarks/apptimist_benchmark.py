#!/usr/bin/env python3
"""apptimist_benchmark.py AWD GENERATOR NATS_SERVER [SECONDS] [ROUNDS]: messages of 1 KB through awd's Apptimist, NATS
JetStream and mosquitto, the servers in turn, each freshly started for each measurement on a core of its own; one load
generator has the other.

Pairs: 64 senders, each with 1 or 8 messages on the way to its receiver. Fan-out: one sender with 1 or 8 posts on the way
to this many readers; the next is sent when the last of them has one. Times run from sending to arrival (of a fan-out, to
the last arrival). The table shows the medians of the rounds. In awd each post gets a place in the mailbox of each reader,
who can truncate it there. In NATS each reader is a consumer of the one stream that all read: a durable one, whose place
is kept on disk, or an ephemeral one, whose place is kept in memory."""
import json, os, statistics, subprocess, sys
from support import OTHER_CORES, SERVER_CORE, awd_command, free_port, running, spread, temporary_folder, wait_for_port

AWD, GENERATOR, NATS = map(os.path.abspath, sys.argv[1:4])
# One address and one author send what many would.
UNLIMITED = ("[apptimist]\nunauthenticated_sessions_per_address = 2048\nforum_posts_size = \"1TiB\"\n"
             "messages_size_per_address = \"1TiB\"\nstored_size_per_address = \"1TiB\"\n"
             "accounts_per_address = 1000000\n")
SECONDS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
ROUNDS = int(sys.argv[5]) if len(sys.argv) > 5 else 3
PAIRS = 64
AUDIENCES = (10, 100, 1000)
# The generator's word for each server, the table's, and what is durable when a message arrives.
SERVERS = {
    "apptimist": ("awd", "each message, by fsync (group commit), before anyone receives it"),
    "apptimist-2": ("awd, version 2", "the same; each message is answered, too"),
    "nats": ("nats, durable", "each message and each reader's place, by fsync (sync_interval: always), in one stream"),
    "nats-ephemeral": ("nats, ephemeral", "each message, likewise; readers' places in memory"),
    "nats-streams": ("nats, durable, 64 streams", "as nats, durable, with a stream for each pair"),
    "nats-streams-ephemeral": ("nats, ephemeral, 64 streams", "as nats, ephemeral, with a stream for each pair"),
    "mqtt": ("mosquitto", "nothing until autosave_interval (30 min) or exit; QoS 1, persistent sessions"),
}


def command(server, folder, port):
    if server.startswith("apptimist"):
        return awd_command(AWD, folder, port, "apptimist", UNLIMITED)
    if server == "mqtt":
        with open(f"{folder}/mosquitto.conf", "w") as file:
            file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
                       f"persistence_location {folder}/\nset_tcp_nodelay true\nlog_type error\nuser root\n"
                       "max_inflight_messages 0\nmax_queued_messages 0\n")
        return ["mosquitto", "-c", f"{folder}/mosquitto.conf"]
    with open(f"{folder}/nats.conf", "w") as file:
        file.write(f'listen: 127.0.0.1:{port}\njetstream {{ store_dir: "{folder}/js", sync_interval: always }}\n')
    return [NATS, "-c", f"{folder}/nats.conf"]


def measure(server, work, *arguments):
    """Runs one measurement on a fresh server."""
    with temporary_folder() as folder:
        port = free_port()
        quiet = subprocess.DEVNULL
        with running(SERVER_CORE + command(server, folder, port), stdout=quiet, stderr=quiet) as process:
            wait_for_port(port, process)
            generator = [*OTHER_CORES, GENERATOR, work, server, port, process.pid, *arguments, SECONDS]
            output = subprocess.run(list(map(str, generator)), capture_output=True, text=True, timeout=180)
            if output.returncode:
                sys.exit(f"{server}: {output.stderr}")
            return json.loads(output.stdout)


def table(title, servers, work, *arguments):
    results = {server: [] for server in servers}
    for _ in range(ROUNDS):
        for server in servers:
            results[server].append(measure(server, work, *arguments))
    rates = {server: [result["rate"] for result in results[server]] for server in servers}
    own = rates["apptimist"]
    for server in servers:
        middle = {key: statistics.median(result[key] for result in results[server]) for key in results[server][0]}
        ratio = statistics.median(a / b for a, b in zip(own, rates[server]))
        against = f"{ratio:10.2f} x" if server != "apptimist" else ""
        # A server may be too slow for a single post to reach all its readers.
        times = f"{middle['p50']:10.2f}{middle['p99']:10.2f}" if middle["samples"] else f"{'none':>10}{'none':>10}"
        print(f"{title:26}{SERVERS[server][0]:28}{middle['rate']:12.0f}{spread(rates[server]):>8}{times}"
              f"{middle['cost']:12.1f}{against}", flush=True)
    return statistics.median(own)


limit = json.loads(subprocess.run(SERVER_CORE + [GENERATOR, "limit"], capture_output=True, text=True, check=True).stdout)
print("What is durable when a message arrives:")
for name, durable in SERVERS.values():
    print(f"  {name:28}{durable}")
print(f"Limit of one core: {limit['rate']:.0f} messages/s (two boxes {limit['boxes']:.1f} us, one row in a group commit "
      f"{limit['row']:.1f} us, two receives and two sends by TCP {limit['sockets']:.1f} us)")
print(f"\n{'':26}{'server':28}{'messages/s':>12}{'spread':>8}{'p50 ms':>10}{'p99 ms':>10}{'CPU us/msg':>12}{'awd: speed':>12}")
for window in (1, 8):
    rate = table(f"{PAIRS} pairs, {window} on the way", list(SERVERS), "pairs", PAIRS, window)
    if window == 1:
        # Of several on the way one call carries more than one.
        print(f"{'':26}{'awd: of the limit':28}{rate / limit['rate'] * 100:11.0f} %")
for audience in AUDIENCES:
    for window in (1, 8):
        # One sender has one stream.
        servers = [server for server in SERVERS if not server.startswith("nats-streams")]
        table(f"to {audience}, {window} on the way", servers, "fanout", audience, window)

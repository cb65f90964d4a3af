#!/usr/bin/env python3
"""http_benchmark.py AWD [SECONDS] [ROUNDS]: a TokenScript of 34 KB from one event loop of awd and the same bytes from one
nginx worker, loaded by wrk with 32 connections, the servers in turn. nginx runs with its defaults (access log off), and
tuned (sendfile, tcp_nopush, open_file_cache). The table shows the medians of the rounds: requests per second and
their spread, the server's CPU time per request, and awd's ratio to the other, round by round."""
import contextlib, os, statistics, subprocess, sys, time, urllib.request
from support import SERVER_CORE, awd_command, cpu_seconds, free_port, nginx_command, running, spread, temporary_folder, \
    worker_of, wrk

AWD = os.path.abspath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
CONTRACT = "0x6b175474e89094c44da98b954eedeac495271d0f"
TUNINGS = {
    "nginx": "",
    "tuned": "sendfile on; tcp_nopush on; open_file_cache max=100; open_file_cache_valid 60s;",
}


def contract_file():
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript">\n'
        '<ts:contract interface="erc20" name="DAI">'
        f'<ts:address network="1">{CONTRACT}</ts:address></ts:contract>\n'
        '<ts:origins><ts:ethereum contract="DAI"/></ts:origins>\n<!--'
    )
    tail = "-->\n</ts:token>\n"
    return (head + "x" * (34 * 1024 - len(head) - len(tail)) + tail).encode()


def fetch(url):
    for _ in range(400):
        try:
            with urllib.request.urlopen(url, timeout=1) as response:
                return dict(response.headers), response.read()
        except OSError:
            time.sleep(0.025)
    sys.exit(f"nothing responds at {url}")


def measure(url, pid, header):
    before = cpu_seconds(pid)
    requests, rate, _, _ = wrk(url, SECONDS, 32, *(["-H", header] if header else []))
    return rate, (cpu_seconds(pid) - before) / requests * 1e6


with temporary_folder() as folder, contextlib.ExitStack() as servers:
    content = contract_file()
    for path in ("repository/DAI.tsml", f"www/{CONTRACT}"):
        os.makedirs(os.path.dirname(f"{folder}/{path}"))
        with open(f"{folder}/{path}", "wb") as file:
            file.write(content)
    urls, pids, responses = {}, {}, {}
    for name in (*TUNINGS, "awd"):
        port = free_port()
        if name == "awd":
            # The file is not signed: verifying is measured elsewhere.
            command = SERVER_CORE + awd_command(
                AWD, folder, port, "tokenscript",
                f'[tokenscript]\nrepository = "{folder}/repository"\nsignature = "off"\ntrust = "off"\n')
        else:
            command = nginx_command(folder, name, port, TUNINGS[name])
        process = servers.enter_context(running(command, stderr=None if name == "awd" else subprocess.DEVNULL))
        urls[name] = f"http://127.0.0.1:{port}/{CONTRACT}"
        responses[name] = fetch(urls[name])
        assert responses[name][1] == content
        pids[name] = process.pid if name == "awd" else worker_of(process.pid)
    middle = statistics.median
    print(f"{'':14}{'server':10}{'req/s':>10}{'spread':>8}{'CPU us/req':>12}{'awd: speed':>12}{'CPU':>8}")
    for case, validator in {"200, 34 KB": None, "304": "Last-Modified"}.items():
        rates, costs = {name: [] for name in urls}, {name: [] for name in urls}
        for _ in range(ROUNDS):
            for name in urls:
                header = f"If-Modified-Since: {responses[name][0][validator]}" if validator else None
                rate, cost = measure(urls[name], pids[name], header)
                rates[name].append(rate)
                costs[name].append(cost)
        for name in urls:
            against = ""
            if name != "awd":
                speed = middle(a / n for a, n in zip(rates["awd"], rates[name]))
                thrift = middle(n / a for a, n in zip(costs["awd"], costs[name]))
                against = f"{speed:10.2f} x{thrift:6.2f} x"
            print(f"{case:14}{name:10}{middle(rates[name]):10.0f}{spread(rates[name]):>8}{middle(costs[name]):12.2f}{against}",
                  flush=True)

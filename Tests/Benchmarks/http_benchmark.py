#!/usr/bin/env python3
"""http_benchmark.py AWD [SECONDS] [ROUNDS]: a TokenScript of 34 KB from one event loop of awd and the same bytes from one
nginx worker, loaded by wrk with 32 connections, the servers in turn. nginx runs with its defaults (access log off), and
tuned (sendfile, tcp_nopush, open_file_cache). The table shows the medians of the rounds: requests per second and
their spread, the server's CPU time per request, and awd's ratio to the other, round by round."""
import contextlib, os, subprocess, sys, time, urllib.request
from support import CONTRACT, SERVER_CORE, awd_command, contract_file, free_port, nginx_command, print_comparison, running, \
    temporary_folder, worker_of, wrk

AWD = os.path.abspath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
TUNINGS = {
    "nginx": "",
    "tuned": "sendfile on; tcp_nopush on; open_file_cache max=100; open_file_cache_valid 60s;",
}


def fetch(url):
    for _ in range(400):
        try:
            with urllib.request.urlopen(url, timeout=1) as response:
                return dict(response.headers), response.read()
        except OSError:
            time.sleep(0.025)
    sys.exit(f"nothing responds at {url}")


def load(url, *options):
    return wrk(url, SECONDS, 32, *options)[:2]


modified = {}
CASES = {
    "200, 34 KB": load,
    "304": lambda url: load(url, "-H", f"If-Modified-Since: {modified[url]}"),
}

with temporary_folder() as folder, contextlib.ExitStack() as servers:
    content = contract_file()
    for path in ("repository/DAI.tsml", f"www/{CONTRACT}"):
        os.makedirs(os.path.dirname(f"{folder}/{path}"))
        with open(f"{folder}/{path}", "wb") as file:
            file.write(content)
    urls, pids = {}, {}
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
        headers, body = fetch(urls[name])
        assert body == content
        modified[urls[name]] = headers["Last-Modified"]
        pids[name] = process.pid if name == "awd" else worker_of(process.pid)
    print_comparison(CASES, urls, pids, ROUNDS)

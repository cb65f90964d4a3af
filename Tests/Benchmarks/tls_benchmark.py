#!/usr/bin/env python3
"""tls_benchmark.py AWD [SECONDS] [ROUNDS]: a TokenScript of 34 KB over TLS 1.3 from one event loop of awd and the same bytes
from one tuned nginx worker, with one certificate (P-256), the servers in turn. Measured are 32 connections that stay, by
HTTP/1.1 and by HTTP/2 (8 streams each), and 32 that are made anew for each request, with a whole handshake and with a
resumed session. The table is that of http_benchmark.py."""
import contextlib, os, re, subprocess, sys, time
from support import CONTRACT, OTHER_CORES, SERVER_CORE, awd_command, contract_file, free_port, nginx_command, \
    print_comparison, running, temporary_folder, wait_for_port, worker_of, wrk

AWD = os.path.abspath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5


def h2load(url, *options):
    command = [*OTHER_CORES, "h2load", "-t1", "-c32", f"-D{SECONDS}", *options, url]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    done, failed = re.search(r"(\d+) done, \d+ succeeded, (\d+) failed", output).groups()
    if int(failed) > 32:  # those on the way at the end
        sys.exit(output)
    return int(done), int(done) / SECONDS


def handshakes(url):
    return wrk(url, SECONDS, 32, "-H", "Connection: close")[:2]


def resumed(url):
    host, path = re.match(r"https://([^/]+)(/.*)", url).groups()
    command = [*OTHER_CORES, "openssl", "s_time", "-connect", host, "-www", path, "-reuse", "-tls1_3", "-time", str(SECONDS)]
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(4)]
    outputs = [client.communicate()[0] for client in clients]
    # It makes one session before it begins to count.
    done = sum(int(re.search(r"(\d+) connections in \d+ real seconds", text).group(1)) for text in outputs)
    return done, done / SECONDS


CASES = {
    "HTTP/1.1": lambda url: h2load(url, "--h1"),
    "HTTP/2": lambda url: h2load(url, "-m8"),
    "new": handshakes,
    "resumed": resumed,
}

with temporary_folder() as folder, contextlib.ExitStack() as servers:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"],
                   check=True, capture_output=True)
    os.chmod(f"{folder}/key.pem", 0o644)
    for path in ("repository/DAI.tsml", f"www/{CONTRACT}"):
        os.makedirs(os.path.dirname(f"{folder}/{path}"))
        with open(f"{folder}/{path}", "wb") as file:
            file.write(contract_file())
    urls, pids = {}, {}
    for name in ("nginx", "awd"):
        port = free_port()
        if name == "awd":
            command = awd_command(AWD, folder, port, "tokenscript",
                                  f'[tokenscript]\nrepository = "{folder}/repository"\nsignature = "off"\ntrust = "off"\n')
            text = open(f"{folder}/awd.toml").read()
            with open(f"{folder}/awd.toml", "w") as file:
                file.write(text.replace("[server]\n", f'[server]\ntls = {{ certificate = "{folder}/certificate.pem", '
                                                      f'key = "{folder}/key.pem" }}\n', 1))
            command = SERVER_CORE + command
        else:
            command = nginx_command(
                folder, name, port, "sendfile on; tcp_nopush on; open_file_cache max=100; open_file_cache_valid 60s; "
                f"ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols TLSv1.3;")
            text = open(f"{folder}/{name}.conf").read()
            with open(f"{folder}/{name}.conf", "w") as file:
                file.write(text.replace(f"listen 127.0.0.1:{port};", f"listen 127.0.0.1:{port} ssl http2;"))
        process = servers.enter_context(running(command, stderr=subprocess.DEVNULL))
        wait_for_port(port, process)
        urls[name] = f"https://127.0.0.1:{port}/{CONTRACT}"
        time.sleep(0.5)
        pids[name] = process.pid if name == "awd" else worker_of(process.pid)
        found = subprocess.run(["curl", "-sk", urls[name]], capture_output=True).stdout
        assert found == contract_file(), f"{name}: {len(found)} bytes"
    print_comparison(CASES, urls, pids, ROUNDS)

#!/usr/bin/env python3
"""http_benchmark.py AWD [SECONDS] [ROUNDS]: a served contract of 34 KB from one event loop of awd against the same
bytes from one nginx worker, by wrk, the servers in turn. nginx runs twice: with its defaults (access log off), and tuned
(sendfile, tcp_nopush, open_file_cache). Prints requests a second, the server's CPU time for each request, and the median
of the ratios round by round. The server has one core, wrk the others."""
import os, shutil, signal, socket, statistics, subprocess, sys, tempfile, time, urllib.request

AWD = os.path.abspath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
CONTRACT = "0x6b175474e89094c44da98b954eedeac495271d0f"
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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


def wait_for(url):
    for _ in range(200):
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                return dict(answer.headers), answer.read()
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing answers at {url}")


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def load(url, pid, header=None):
    command = ["wrk", "-t1", "-c32", f"-d{SECONDS}s"]
    if header:
        command += ["-H", header]
    if (os.cpu_count() or 1) > 1:
        command = ["taskset", "-c", f"1-{os.cpu_count() - 1}"] + command
    before = cpu_seconds(pid)
    output = subprocess.run(command + [url], capture_output=True, text=True, check=True).stdout
    spent = cpu_seconds(pid) - before
    if "Non-2xx" in output and not header:
        sys.exit(output)
    requests = int(output.split(" requests in")[0].split()[-1])
    rate = float(output.split("Requests/sec:")[1].split()[0])
    return rate, spent / requests * 1e6


def worker_of(pid):
    return int(open(f"/proc/{pid}/task/{pid}/children").read().split()[0])


folder = tempfile.mkdtemp(prefix="awd-benchmark-", dir=os.environ.get("TMPDIR", "/var/tmp"))
processes = []
try:
    os.makedirs(f"{folder}/repository")
    os.makedirs(f"{folder}/www")
    content = contract_file()
    for path in (f"{folder}/repository/DAI.tsml", f"{folder}/www/{CONTRACT}"):
        with open(path, "wb") as file:
            file.write(content)
    os.chmod(folder, 0o755)
    awd_port = free_port()
    tunings = {
        "nginx": "",
        "tuned": "sendfile on; tcp_nopush on; open_file_cache max=100; open_file_cache_valid 60s;",
    }
    ports = {name: free_port() for name in tunings}
    for name, tuning in tunings.items():
        with open(f"{folder}/{name}.conf", "w") as file:
            file.write(
                f"worker_processes 1; daemon off; pid {folder}/{name}.pid; error_log {folder}/error.log;\n"
                "events { worker_connections 4096; }\n"
                f"http {{ access_log off; keepalive_requests 100000000; default_type text/xml; {tuning}\n"
                + "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"  server {{ listen 127.0.0.1:{ports[name]}; root {folder}/www; }} }}\n"
            )
    with open(f"{folder}/awd.toml", "w") as file:
        file.write(
            f'[server]\nlisten = ["127.0.0.1:{awd_port}"]\nservices = ["tokenscript"]\nthreads = 1\n'
            f'data = "{folder}/data"\n[log]\nlevel = "warning"\n'
            f'[tokenscript]\nrepository = "{folder}/repository"\nsignature = "off"\ntrust = "off"\n'
        )
    pin = ["taskset", "-c", "0"]
    nginx = {
        name: subprocess.Popen(pin + ["nginx", "-p", folder, "-c", f"{folder}/{name}.conf"],
                               stderr=subprocess.DEVNULL)
        for name in tunings
    }
    awd = subprocess.Popen(pin + [AWD, "serve", "--config", f"{folder}/awd.toml"])
    processes = [*nginx.values(), awd]
    urls = {name: f"http://127.0.0.1:{port}/{CONTRACT}" for name, port in ports.items()}
    urls["awd"] = f"http://127.0.0.1:{awd_port}/{CONTRACT}"
    answers = {name: wait_for(url) for name, url in urls.items()}
    assert all(answer[1] == content for answer in answers.values())
    pids = {name: worker_of(process.pid) for name, process in nginx.items()} | {"awd": awd.pid}
    middle = statistics.median
    print(f"{'':14}{'server':10}{'req/s':>10}{'CPU us/req':>12}{'awd: speed':>12}{'CPU':>8}")
    for case, validator in {"200, 34 KB": None, "304": "Last-Modified"}.items():
        rates, costs = {name: [] for name in urls}, {name: [] for name in urls}
        for _ in range(ROUNDS):
            for name in urls:
                header = f"If-Modified-Since: {answers[name][0][validator]}" if validator else None
                rate, cost = load(urls[name], pids[name], header)
                rates[name].append(rate)
                costs[name].append(cost)
        for name in urls:
            against = ""
            if name != "awd":
                speed = middle(a / n for a, n in zip(rates["awd"], rates[name]))
                thrift = middle(n / a for a, n in zip(costs["awd"], costs[name]))
                against = f"{speed:10.2f} x{thrift:6.2f} x"
            print(f"{case:14}{name:10}{middle(rates[name]):10.0f}{middle(costs[name]):12.2f}{against}")
finally:
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.wait(15)
    shutil.rmtree(folder, ignore_errors=True)

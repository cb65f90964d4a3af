"""Shared by the benchmarks: cores, ports, folders, processes, nginx, wrk, and the comparison of servers.

With two cores or more the measured server runs alone on core 0, and whatever loads it on the others."""
import contextlib, os, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

CORES = os.cpu_count() or 1
SERVER_CORE = ["taskset", "-c", "0"] if CORES > 1 else []
OTHER_CORES = ["taskset", "-c", f"1-{CORES - 1}"] if CORES > 1 else []
CONTRACT = "0x6b175474e89094c44da98b954eedeac495271d0f"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def temporary_folder():
    folder = tempfile.mkdtemp(prefix="awd-benchmark-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(folder, 0o755)  # nginx's workers have another user.
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running(command, **options):
    """Runs a process while the block lasts, then ends it by SIGTERM. What it prints is no result."""
    process = subprocess.Popen(list(map(str, command)), **{"stdout": subprocess.DEVNULL, **options})
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_for_port(port, process):
    for _ in range(400):
        if process.poll() is not None:
            sys.exit(f"{process.args} has ended")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.025)
    sys.exit(f"nothing listens on port {port}")


def awd_command(awd, folder, port, services, settings="", threads=1, level="warning"):
    """Writes a configuration below the folder, and returns the command that serves it.

    All clients of a benchmark are at one address, which may have all that there is.
    """
    with open(f"{folder}/awd.toml", "w") as file:
        file.write(f'[server]\nlisten = ["127.0.0.1:{port}"]\nservices = ["{services}"]\nthreads = {threads}\n'
                   'limits = { connections_per_address = 16000, requests_per_address = 16000, memory = "1GiB" }\n'
                   f'data = "{folder}/data"\n[log]\nlevel = "{level}"\n{settings}')
    return [awd, "serve", "--config", f"{folder}/awd.toml"]


def contract_file():
    """A TokenScript of 34 KB for the contract, which is not signed."""
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript">\n'
        '<ts:contract interface="erc20" name="DAI">'
        f'<ts:address network="1">{CONTRACT}</ts:address></ts:contract>\n'
        '<ts:origins><ts:ethereum contract="DAI"/></ts:origins>\n<!--'
    )
    tail = "-->\n</ts:token>\n"
    return (head + "x" * (34 * 1024 - len(head) - len(tail)) + tail).encode()


def nginx_command(folder, name, port, settings):
    """Writes a configuration that serves folder/www with one worker, and returns the command."""
    temporary = "".join(f"{kind}_temp_path {folder}/{kind}; "
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(f"{folder}/{name}.conf", "w") as file:
        file.write(
            f"worker_processes 1; daemon off; pid {folder}/{name}.pid; error_log {folder}/error.log;\n"
            "events { worker_connections 4096; }\n"
            f"http {{ access_log off; keepalive_requests 100000000; default_type text/xml; {settings}\n{temporary}\n"
            f"  server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}\n")
    return [*SERVER_CORE, "nginx", "-p", folder, "-c", f"{folder}/{name}.conf"]


def worker_of(pid):
    """The only child of a process, such as nginx's worker."""
    return int(open(f"/proc/{pid}/task/{pid}/children").read().split()[0])


def wrk(url, seconds, connections, *options, prefix=OTHER_CORES):
    """Loads a URL, and returns the number of requests, requests per second, and the p50 and p99 in milliseconds."""
    command = [*prefix, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *options, url]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # wrk counts every status above 399 as "Non-2xx".
    if "Non-2xx" in output or "Socket errors" in output:
        sys.exit(output)
    units = {"us": 1e-3, "ms": 1, "s": 1e3}

    def milliseconds(name):
        text = output.split("Latency Distribution")[1].split(name)[1].split()[0]
        unit = text.lstrip("0123456789.")
        return float(text[:-len(unit)]) * units[unit]

    requests = int(output.split(" requests in")[0].split()[-1])
    rate = float(output.split("Requests/sec:")[1].split()[0])
    return requests, rate, milliseconds("50%"), milliseconds("99%")


def spread(values):
    """The distance of the lowest from the highest, in percent of the median."""
    return f"{(max(values) - min(values)) / statistics.median(values) * 100:.0f} %"


def cpu_seconds(pid, with_ended_children=False):
    """The CPU time that a process has used (proc(5), `stat`)."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15 if with_ended_children else 13])) / os.sysconf("SC_CLK_TCK")


def measure_in_turn(load, urls, pids, rounds):
    """Loads servers in turn, and returns each one's requests per second and CPU time per request in microseconds, by round.

    `load` takes a server's URL, and returns the number of requests and requests per second."""
    rates, costs = {name: [] for name in urls}, {name: [] for name in urls}
    for _ in range(rounds):
        for name, url in urls.items():
            before = cpu_seconds(pids[name])
            requests, rate = load(url)
            rates[name].append(rate)
            costs[name].append((cpu_seconds(pids[name]) - before) / requests * 1e6)
    return rates, costs


def print_comparison(cases, urls, pids, rounds):
    """Prints a table of what servers, of which one is awd, take for each case, which is a `load` of `measure_in_turn`.

    It shows the medians of the rounds, and awd's ratio to the other, round by round."""
    middle = statistics.median
    print(f"{'':14}{'server':10}{'req/s':>10}{'spread':>8}{'CPU us/req':>12}{'awd: speed':>12}{'CPU':>8}")
    for case, load in cases.items():
        rates, costs = measure_in_turn(load, urls, pids, rounds)
        for name in urls:
            against = ""
            if name != "awd":
                speed = middle(a / n for a, n in zip(rates["awd"], rates[name]))
                thrift = middle(n / a for a, n in zip(costs["awd"], costs[name]))
                against = f"{speed:10.2f} x{thrift:6.2f} x"
            print(f"{case:14}{name:10}{middle(rates[name]):10.0f}{spread(rates[name]):>8}{middle(costs[name]):12.2f}{against}",
                  flush=True)

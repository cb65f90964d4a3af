#!/usr/bin/env python3
"""repository_benchmark.py AWD [PART...]: the costs of the TokenScript repository itself. Without a PART all are measured:
  cold     a first index of 1,000 signed files of 32 KB, from the start of awd until it is ready, against `xmlsec1 --verify`
           of the same files on all cores: once with a process for each file, as a script does it, and once with a process
           for each core that is given its share of the files
  restart  a start over 10,000 known files of 32 KB, until the server is ready
  large    the same over 100,000 unsigned files; two minutes, and only measured if it is named
  gzip     the gzip variant of a file of 2.4 MB, from one event loop against one nginx worker with gzip_static
All figures are medians."""
import gzip, os, re, shutil, signal, statistics, subprocess, sys, time, urllib.request
from support import CORES, SERVER_CORE, awd_command, free_port, measure_in_turn, nginx_command, running, spread, \
    temporary_folder, worker_of, wrk

AWD = os.path.abspath(sys.argv[1])
PARTS = sys.argv[2:] or ["cold", "restart", "gzip"]
IDS = ["--id-attr:Id", "http://uri.etsi.org/01903/v1.3.2#:SignedProperties"]
NAMESPACE = "http://tokenscript.org/2020/06/tokenscript"
SIGNATURE = """<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>\
<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>\
<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>\
<ds:Reference URI=""><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>\
<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>\
<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference></ds:SignedInfo>\
<ds:SignatureValue/><ds:KeyInfo><ds:X509Data/></ds:KeyInfo></ds:Signature>"""


def address(number):
    return f"0x{number:040x}"


def script(number, size, signature=""):
    """A TokenScript of about this many bytes, made of words that are usual in such files."""
    words = "attribute-type select ethereum function as bool origins cards view-iframe label string plurals".split()
    lines = []
    length = 0
    while length < size:
        pick = (number * 7919 + len(lines) * 104729) % 999983
        lines.append(f'<ts:{words[pick % len(words)]} name="{words[pick % 7]}{pick}">{pick * 31:x}</ts:{words[pick % len(words)]}>')
        length += len(lines[-1]) + 1
    body = "\n".join(lines)
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<ts:token xmlns:ts="{NAMESPACE}">'
            f'<ts:contract name="Coin"><ts:address network="1">{address(number)}</ts:address></ts:contract>'
            f'<ts:origins><ts:ethereum contract="Coin"/></ts:origins>\n{body}\n{signature}</ts:token>\n')


def in_parallel(commands):
    """Runs commands, one on each core at a time, and returns the seconds until the last one ends."""
    start = time.monotonic()
    running = []
    for command in commands:
        if len(running) == CORES:
            finish(running.pop(0))
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for process in running:
        finish(process)
    return time.monotonic() - start


def finish(process):
    if process.wait() != 0:
        sys.exit(f"failed: {process.args}")


class Server:
    """awd over a folder; inside `with` it is ready."""

    def __init__(self, folder, settings="", threads=0, prefix=()):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = f"{folder}/awd.log"
        settings = f'[tokenscript]\nrepository = "{folder}/repository"\n{settings}'
        self.command = [*prefix, *awd_command(AWD, folder, port, "tokenscript", settings, threads, level="info")]

    def __enter__(self):
        start = time.monotonic()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=log)
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as response:
                    assert response.status == 200
                    break
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(open(self.log).read())
                time.sleep(0.002)
        self.seconds = time.monotonic() - start
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    def verified(self):
        """The number of files that were verified, according to the log."""
        return int(re.search(r"verified=(\d+)", open(self.log).read()).group(1))

    def served(self):
        text = urllib.request.urlopen(f"{self.url}/metrics", timeout=5).read().decode()
        return int(float(re.search(r'awd_tokenscript_files\{state="served"\} (\S+)', text).group(1)))


def make_key(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=bench.example", "-days", "2",
                    "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"], check=True, capture_output=True)


def cold(folder):
    make_key(folder)
    count, files = 1000, []
    for number in range(count):
        with open(f"{folder}/template{number}.xml", "w") as file:
            file.write(script(number, 32_000, SIGNATURE))
        files.append(f"{folder}/repository/{number}.tsml")
    in_parallel(["xmlsec1", "--sign", "--privkey-pem", f"{folder}/key.pem,{folder}/certificate.pem", "--output", file,
                 f"{folder}/template{number}.xml"] for number, file in enumerate(files))
    verify = ["xmlsec1", "--verify", "--enabled-key-data", "x509", "--trusted-pem", f"{folder}/certificate.pem", *IDS]
    each, shares, ours = [], [], []
    for _ in range(5):
        each.append(in_parallel([*verify, file] for file in files))
        shares.append(in_parallel([*verify, *files[core::CORES]] for core in range(CORES)))
        shutil.rmtree(f"{folder}/data", ignore_errors=True)
        with Server(folder, f'roots = "{folder}/certificate.pem"\ntrust = "require"\n') as server:
            assert (server.served(), server.verified()) == (count, count)
            ours.append(server.seconds)
    middle = statistics.median
    print(f"first index of {count} signed files: awd {middle(ours):.2f} s from start to ready (spread {spread(ours)})")
    for name, theirs in {"a process for each file": each, "a process for each core": shares}.items():
        ratio = middle(t / o for t, o in zip(theirs, ours))
        print(f"  xmlsec1, {name}: {middle(theirs):.2f} s (spread {spread(theirs)}), {ratio:.2f} times as long", flush=True)


def restart(folder):
    make_key(folder)
    count, distinct = 10_000, 100
    for number in range(distinct):
        with open(f"{folder}/template.xml", "w") as file:
            file.write(script(number, 32_000, SIGNATURE))
        subprocess.run(["xmlsec1", "--sign", "--privkey-pem", f"{folder}/key.pem,{folder}/certificate.pem", "--output",
                        f"{folder}/signed{number}.xml", f"{folder}/template.xml"], check=True, capture_output=True)
    for number in range(count):
        # A comment is not signed, so a few signatures make many different files.
        text = open(f"{folder}/signed{number % distinct}.xml").read().replace("<ts:origins>", f"<!--{number}--><ts:origins>")
        os.makedirs(f"{folder}/repository/{number % 100}", exist_ok=True)
        with open(f"{folder}/repository/{number % 100}/{number}.tsml", "w") as file:
            file.write(text)
    measure_starts(folder, count)


def large(folder):
    count = 100_000
    for number in range(count):
        os.makedirs(f"{folder}/repository/{number % 1000}", exist_ok=True)
        with open(f"{folder}/repository/{number % 1000}/{number}.tsml", "w") as file:
            file.write(script(number, 32_000))
    measure_starts(folder, count, 'signature = "off"\ntrust = "off"\n')


def measure_starts(folder, count, settings=""):
    with Server(folder, settings) as server:
        assert server.verified() == count
        first = server.seconds
    again = []
    for _ in range(5):
        with Server(folder, settings) as server:
            assert server.verified() == 0
            again.append(server.seconds)
    print(f"start over {count} files until ready: the first time {first:.2f} s; again {statistics.median(again):.2f} s "
          f"({min(again):.2f} to {max(again):.2f}), none verified", flush=True)


def fetch(url):
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=5) as response:
        return response.headers.get("Content-Encoding"), response.read()


def gzip_variant(folder):
    content = script(1, 2_400_000).encode()
    os.makedirs(f"{folder}/www")
    for path in (f"{folder}/repository/a.tsml", f"{folder}/www/a.xml"):
        with open(path, "wb") as file:
            file.write(content)
    subprocess.run(["gzip", "-9", "-k", f"{folder}/www/a.xml"], check=True)
    port = free_port()
    tuning = "sendfile on; tcp_nopush on; open_file_cache max=100; open_file_cache_valid 60s; gzip_static on;"
    with running(nginx_command(folder, "nginx", port, tuning), stderr=subprocess.DEVNULL) as nginx:
        with Server(folder, 'signature = "off"\ntrust = "off"\n', threads=1, prefix=SERVER_CORE) as server:
            urls = {"nginx": f"http://127.0.0.1:{port}/a.xml", "awd": f"{server.url}/{address(1)}"}
            for _ in range(400):
                if all(fetch(url)[0] == "gzip" for url in urls.values()):
                    break
                time.sleep(0.05)
            sizes = {}
            for name, url in urls.items():
                coding, body = fetch(url)
                assert coding == "gzip" and gzip.decompress(body) == content
                sizes[name] = len(body)
            pids = {"nginx": worker_of(nginx.pid), "awd": server.process.pid}
            # Bodies larger than a connection's first window begin slowly, some for a second or more, so that rounds are long.
            rates, costs = measure_in_turn(
                lambda url: wrk(url, 2, 16, "-H", "Accept-Encoding: gzip")[:2], urls, pids, 5)
            ratio = statistics.median(a / n for a, n in zip(rates["awd"], rates["nginx"]))
            print(f"gzip variant of {len(content)} bytes ({sizes['awd']} from awd, {sizes['nginx']} from nginx):")
            for name in urls:
                against = f", awd: speed {ratio:.2f} x" if name == "nginx" else ""
                print(f"  {name}: {statistics.median(rates[name]):.0f} req/s (spread {spread(rates[name])}), "
                      f"CPU {statistics.median(costs[name]):.0f} us/req{against}", flush=True)


for part in PARTS:
    with temporary_folder() as folder:
        os.makedirs(f"{folder}/repository")
        {"cold": cold, "restart": restart, "large": large, "gzip": gzip_variant}[part](folder)

#!/usr/bin/env python3
"""repository_benchmark.py AWD [PART...]: the TokenScript repository's own costs. Parts, all without any:
  cold     a first index of 1,000 signed files against `xmlsec1 --verify`, file by file on all cores
  restart  a start over 10,000 files that are known already, until the server is ready
  gzip     the gzip variant of a file of 2.4 MB, from one event loop against one nginx worker with gzip_static"""
import gzip, os, re, shutil, signal, socket, statistics, subprocess, sys, tempfile, time, urllib.request

AWD = os.path.abspath(sys.argv[1])
PARTS = sys.argv[2:] or ["cold", "restart", "gzip"]
CORES = os.cpu_count() or 1
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
    """A TokenScript of about so many bytes, of words as they stand in such files."""
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def in_parallel(commands):
    """Runs commands, one a core at a time; gives the seconds until the last one ends."""
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
    """awd over a folder; `with` it runs, and is ready."""

    def __init__(self, folder, settings="", threads=0, cores=None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = f"{folder}/awd.log"
        self.command = (["taskset", "-c", cores] if cores else []) + [AWD, "serve", "--config", f"{folder}/awd.toml"]
        with open(f"{folder}/awd.toml", "w") as file:
            file.write(
                f'[server]\nlisten = ["127.0.0.1:{self.port}"]\nservices = ["tokenscript"]\nthreads = {threads}\n'
                f'data = "{folder}/data"\n[tokenscript]\nrepository = "{folder}/repository"\n{settings}')

    def __enter__(self):
        start = time.monotonic()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command, stderr=log)
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                    assert answer.status == 200
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
        """How many files the log says were looked into that nothing was known of."""
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
    theirs, ours = [], []
    for _ in range(3):
        theirs.append(in_parallel(
            ["xmlsec1", "--verify", "--enabled-key-data", "x509", "--trusted-pem", f"{folder}/certificate.pem", *IDS, file]
            for file in files))
        shutil.rmtree(f"{folder}/data", ignore_errors=True)
        with Server(folder, f'roots = "{folder}/certificate.pem"\ntrust = "require"\n') as server:
            assert (server.served(), server.verified()) == (count, count)
            ours.append(server.seconds)
    middle = statistics.median
    print(f"cold index of {count} signed files: xmlsec1 {middle(theirs):.2f} s, awd {middle(ours):.2f} s from start to ready, "
          f"ratio {statistics.median(t / o for t, o in zip(theirs, ours)):.1f}")


def restart(folder):
    make_key(folder)
    count, distinct = 10_000, 100
    for number in range(distinct):
        with open(f"{folder}/template.xml", "w") as file:
            file.write(script(number, 32_000, SIGNATURE))
        subprocess.run(["xmlsec1", "--sign", "--privkey-pem", f"{folder}/key.pem,{folder}/certificate.pem", "--output",
                        f"{folder}/signed{number}.xml", f"{folder}/template.xml"], check=True, capture_output=True)
    for number in range(count):
        # A comment is not signed: so many files of different bytes from few signatures.
        text = open(f"{folder}/signed{number % distinct}.xml").read().replace("<ts:origins>", f"<!--{number}--><ts:origins>")
        os.makedirs(f"{folder}/repository/{number % 100}", exist_ok=True)
        with open(f"{folder}/repository/{number % 100}/{number}.tsml", "w") as file:
            file.write(text)
    with Server(folder) as server:
        assert server.verified() == count
        first = server.seconds
    again = []
    for _ in range(5):
        with Server(folder) as server:
            assert server.verified() == 0
            again.append(server.seconds)
    print(f"start over {count} files: the first {first:.2f} s; again {statistics.median(again):.2f} s "
          f"(from {min(again):.2f} to {max(again):.2f}) until ready, none verified")


def requests_per_second(url):
    command = ["wrk", "-t1", "-c32", "-d3s", "-H", "Accept-Encoding: gzip", url]
    if CORES > 1:
        command = ["taskset", "-c", f"1-{CORES - 1}"] + command
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in output, output
    return float(output.split("Requests/sec:")[1].split()[0])


def fetch(url):
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.headers.get("Content-Encoding"), answer.read()


def gzip_variant(folder):
    content = script(1, 2_400_000).encode()
    os.makedirs(f"{folder}/www")
    for path in (f"{folder}/repository/a.tsml", f"{folder}/www/a.xml"):
        with open(path, "wb") as file:
            file.write(content)
    os.chmod(folder, 0o755)
    subprocess.run(["gzip", "-9", "-k", f"{folder}/www/a.xml"], check=True)
    port = free_port()
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write(
            f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
            "events { worker_connections 4096; }\n"
            "http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; default_type text/xml;\n"
            "  open_file_cache max=100; open_file_cache_valid 60s; gzip_static on;\n"
            + "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in
                      ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + f"  server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}\n")
    nginx = subprocess.Popen(["taskset", "-c", "0", "nginx", "-p", folder, "-c", f"{folder}/nginx.conf"],
                             stderr=subprocess.DEVNULL)
    try:
        with Server(folder, 'signature = "off"\ntrust = "off"\n', threads=1, cores="0") as server:
            urls = {"nginx": f"http://127.0.0.1:{port}/a.xml", "awd": f"{server.url}/{address(1)}"}
            for _ in range(100):
                if all(fetch(url)[0] == "gzip" for url in urls.values()):
                    break
                time.sleep(0.05)
            sizes = {}
            for name, url in urls.items():
                coding, body = fetch(url)
                assert coding == "gzip" and gzip.decompress(body) == content
                sizes[name] = len(body)
            rates = {"nginx": [], "awd": []}
            for _ in range(5):
                for name, url in urls.items():
                    rates[name].append(requests_per_second(url))
            ratio = statistics.median(a / n for a, n in zip(rates["awd"], rates["nginx"]))
            print(f"gzip variant of {len(content)} bytes ({sizes['awd']}, nginx {sizes['nginx']}): "
                  f"nginx {statistics.median(rates['nginx']):.0f} req/s, awd {statistics.median(rates['awd']):.0f} req/s, "
                  f"ratio {ratio:.2f}")
    finally:
        nginx.send_signal(signal.SIGTERM)
        nginx.wait(15)


for part in PARTS:
    folder = tempfile.mkdtemp(prefix="awd-benchmark-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        os.makedirs(f"{folder}/repository")
        {"cold": cold, "restart": restart, "gzip": gzip_variant}[part](folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

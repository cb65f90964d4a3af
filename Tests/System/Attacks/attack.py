"""What the scripts beside this file share: a server under attack, a bystander who keeps asking it, and a verdict.

A script is run as `python3 Tests/System/Attacks/NAME.py PATH-OF-AWD`. It starts a Server, lets a Canary ask it from 127.0.0.2
while attackers at 127.0.0.3 and beyond do their worst, and ends with `verdict`, which prints one line. It takes no longer
than half a minute.
"""

import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

CANARY = "127.0.0.2"
ATTACKER = "127.0.0.3"
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


class Response:
    """A response with its status, its fields by their names in lower case, and its body."""

    def __init__(self, status: int, fields: dict[str, str], body: bytes):
        self.status, self.fields, self.body = status, fields, body


class Server:
    """A running awd with data of its own in a temporary folder, which is removed at the end of a `with` block.

    `toml` is the configuration; `listen` and `data` are given in the environment, and the port is a free one. Services
    that the text doesn't name are on. `files` holds further files of the folder, by their paths in it.
    """

    def __init__(self, toml: str = "", program: str | None = None, files: dict[str, bytes] | None = None):
        self.program = os.path.abspath(program or sys.argv[1])
        self.folder = tempfile.mkdtemp(prefix="awd-attack-")
        self.data = os.path.join(self.folder, "data")
        self.log_path = os.path.join(self.folder, "log")
        self.configuration = os.path.join(self.folder, "awd.toml")
        self.port = 0
        self.process: subprocess.Popen | None = None
        pathlib.Path(self.configuration).write_text(toml)
        for name, content in (files or {}).items():
            path = pathlib.Path(self.folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def __enter__(self) -> "Server":
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "AWD_SERVER_LISTEN": f"127.0.0.1:{self.port}", "AWD_SERVER_DATA": self.data}

    def command(self) -> list[str]:
        """A command that the program is started by, for scripts that need another surrounding."""
        return []

    def start(self, within: float = 20):
        """Starts the program, and waits until it is ready. A second start has the data and the port of the first."""
        if not self.port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self.command(), self.program, "serve", "--config", self.configuration], env=self.environment,
                stdout=subprocess.DEVNULL, stderr=log, cwd=self.folder)
        end = time.monotonic() + within
        while True:
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit(f"awd does not get ready:\n{self.log[-2000:]}")
            try:
                if self.get("/readyz").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)

    def stop(self) -> int:
        """Stops the program with SIGTERM, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(12)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def run(self, *words: str, input: bytes = b"") -> subprocess.CompletedProcess:
        """Runs another command of the program on the same configuration."""
        return subprocess.run([self.program, *words, "--config", self.configuration], env=self.environment,
                              cwd=self.folder, input=input, capture_output=True, timeout=60)

    # What the program takes

    @property
    def log(self) -> str:
        return pathlib.Path(self.log_path).read_text(errors="replace")

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def pids(self) -> list[int]:
        """The program and the processes that it has started."""
        parents = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    text = pathlib.Path("/proc", name, "stat").read_text()
                except OSError:
                    continue
                parents[int(name)] = int(text.rpartition(")")[2].split()[1])
        found = [self.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    @property
    def rss(self) -> int:
        """The resident memory in bytes, with that of child processes."""
        return sum(int(text.split()[1]) for text in self._read("statm")) * PAGE

    @property
    def cpu(self) -> float:
        """The seconds of CPU time that were used, with those of child processes."""
        fields = [text.rpartition(")")[2].split() for text in self._read("stat")]
        return sum(int(field) for each in fields for field in each[11:15]) / TICKS

    @property
    def disk(self) -> int:
        """The bytes of all files in the data folder."""
        total = 0
        for folder, _, names in os.walk(self.data):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size
                except OSError:
                    pass
        return total

    def _read(self, name: str) -> list[str]:
        texts = []
        for pid in self.pids:
            try:
                texts.append(pathlib.Path("/proc", str(pid), name).read_text())
            except OSError:
                pass
        return texts

    # Requests

    def connect(self, source: str = ATTACKER, timeout: float = 5) -> socket.socket:
        """Opens a connection from an address of this machine's loopback."""
        return socket.create_connection(("127.0.0.1", self.port), timeout, (source, 0))

    def request(self, method: str, path: str, body: bytes = b"", fields: dict[str, str] | None = None,
                source: str = ATTACKER, timeout: float = 5) -> Response:
        """Sends one request over a connection of its own, and reads the response to the end."""
        all_fields = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", **(fields or {})}
        if body or method in ("POST", "PUT"):
            all_fields["Content-Length"] = str(len(body))
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in all_fields.items())
        end = time.monotonic() + timeout
        with self.connect(source, timeout) as connection:
            connection.sendall(head.encode() + b"\r\n" + body)
            received = bytearray()
            while True:
                connection.settimeout(max(0.001, end - time.monotonic()))
                piece = connection.recv(65536)
                if not piece:
                    break
                received += piece
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        if not lines[0].startswith("HTTP/1.1 "):
            raise ConnectionError("no response")
        pairs = (line.partition(":") for line in lines[1:])
        found = {name.lower(): value.strip() for name, _, value in pairs}
        return Response(int(lines[0].split()[1]), found, body)

    def get(self, path: str, **arguments) -> Response:
        return self.request("GET", path, **arguments)

    def metric(self, name: str) -> float:
        """Returns the sum of a metric's series."""
        lines = self.get("/metrics", source="127.0.0.1").body.decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if re.split(r"[{ ]", line)[0] == name)


class Canary(threading.Thread):
    """A bystander at 127.0.0.2 who asks every 100 ms, over a new connection each time, until the `with` block ends.

    `call` takes nothing, and raises an error or returns false if the server didn't serve; a text is a path that must be
    answered with 200. A request that takes longer than 5 s has failed.
    """

    def __init__(self, server: Server, call="/healthz", interval: float = 0.1):
        super().__init__(daemon=True)
        self.server, self.interval = server, interval
        self.call = call if callable(call) else lambda: server.get(call, source=CANARY).status == 200
        self.times: list[float] = []
        self.failures = 0
        self.problem = ""
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            start = time.monotonic()
            try:
                if self.call() is False:
                    raise ConnectionError("not served")
            except Exception as error:
                self.failures += 1
                self.problem = self.problem or f"{type(error).__name__}: {error}"
            took = time.monotonic() - start
            self.times.append(took)
            self.is_over.wait(max(0, self.interval - took))

    def __enter__(self) -> "Canary":
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join(10)

    def quantile(self, share: float) -> float:
        times = sorted(self.times)
        return times[min(len(times) - 1, int(len(times) * share))] if times else float("inf")

    @property
    def p99(self) -> float:
        return self.quantile(0.99)

    @property
    def calls(self) -> int:
        return len(self.times)


def attack(bodies, seconds: float):
    """Runs functions on threads of their own, each over and over for some seconds. Their errors are part of the attack."""
    end = time.monotonic() + seconds

    def repeat(body):
        while time.monotonic() < end:
            try:
                body()
            except (OSError, ValueError):
                time.sleep(0.01)

    threads = [threading.Thread(target=repeat, args=(body,), daemon=True) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 10)


def attack_apart(bodies, seconds: float):
    """As `attack`, in a process of its own that gives way, so that the bystander doesn't wait for the attackers' Python."""
    def run():
        os.nice(19)
        attack(bodies, seconds)

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    process.join(seconds + 2)
    process.kill()


def verdict(name: str, canary: Canary | None = None, **bounds):
    """Prints `PASS name: figures` or `FAIL name: figures`, and ends the script with 0 or 1.

    A bound is `figure=(value, most)`, `figure=(least, value, most)` with None for no bound, or `figure=true or false`. A
    canary must not fail, and its p99 must be 250 ms at most.
    """
    if canary:
        bounds = {"failures": (canary.failures, 0), "p99_ms": (round(canary.p99 * 1000), 250), **bounds}
    is_passed = True
    figures = [f"calls={canary.calls}"] if canary else []
    for figure, bound in bounds.items():
        if isinstance(bound, tuple):
            least, value, most = bound if len(bound) == 3 else (None, *bound)
            holds = (least is None or value >= least) and (most is None or value <= most)
            limits = ([f">= {least}"] if least is not None else []) + ([f"<= {most}"] if most is not None else [])
            text = f"{figure}={round(value, 3) if isinstance(value, float) else value}"
            figures.append(text if holds else f"{text} (not {' and '.join(limits)})")
        else:
            holds = bool(bound)
            figures.append(f"{figure}={'yes' if holds else 'NO'}")
        is_passed = is_passed and holds
    if canary and canary.problem:
        figures.append(f"first failure: {canary.problem}")
    print(f"{'PASS' if is_passed else 'FAIL'} {name}: {', '.join(figures)}", flush=True)
    sys.exit(0 if is_passed else 1)

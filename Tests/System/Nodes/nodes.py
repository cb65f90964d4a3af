"""What the tests of several nodes share: a PostgreSQL server of their own, and awd processes over one database.

Everything lies in a temporary folder, on Unix sockets and ports of 127.0.0.1, and ends with the test, however that ends.
"""

import atexit
import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

FOLDER = pathlib.Path(__file__).resolve().parent
GUIDE = FOLDER.parents[2] / "Sources/awd/awd.docc/SeveralNodes.md"
PASSWORD = "only-for-tests"
IS_ROOT = os.geteuid() == 0


class Broken(Exception):
    """A rule that doesn't hold, in words."""


def temporary_folder() -> pathlib.Path:
    """A folder that all users may look into, and that is removed at the end."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="awd-nodes-"))
    folder.chmod(0o755)
    if not os.environ.get("AWD_TEST_KEEP"):
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # A signal ends the program by way of what is registered.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))
    return folder


def free_port() -> tuple[int, socket.socket]:
    """A port that the system gives to nobody else as long as its socket is kept."""
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    return keeper.getsockname()[1], keeper


def bound_to_this(signal_name: str) -> list[str]:
    """What stands in front of a command that gets a signal when this process ends, even by SIGKILL.

    The main thread has to start it: the system watches that thread.
    """
    return ["setpriv", "--pdeathsig", signal_name]


def wait_until(condition, what: str, seconds: float = 60):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise Broken(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)
    return result


def run(arguments: list, **options) -> str:
    """Runs a program, which must succeed, and gives what it says."""
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise Broken(f"{arguments[0]} failed: {done.stderr.strip()[-1000:]}")
    return done.stdout.strip()


# MARK: PostgreSQL


def programs() -> pathlib.Path:
    versions = [int(path.name) for path in pathlib.Path("/usr/lib/postgresql").glob("[0-9]*")]
    if not versions:
        sys.exit("PostgreSQL isn't installed; `make test-deps` installs it")
    return pathlib.Path(f"/usr/lib/postgresql/{max(versions)}/bin")


def owner() -> list[str]:
    """The words of setpriv that make a program another user's, as PostgreSQL doesn't run as root."""
    if not IS_ROOT:
        return []
    user = pwd.getpwnam("postgres")
    return ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]


class Cable:
    """A network with this machine at the one end and two servers at the other, which can be pulled out; for root.

    Nobody is told then: what is sent is lost, and nothing is closed.
    """

    HERE, THERE, BESIDE = "10.213.77.1", "10.213.77.2", "10.213.77.3"

    def __init__(self):
        self.name = f"awd{os.getpid() % 1_000_000}"
        atexit.register(self.remove)
        run(["ip", "netns", "add", self.name])
        run(["ip", "link", "add", self.name, "type", "veth", "peer", "name", "server", "netns", self.name])
        for words in (["address", "add", f"{self.HERE}/29", "dev", self.name], ["link", "set", self.name, "up"]):
            run(["ip", *words])
        for words in (["link", "set", "lo", "up"], ["address", "add", f"{self.THERE}/29", "dev", "server"],
                      ["address", "add", f"{self.BESIDE}/29", "dev", "server"]):
            self.at_the_server(*words)
        self.put_in()

    def at_the_server(self, *words: str):
        run(["ip", "-n", self.name, *words])

    def pull_out(self):
        self.at_the_server("link", "set", "server", "down")

    def put_in(self):
        self.at_the_server("link", "set", "server", "up")

    def remove(self):
        # The other end goes with the namespace, and this one with it, once the server has ended.
        subprocess.run(["ip", "link", "delete", self.name], capture_output=True)
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)


class PostgreSQL:
    """A server with a socket in a folder, and no port. The superuser is `awd`, without a password."""

    def __init__(self, folder: pathlib.Path, name: str = "postgresql", settings: dict | None = None,
                 small_disk: int | None = None, cable: Cable | None = None, address: str = Cable.THERE):
        """With `small_disk`, all of it lies on a disk in memory of so many MiB, which only the server sees; for root.

        With `cable`, it listens at an address at the other end of that.
        """
        self.cable = cable
        self.folder = folder / name
        self.host = address if cable else self.folder
        if cable:
            settings = {"listen_addresses": address, **(settings or {})}
        self.folder.mkdir()
        self.settings = {"listen_addresses": "", "unix_socket_directories": self.folder, "max_connections": "100",
                         "shared_buffers": "64MB", "log_min_messages": "log", **(settings or {})}
        self.process: subprocess.Popen | None = None
        self.keeper: subprocess.Popen | None = None
        self.data = self.folder / "data"
        if IS_ROOT:
            shutil.chown(self.folder, "postgres", "postgres")
        if small_disk:
            self.data.mkdir()
            # The disk is there as long as this process.
            self.keeper = subprocess.Popen(
                [*bound_to_this("KILL"), "unshare", "-m", "sh", "-c",
                 f"mount -t tmpfs -o size={small_disk}m tmpfs {self.data} && chown postgres: {self.data} && echo && exec sleep 1d"],
                stdout=subprocess.PIPE)
            self.keeper.stdout.readline()
        atexit.register(self.remove)

    @property
    def around(self) -> list[str]:
        if self.cable:
            return ["ip", "netns", "exec", self.cable.name]
        return ["nsenter", "-m", "-t", str(self.keeper.pid)] if self.keeper else []

    def make(self, segment: int = 1):
        """Makes the files of an empty server, with so many MiB in each of its log."""
        run([*self.around, "setpriv", *owner(), programs() / "initdb", "-D", self.data, "-U", "awd", "-A", "trust", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-sync", f"--wal-segsize={segment}"], cwd=self.folder)
        rules = "local all locked scram-sha-256\nlocal all all trust\nlocal replication all trust\n" \
                "hostssl all all 127.0.0.0/8 trust\nhost all all samenet trust\n"
        run([*self.around, "tee", self.data / "pg_hba.conf"], input=rules)

    def copy(self, primary: "PostgreSQL", slot: str):
        """Makes a standby of a running server, in place of whatever it was before."""
        shutil.rmtree(self.data, ignore_errors=True)
        run(["setpriv", *owner(), programs() / "pg_basebackup", "-h", primary.folder, "-U", "awd", "-D", self.data, "-R", "-C",
             "-S", slot, "-c", "fast"], cwd=self.folder)
        # A former standby's file has the lines of its own time in front, and the last one counts.
        text = (self.data / "postgresql.auto.conf").read_text()
        (self.data / "postgresql.auto.conf").write_text(
            re.sub(r"(primary_conninfo = ')", rf"\1application_name={slot} ", text))

    def promote(self):
        """Makes a primary of a standby, as soon as it takes writes."""
        run(["setpriv", *owner(), programs() / "pg_ctl", "promote", "-s", "-D", self.data])

    def begin(self):
        """Starts the server, and doesn't wait until it takes connections."""
        options = [word for key, value in self.settings.items() for word in ("-c", f"{key}={value}")]
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [*self.around, *bound_to_this("QUIT"), *owner(), programs() / "postgres", "-D", self.data, *options],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def is_ready(self) -> bool:
        if self.process.poll() is not None:
            raise Broken(f"PostgreSQL has ended:\n{(self.folder / 'log').read_text()[-2000:]}")
        return subprocess.run([programs() / "pg_isready", "-q", "-h", self.folder]).returncode == 0

    def start(self):
        self.begin()
        wait_until(self.is_ready, "PostgreSQL's start")

    def end(self, how: signal.Signals = signal.SIGQUIT):
        """Stops the server: SIGQUIT is as if the power had gone, SIGINT orderly."""
        if self.process and self.process.poll() is None:
            # With nsenter in front, too, it has the same number.
            self.process.send_signal(how)
            self.process.wait(60)

    def processes(self) -> list[int]:
        """The server, and its processes for each connection."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def remove(self):
        with contextlib.suppress(Exception):
            self.end()
        if self.keeper:
            self.keeper.kill()
            self.keeper.wait()

    def query(self, sql: str, database: str = "postgres") -> str:
        return run([programs() / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "awd", "-c", sql, database])

    def make_database(self, name: str, options: str = ""):
        self.query(f"CREATE DATABASE {name} TEMPLATE template0 {options}")

    def url(self, database: str, user: str = "awd", more: str = "") -> str:
        return f"postgresql://{user}@/{database}?host={self.host}{more}"


# MARK: awd


SERVICES = """
[apptimist]
queue_messages = 10000000
queue_size = "1GiB"
forum_posts_size = "1GiB"

[msgr]
messages_per_minute = 1000000000
registrations_per_minute = 1000000000
registrations_per_day = 1000000000
inbox_messages = 1000000
password_memory = "8KiB"
password_passes = 1
"""


class Node:
    """One awd process, which can be started again at the same address."""

    def __init__(self, program: str, folder: pathlib.Path, url: str, name: str, server: str = "", services: str = SERVICES,
                 data: str = "data", connections: int = 4, environment: dict | None = None):
        self.program, self.name = program, name
        self.port, self.port_keeper = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.file = folder / f"{name}.toml"
        self.log = folder / f"{name}.log"
        # awd takes each variable of its own name for a key.
        own = {name: value for name, value in os.environ.items() if not name.startswith("AWD_")}
        self.environment = {**own, **(environment or {})}
        self.process: subprocess.Popen | None = None
        names = ["apptimist", "msgr", *(["tokenscript"] if "[tokenscript" in services else [])]
        self.file.write_text(
            f'[server]\nlisten = ["127.0.0.1:{self.port}"]\nservices = {json.dumps(names)}\ndata = "{folder}/{data}"\n'
            f'node = "{name}"\n{server}\n[store]\nurl = "{url}"\nconnections = {connections}\n'
            f'{services}')
        atexit.register(self.kill)

    def begin(self, *words: str):
        """Starts the program with these words of the command line, too, and doesn't wait until it serves."""
        log = open(self.log, "ab")
        self.process = subprocess.Popen(
            [*bound_to_this("KILL"), self.program, "serve", "--config", self.file, *words],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        self.began = time.monotonic()
        log.close()

    def start(self, *words: str):
        self.begin(*words)
        wait_until(self.is_ready, f"{self.name}'s start")

    def status(self, path: str = "/readyz", seconds: float = 10) -> int:
        """The status of a page, or 0 if nobody answers."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=seconds) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def is_ready(self) -> bool:
        if self.process.poll() is not None:
            raise Broken(f"{self.name} ended with {self.process.returncode}:\n{self.said()}")
        return self.status() == 200

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def said(self) -> str:
        return self.log.read_text()[-3000:]

    def refused(self, seconds: float = 60) -> tuple[int, str]:
        """Starts the program, which must end by itself. Gives its exit code, and what it says."""
        start = self.log.stat().st_size if self.log.exists() else 0
        self.begin()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken(f"{self.name} doesn't end by itself:\n{self.said()}") from None
        return code, self.log.read_bytes()[start:].decode()

    def stop(self, seconds: float = 20):
        """Stops the program as a service manager does."""
        self.process.terminate()
        code = self.process.wait(seconds)
        if code != 0:
            raise Broken(f"{self.name}: exit code {code} after SIGTERM:\n{self.said()}")

    def kill(self):
        if self.is_running:
            self.process.kill()
            self.process.wait()


def cluster(program: str, count: int, settings: dict | None = None, **options) -> tuple[PostgreSQL, list[Node]]:
    """A server with a database, and nodes that have been started at once over it."""
    folder = temporary_folder()
    database = PostgreSQL(folder, settings=settings)
    database.make()
    database.start()
    database.make_database("n")
    return database, nodes_over(database.url("n"), program, folder, count, **options)


def cluster_of_two(program: str, count: int, **options) -> tuple[PostgreSQL, PostgreSQL, list[Node]]:
    """The same with a place for a second server, which the nodes know. For root, both lie behind a cable."""
    folder = temporary_folder()
    cable = Cable() if IS_ROOT else None
    servers = [PostgreSQL(folder, name, cable=cable, address=address)
               for name, address in (("postgresql-a", Cable.THERE), ("postgresql-b", Cable.BESIDE))]
    servers[0].make()
    servers[0].start()
    servers[0].make_database("n")
    url = f"postgresql://awd@/n?host={servers[0].host},{servers[1].host}&target_session_attrs=read-write"
    return *servers, nodes_over(url, program, folder, count, **options)


def nodes_over(url: str, program: str, folder: pathlib.Path, count: int, **options) -> list[Node]:
    nodes = [Node(program, folder, url, f"n{number + 1}", **options) for number in range(count)]
    start_all(nodes)
    return nodes


def start_all(nodes: list[Node]):
    """Starts nodes over one folder of keys. The first one makes these, as the guide says; the others come at once."""
    nodes[0].start()
    for node in nodes[1:]:
        node.begin()
    for node in nodes[1:]:
        wait_until(node.is_ready, f"{node.name}'s start")


def main(test):
    """Runs a test by its command line. A rule that doesn't hold is told, and the exit code is 1."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(sys.modules["__main__"].__doc__)
    try:
        test(str(pathlib.Path(arguments[0]).resolve()), *arguments[1:])
    except Broken as broken:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {broken}")

"""Nodes of awd that share a database and their keys."""
import asyncio, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).parents[1] / "ApptimistTests" / "Python"))

from apptimist_device import Missing, Service, http
from apptimist_server import kept_port

# All clients are at one address, which may have all that there is.
SETTINGS = """
[apptimist]
refusal_min = "0s"
refusal_max = "0s"
queue_messages = 1000000
queue_size = "64GiB"
messages_size_per_address = "1TiB"
forum_posts_size = "1TiB"
unauthenticated_sessions_per_address = 2048
[msgr]
password_memory = "8KiB"
inbox_messages = 1000000
messages_per_minute = 1000000
registrations_per_minute = 100000
registrations_per_day = 100000
push = "log"
"""


class Node:
    """One process, which can be killed and started again at the same address."""

    def __init__(self, awd, folder, name, url, settings=SETTINGS, server="", environment=None):
        self.awd, self.name, self.environment = awd, name, environment
        self.keeper = kept_port()
        self.port = self.keeper.getsockname()[1]
        self.log = pathlib.Path(folder) / f"{name}.log"
        self.configuration = pathlib.Path(folder) / f"{name}.toml"
        self.configuration.write_text(
            f'[server]\nlisten = ["127.0.0.1:{self.port}"]\nservices = ["msgr", "apptimist"]\n'
            f'data = "data"\nnode = "{name}"\n{server}\n[store]\nurl = "{url}"\n[log]\nlevel = "info"\n{settings}')
        self.process = None

    async def start(self, ready=True):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.awd, "serve", "--config", str(self.configuration)], stdout=log, stderr=log,
                env={**os.environ, **(self.environment or {})})
        if ready:
            await self.ready()
        return self

    async def ready(self):
        for _ in range(1200):
            if self.process.poll() is not None:
                break
            try:
                status, _, _ = await http(
                    "127.0.0.1", self.port, b"GET /readyz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                if status == 200:
                    self.service = await Service.at(f"ws://127.0.0.1:{self.port}/siren")
                    return self
            except (OSError, asyncio.IncompleteReadError, Missing):
                pass
            await asyncio.sleep(0.05)
        raise Missing(f"{self.name} doesn't start:\n{self.log.read_text()[-2000:]}")

    def end(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)


class Cluster:
    """Some nodes, as an asynchronous context."""

    def __init__(self, awd, url, count, **options):
        self.folder = tempfile.mkdtemp(prefix="awd-nodes-")
        self.nodes = [Node(awd, self.folder, f"node-{number + 1}", url, **options) for number in range(count)]

    async def __aenter__(self):
        for node in self.nodes:
            await node.start()
        return self

    async def __aexit__(self, *_):
        for node in self.nodes:
            node.end(signal.SIGKILL)
            node.keeper.close()
        shutil.rmtree(self.folder, ignore_errors=True)

"""How quickly nodes do what clients wait for: messages from each node to each other one, pushes, publications, logins, readiness.

After a fault nothing may stay slower than before: a message that comes by looking alone takes seconds.
"""

import asyncio
import contextlib
import itertools
import json
import os
import re
import statistics
import time

import websockets

from load import FAILURES, Device, Identity, Service, ask
from nodes import PASSWORD, SERVICES, Broken, Node, run

# The services with pushes that can be looked at, and a repository in which anybody publishes.
LOGGED = SERVICES + 'push = "log"\ndebug_pushes = true\n\n[tokenscript.publish]\npolicy = "open"\n'
# Seconds until all is quick again, those that half of the messages may take, and those that anything else may.
RECOVERY, MESSAGE, OTHER = 15, 0.25, 2
PROBES = 5


class Slow(Exception):
    """What isn't quick, in words."""


class Pace:
    def __init__(self, nodes: list[Node]):
        self.nodes = nodes
        self.number = itertools.count()
        self.tokens: dict[str, str] = {}
        self.service: Service | None = None
        self.folder = nodes[0].file.parent
        self.users = {node.name: Identity(f"pace-{node.name}") for node in nodes}

    async def prepare(self):
        for name, device in [*((f"pace-{node.name}", f"stream:device-of-{node.name}") for node in self.nodes),
                             ("pace-sender", os.urandom(32).hex()), ("pace-phone", os.urandom(32).hex())]:
            body = {"Username": name, "Password": PASSWORD, "DeviceID": device}
            status, answer = await ask(self.nodes[0].url, "POST", "/register", body)
            if status != 200:
                raise Broken(f"/register: {status} {answer.decode()}")
            self.tokens[name] = json.loads(answer)["Token"]
        document = json.loads((await ask(self.nodes[0].url, "GET", "/siren/service.json"))[1])
        keys = [bytes.fromhex(document[name]) for name in ("encryptionKey", "authenticationKey", "signature")]
        self.service = Service("", *keys, document)

    async def check(self, what: str) -> float:
        """Measures until all is quick, and gives the seconds that this took.

        Raises Broken if something is still slow after RECOVERY seconds.
        """
        start = time.monotonic()
        while True:
            try:
                await self.measure()
                return time.monotonic() - start
            except (Slow, *FAILURES) as slow:
                if time.monotonic() - start > RECOVERY:
                    raise Broken(f"{RECOVERY} s after {what}: {slow!r}") from None
            await asyncio.sleep(0.2)

    async def measure(self):
        for node in self.nodes:
            await self.quick(f"/readyz of {node.name}", self.ready(node))
            await self.quick(f"a login at {node.name}", self.login(node))
        await self.quick("a push", self.push())
        await self.publish()
        for here, there in itertools.permutations(self.nodes, 2):
            for service in (self.msgr, self.apptimist):
                times = await service(here, there)
                if (median := statistics.median(times)) > MESSAGE:
                    raise Slow(f"{service.__name__} from {here.name} to {there.name}: {median:.2f} s")

    async def quick(self, what: str, doing):
        start = time.monotonic()
        await asyncio.wait_for(doing, OTHER)
        if time.monotonic() - start > OTHER:
            raise Slow(f"{what}: {time.monotonic() - start:.2f} s")

    async def ask(self, node: Node, method: str, path: str, body: dict | None = None, user: str | None = None) -> bytes:
        status, answer = await ask(node.url, method, path, body, self.tokens.get(user or ""))
        if status != 200:
            raise Slow(f"{path} of {node.name}: {status}")
        return answer

    async def ready(self, node: Node):
        await self.ask(node, "GET", "/readyz")

    async def login(self, node: Node):
        await self.ask(node, "POST", "/login", {"Username": "pace-sender", "Password": PASSWORD,
                                                "DeviceID": f"stream:login-at-{node.name}"})

    async def send(self, node: Node, user: str) -> str:
        text = f"pace {next(self.number)} {os.urandom(8).hex()}"
        await self.ask(node, "POST", "/message", {"UserTo": user, "Message": text}, "pace-sender")
        return text

    async def push(self):
        text = await self.send(self.nodes[0], "pace-phone")
        while not any([text.encode() in await self.ask(node, "GET", "/debug/pushes") for node in self.nodes]):
            await asyncio.sleep(0.02)

    async def publish(self):
        """Publishes a file at one node, which has to be served by all."""
        number, contract = next(self.number), "0x" + os.urandom(20).hex()
        file, key = self.folder / f"{number}.tsml", self.folder / "publisher.pem"
        program = self.nodes[0].program
        # A key may have so many files.
        await asyncio.to_thread(run, ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key])
        await asyncio.to_thread(run, [program, "repo", "new", "--contract", contract, file])
        await asyncio.to_thread(run, [program, "repo", "sign", "--key", key, file])
        content = file.read_bytes()
        version = re.search(rb"http://tokenscript.org/([0-9]+/[0-9]+)/tokenscript", content)[1].decode()
        file.unlink()
        node = self.nodes[number % len(self.nodes)]
        # From a network of its own, as each may publish so many files.
        status, answer = await ask(node.url, "PUT", f"/{version}/chain/1/{contract}", content,
                                   source=f"127.{number // 250 % 250}.{number % 250}.77")
        if status != 201:
            raise Slow(f"a publication at {node.name}: {status} {answer[:200]}")
        for other in self.nodes:
            await self.quick(f"a publication at {node.name} is served by {other.name}",
                             self.served(other, f"/{version}/{contract}"))

    async def served(self, node: Node, path: str):
        while (await ask(node.url, "GET", path))[0] != 200:
            await asyncio.sleep(0.02)

    async def msgr(self, here: Node, there: Node) -> list[float]:
        user = f"pace-{there.name}"
        async with websockets.connect(
                "ws" + there.url.removeprefix("http") + "/stream", compression=None, ping_interval=None, open_timeout=OTHER,
                close_timeout=1, extra_headers={"Authorization": f"Bearer {self.tokens[user]}"}) as socket:
            times = []
            for _ in range(PROBES):
                start = time.monotonic()
                text = await self.send(here, user)
                while json.loads(await asyncio.wait_for(socket.recv(), OTHER)).get("Message") != text:
                    pass
                times.append(time.monotonic() - start)
            return times

    async def apptimist(self, here: Node, there: Node) -> list[float]:
        sender, reader = self.users[here.name], self.users[there.name]
        async with contextlib.AsyncExitStack() as stack:
            devices = []
            for node, user in ((here, sender), (there, reader)):
                device = await Device.connect(self.service, url="ws" + node.url.removeprefix("http") + "/siren")
                stack.push_async_callback(device.close)
                await device.new(user, uid=user.name)
                await device.login(user, max=1)
                await device.barrier()
                devices.append(device)
            # What came before is of no matter.
            with contextlib.suppress(Exception):
                while True:
                    await asyncio.wait_for(devices[1].stream(1), 0.1)
            times = []
            for _ in range(PROBES):
                start = time.monotonic()
                await devices[0].message(reader.key, os.urandom(16))
                await devices[1].stream(OTHER)
                times.append(time.monotonic() - start)
            return times

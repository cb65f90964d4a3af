"""Clients that write to several nodes and read from them, and know what must be there at the end.

Apptimist: writers send messages and post to forums, and send anew what no answer shows to be done; readers stream. Msgr:
writers send by HTTP with a `ClientId`; readers stream. Each connection goes to a node of its own choice, and a broken one is
followed by one to any node.
"""

import asyncio
import contextlib
import json
import logging
import os
import pathlib
import random
import ssl
import sys
import time
import urllib.parse

os.environ.setdefault("APPTIMIST_PATIENCE", "20")
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "ApptimistTests" / "Python"))

import websockets  # noqa: E402
from apptimist_device import Closed, Device, Identity, Missing, Service, wire  # noqa: E402
from nodes import PASSWORD, Broken, Node  # noqa: E402

FAILURES = (Closed, Missing, OSError, EOFError, asyncio.TimeoutError, websockets.WebSocketException, wire.ProtocolError)
FIRST = "0" * 16
# The seconds that a request may take, and those that all that is unfinished may take at the end.
PATIENCE, GRACE = 20, 120


def complete(test):
    """Runs a test's coroutine to its end.

    `asyncio.run` would wait for all clients after a failure, and what they wait for may take their cancellation from them.
    """
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(test)


async def ask(base: str, method: str, path: str, body: dict | bytes | None = None, token: str | None = None,
              source: str | None = None) -> tuple[int, bytes]:
    """One request on a connection of its own: status and body. EOFError if the answer isn't whole."""
    parts = urllib.parse.urlsplit(base)
    if body is None:
        content = b""
    else:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    context = ssl.create_default_context() if parts.scheme == "https" else None

    async def exchange() -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port, ssl=context, local_addr=(source, 0) if source else None)
        try:
            writer.write(head.encode() + b"\r\n" + content)
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            if "content-length" in fields:
                answer = await reader.readexactly(int(fields["content-length"]))
            else:
                answer = await chunks(reader)
            return int(lines[0].split()[1]), answer
        finally:
            writer.close()
    return await asyncio.wait_for(exchange(), PATIENCE)


async def chunks(reader: asyncio.StreamReader) -> bytes:
    content = b""
    while size := int(await reader.readline() or b"x", 16):
        content += await reader.readexactly(size + 2)
        content = content[:-2]
    return content


class Acknowledgements:
    """Counts what was acknowledged, and finds the longest time in which nothing was."""

    def __init__(self):
        self.count = 0
        self.longest = 0.0
        self.last: float | None = None

    def note(self, count: int = 1):
        now = time.monotonic()
        if self.last is not None:
            self.longest = max(self.longest, now - self.last)
        self.last = now
        self.count += count


class Load:
    """All clients. `bases` are the URLs to choose from, and may change while it runs."""

    def __init__(self, bases: list[str], seed: int, pause: float = 0.05):
        self.bases = bases
        self.chance = random.Random(seed)
        self.pause = pause
        self.is_over = asyncio.Event()
        self.acknowledged = Acknowledgements()
        self.sent = 0
        self.connections = 0  # made anew after one was lost
        self.parts = [Apptimist(self), Msgr(self)]
        self.writers: list[asyncio.Task] = []
        self.readers: list[asyncio.Task] = []

    def base(self) -> str:
        return self.chance.choice(self.bases)

    async def rest(self):
        await asyncio.sleep(self.chance.uniform(0, 2 * self.pause))

    async def begin(self):
        """Makes the accounts, and starts all clients."""
        for part in self.parts:
            await part.prepare()
        for part in self.parts:
            self.readers += [asyncio.create_task(reading) for reading in part.reading()]
            self.writers += [asyncio.create_task(writing) for writing in part.writing()]

    def look(self):
        """Raises what a client has found to be broken."""
        for task in self.writers + self.readers:
            if task.done() and not task.cancelled() and task.exception():
                raise task.exception()

    async def wait(self, seconds: float):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(min(0.2, max(0, end - time.monotonic())))
            self.look()

    async def ready(self, node: Node):
        """Waits for a node that was started, while the clients go on."""
        end = time.monotonic() + 60
        while not await asyncio.to_thread(node.is_ready):
            if time.monotonic() > end:
                raise Broken(f"{node.name} doesn't get ready:\n{node.said()}")
            await self.wait(0.1)

    async def end(self):
        """Lets the writers finish, and checks everything."""
        self.is_over.set()
        await self.finished(self.writers, "the writers are still refused")
        for part in self.parts:
            await part.mark()
        await self.finished(self.readers, "the readers miss something")
        for part in self.parts:
            await part.check()

    async def finished(self, tasks: list[asyncio.Task], failure: str):
        end = time.monotonic() + GRACE
        while not all(task.done() for task in tasks):
            if time.monotonic() > end:
                behind = "; ".join(filter(None, (part.missing() for part in self.parts)))
                raise Broken(f"{failure} {GRACE} s after the end: {behind}")
            await asyncio.sleep(0.1)
            self.look()
        self.look()

    def figures(self) -> str:
        return (f"{self.sent} messages, {self.acknowledged.count} acknowledged, {self.connections} connections anew, "
                f"longest gap {self.acknowledged.longest:.2f} s")


def compare(name: str, seen: list, whole: list, sent: set, acknowledged: dict):
    """Compares what a reader saw with the whole mailbox, and that with what was sent."""
    there = set(whole)
    if len(there) != len(whole):
        raise Broken(f"{name}: {len(whole) - len(there)} messages are there twice")
    missing = [key for key in acknowledged if key not in there]
    if missing:
        raise Broken(f"{name}: {len(missing)} of {len(acknowledged)} acknowledged messages are lost, "
                     f"such as {acknowledged[missing[0]]}")
    if strange := [key for key in whole if key not in sent]:
        raise Broken(f"{name}: {len(strange)} messages are there that nobody sent")
    if seen != whole:
        place = next((number for number, pair in enumerate(zip(seen, whole)) if pair[0] != pair[1]), min(len(seen), len(whole)))
        raise Broken(f"{name}: the reader saw {len(seen)} messages in another order than the {len(whole)} of the mailbox, "
                     f"first at place {place}; {len(there - set(seen))} it never saw, "
                     f"{len(seen) - len(set(seen))} it saw twice")


# MARK: Apptimist


class Mailbox:
    """A user who reads, what was sent there, and what its device saw."""

    def __init__(self, name: str):
        self.user = Identity(name)
        self.sent: set[bytes] = set()
        self.acknowledged: dict[bytes, str] = {}
        self.seen: list[bytes] = []
        self.last: bytes | None = None  # the message that ends it


class Apptimist:
    WRITERS, READERS, FORUMS = 5, 4, 2

    def __init__(self, load: Load):
        self.load = load
        self.mailboxes = [Mailbox(f"reader{number}") for number in range(self.READERS)]
        self.users = [Identity(f"writer{number}") for number in range(self.WRITERS)]
        self.forums: list[tuple[Identity, list[Mailbox]]] = []
        self.service: Service | None = None

    async def prepare(self):
        status, body = await ask(self.load.base(), "GET", "/siren/service.json")
        if status != 200:
            raise Broken(f"service.json: {status}")
        document = json.loads(body)
        keys = [bytes.fromhex(document[name]) for name in ("encryptionKey", "authenticationKey", "signature")]
        self.service = Service("", *keys, document)
        for user in [*(mailbox.user for mailbox in self.mailboxes), *self.users]:
            async with contextlib.AsyncExitStack() as stack:
                device = await self.device(user)
                stack.push_async_callback(device.close)
                await device.barrier()
        author = await self.device(self.users[0])
        for number in range(self.FORUMS):
            forum = Identity(f"forum{number}")
            await author.new(forum)
            # Neighbours share readers, so that their transactions meet.
            readers = [self.mailboxes[(number + step) % self.READERS] for step in range(self.READERS - 1)]
            for name, users in (("subscribers", [reader.user for reader in readers]), ("editors", self.users[1:])):
                answer = await author.write(forum.key, name, b"".join(user.key for user in users))
                if answer.error:
                    raise Broken(f"{name} of a forum: error {answer.error}")
            self.forums.append((forum, readers))
        await author.close()

    async def device(self, user: Identity, head: bytes = bytes(64)) -> Device:
        url = "ws" + self.load.base().removeprefix("http") + "/siren"
        device = await Device.connect(self.service, url=url)
        await device.new(user, uid=user.name)
        await device.login(user, head=head)
        return device

    def writing(self):
        return [self.write(user) for user in self.users]

    def reading(self):
        return [self.read(mailbox) for mailbox in self.mailboxes]

    def message(self, user: Identity, mailbox: Mailbox | None = None) -> tuple[bytes, bytes, list[tuple[Mailbox, bytes]]]:
        """A message to a mailbox, or one to it or a forum: header, eData, and what must arrive where."""
        moment = next(Device.times)
        if mailbox or self.load.chance.random() < 0.7:
            mailbox = mailbox or self.load.chance.choice(self.mailboxes)
            to, mailboxes = mailbox.user.key, [mailbox]
        else:
            forum, mailboxes = self.load.chance.choice(self.forums)
            to = forum.key
        edata = self.service.seal(os.urandom(self.load.chance.choice([10, 100, 1000])), user, to)

        def header(recipient: bytes) -> bytes:
            return wire.encode("message", time=moment, recipientPubEncrKey=recipient, toPubEncrKey=to, fromPubEncrKey=user.key)
        copies = [(mailbox, wire.message_id(header(mailbox.user.key), edata)) for mailbox in mailboxes]
        for mailbox, identifier in copies:
            mailbox.sent.add(identifier)
        self.load.sent += 1
        return header(to), edata, copies

    async def write(self, user: Identity):
        """Sends until it is over, and until all is acknowledged."""
        pending: list = []
        device: Device | None = None
        while pending or not self.load.is_over.is_set():
            try:
                if device is None:
                    device = await self.device(user)
                if not pending:
                    pending = [self.message(user) for _ in range(self.load.chance.randint(1, 6))]
                await self.send(device, pending)
                # A device that doesn't know sends again, on whatever node, and it must not be there twice.
                if self.load.chance.random() < 0.1:
                    await device.send_header(*pending[0][:2])
                pending = []
                await self.load.rest()
                if self.load.chance.random() < 0.02:
                    await device.close()
                    device = None
            except FAILURES:
                await self.closed(device)
                device = None
        if device:
            await device.close()

    async def send(self, device: Device, messages: list):
        for header, edata, _ in messages:
            await device.send_header(header, edata)
        # The answer comes after all that was before it is done.
        await device.barrier()
        for _, _, copies in messages:
            for mailbox, identifier in copies:
                mailbox.acknowledged[identifier] = f"message {identifier.hex()[:16]}"
        self.load.acknowledged.note(len(messages))

    async def closed(self, device: Device | None):
        self.load.connections += 1
        if device:
            with contextlib.suppress(*FAILURES):
                await asyncio.wait_for(device.close(), 1)
        await asyncio.sleep(self.load.chance.uniform(0.02, 0.3))

    async def read(self, mailbox: Mailbox):
        """Streams until the mailbox's end."""
        while mailbox.last is None or mailbox.last not in mailbox.seen[-1:]:
            device = None
            try:
                device = await self.device(mailbox.user, mailbox.seen[-1] if mailbox.seen else bytes(64))
                # Now and then it moves to another node by itself.
                until = time.monotonic() + self.load.chance.expovariate(1 / 20)
                while mailbox.last is None or mailbox.last != mailbox.seen[-1]:
                    # A short wait, so that it sees that the end was named meanwhile.
                    if time.monotonic() > until:
                        break
                    with contextlib.suppress(Missing):
                        mailbox.seen.append((await device.stream(1)).message_id)
                await device.close()
            except FAILURES:
                await self.closed(device)

    async def mark(self):
        """Sends what ends each mailbox."""
        for mailbox in self.mailboxes:
            message = self.message(self.users[0], mailbox)
            device = await self.device(self.users[0])
            await self.send(device, [message])
            await device.close()
            mailbox.last = message[2][0][1]

    def missing(self) -> str:
        return ", ".join(f"{mailbox.user.name} saw {len(mailbox.seen)} of {len(mailbox.sent)}" for mailbox in self.mailboxes
                         if mailbox.last is None or mailbox.last not in mailbox.seen)

    async def check(self):
        """Compares what each reader saw with what a device sees that is new there."""
        for mailbox in self.mailboxes:
            whole: list[bytes] = []
            while mailbox.last not in whole[-1:]:
                device = await self.device(mailbox.user, whole[-1] if whole else bytes(64))
                before = len(whole)
                try:
                    while mailbox.last not in whole[-1:]:
                        whole.append((await device.stream()).message_id)
                except Missing:
                    # A device whose counters are used up, after some 32,000 messages, is redirected.
                    if len(whole) == before:
                        raise
                await device.close()
            compare(f"Apptimist, {mailbox.user.name}", mailbox.seen, whole, mailbox.sent, mailbox.acknowledged)


# MARK: Msgr


class Inbox:
    def __init__(self, name: str):
        self.name = name
        self.token = ""
        self.sent: set[str] = set()
        self.acknowledged: dict[str, str] = {}  # text: Id
        self.seen: list[tuple[str, str]] = []  # Id and text
        self.last: str | None = None


class Msgr:
    WRITERS, READERS = 4, 3

    def __init__(self, load: Load):
        self.load = load
        self.inboxes = [Inbox(f"inbox{number}") for number in range(self.READERS)]
        self.tokens: list[str] = []

    async def prepare(self):
        for inbox in self.inboxes:
            inbox.token = await self.register(inbox.name, f"stream:device-{inbox.name}")
        self.tokens = [await self.register(f"writer{number}", os.urandom(32).hex()) for number in range(self.WRITERS)]

    async def register(self, name: str, device: str) -> str:
        body = {"Username": name, "Password": PASSWORD, "DeviceID": device}
        status, answer = await ask(self.load.base(), "POST", "/register", body)
        if status != 200:
            raise Broken(f"/register: {status} {answer.decode()}")
        return json.loads(answer)["Token"]

    def writing(self):
        return [self.write(number) for number in range(self.WRITERS)]

    def reading(self):
        return [self.read(inbox) for inbox in self.inboxes]

    async def write(self, writer: int):
        number = 0
        while not self.load.is_over.is_set():
            number += 1
            text = f"{writer}-{number}"
            inbox = self.load.chance.choice(self.inboxes)
            await self.send(writer, inbox, text)
            # Who asks again gets the first one's answer, also from another node.
            if self.load.chance.random() < 0.1:
                await self.send(writer, inbox, text)
            await self.load.rest()

    async def send(self, writer: int, inbox: Inbox, text: str):
        """Sends until it is acknowledged."""
        if text not in inbox.sent:
            self.load.sent += 1
        inbox.sent.add(text)
        body = {"UserTo": inbox.name, "Message": text, "ClientId": text}
        while True:
            with contextlib.suppress(*FAILURES):
                status, answer = await ask(self.load.base(), "POST", "/message", body, self.tokens[writer])
                if status == 200:
                    break
                # 502 and 504 are a proxy's.
                if status not in (502, 503, 504):
                    raise Broken(f"/message: {status} {answer.decode()}")
            await asyncio.sleep(self.load.chance.uniform(0.02, 0.3))
        identifier = json.loads(answer)["Id"]
        if (first := inbox.acknowledged.get(text)) is None:
            inbox.acknowledged[text] = identifier
            self.load.acknowledged.note()
        elif first != identifier:
            raise Broken(f"Msgr: the message {text} has the Ids {first} and {identifier}")

    async def read(self, inbox: Inbox):
        while inbox.last is None or inbox.last != (inbox.seen[-1][1] if inbox.seen else None):
            url = "ws" + self.load.base().removeprefix("http") + f"/stream?since={inbox.seen[-1][0] if inbox.seen else FIRST}"
            try:
                async with websockets.connect(
                        url, extra_headers={"Authorization": f"Bearer {inbox.token}"}, compression=None, max_size=None,
                        ping_interval=None, open_timeout=PATIENCE, close_timeout=1) as socket:
                    until = time.monotonic() + self.load.chance.expovariate(1 / 20)
                    while time.monotonic() < until and (inbox.last is None or not inbox.seen or inbox.seen[-1][1] != inbox.last):
                        with contextlib.suppress(asyncio.TimeoutError):
                            entry = json.loads(await asyncio.wait_for(socket.recv(), 1))
                            if "Message" in entry:
                                self.note(inbox, entry)
            except FAILURES:
                self.load.connections += 1
                await asyncio.sleep(self.load.chance.uniform(0.02, 0.3))

    def note(self, inbox: Inbox, entry: dict):
        if inbox.seen and entry["Id"] <= inbox.seen[-1][0]:
            raise Broken(f"Msgr, {inbox.name}: the Id {entry['Id']} came after {inbox.seen[-1][0]}")
        inbox.seen.append((entry["Id"], entry["Message"]))

    async def mark(self):
        for inbox in self.inboxes:
            await self.send(0, inbox, f"end-{inbox.name}")
            inbox.last = f"end-{inbox.name}"

    def missing(self) -> str:
        return ", ".join(f"{inbox.name} saw {len(inbox.seen)} of {len(inbox.sent)}" for inbox in self.inboxes
                         if inbox.last is None or inbox.last not in [text for _, text in inbox.seen])

    async def check(self):
        for inbox in self.inboxes:
            whole: list[tuple[str, str]] = []
            while True:
                status, answer = await ask(self.load.base(), "POST", "/inbox", {"Since": whole[-1][0] if whole else FIRST},
                                           inbox.token)
                if status != 200:
                    raise Broken(f"/inbox: {status} {answer.decode()}")
                page = [(entry["Id"], entry["Message"]) for entry in json.loads(answer)]
                if not page:
                    break
                whole += page
            if [identifier for identifier, _ in whole] != sorted({identifier for identifier, _ in whole}):
                raise Broken(f"Msgr, {inbox.name}: the Ids of /inbox don't ascend")
            compare(f"Msgr, {inbox.name}", [text for _, text in inbox.seen], [text for _, text in whole], inbox.sent,
                    {text: f"message {text}" for text in inbox.acknowledged})
            places = {text: identifier for identifier, text in whole}
            for text, identifier in inbox.acknowledged.items():
                if places[text] != identifier:
                    raise Broken(f"Msgr: {text} was acknowledged as {identifier}, and is {places[text]}")
            if dict(inbox.seen) != dict(whole):
                raise Broken(f"Msgr, {inbox.name}: streams and /inbox know other Ids")

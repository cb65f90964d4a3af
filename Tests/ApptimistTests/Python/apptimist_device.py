"""A device of the Apptimist protocol, independent of the Swift one: PyNaCl and websockets."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import sys
import time
import urllib.parse

import websockets

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).parents[2] / "ApptimistProtocolTests" / "Vectors"))

import apptimist_protocol as wire

# Seconds until something that must come counts as missing.
PATIENCE = float(os.environ.get("APPTIMIST_PATIENCE", 60))


class Identity:
    """A user's or a forum's two key pairs."""

    def __init__(self, name: str = "", secret: bytes | None = None, seed: bytes | None = None):
        self.name = name
        self.secret = secret or os.urandom(32)
        self.seed = seed or os.urandom(32)
        self.key = wire.encryption_public(self.secret)
        self.authentication_key = wire.authentication_public(self.seed)
        self.signature = wire.sign(self.key, self.seed)


class Missing(Exception):
    """Something that must come didn't."""


class Closed(Exception):
    def __init__(self, code: int):
        super().__init__(f"closed with {code}")
        self.code = code


async def http(host: str, port: int, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """One HTTP/1.1 request in raw bytes: status, fields in lower case, what came of the body."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(request)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        lines = head.decode("latin-1").split("\r\n")
        fields = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                fields[name.lower()] = value.strip()
        length = int(fields.get("content-length", "0"))
        body = await asyncio.wait_for(reader.readexactly(length), PATIENCE)
        return int(lines[0].split()[1]), fields, body
    finally:
        writer.close()


def upgrade_request(target: str, *extra: str) -> bytes:
    lines = [f"GET {target} HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket",
             "Connection: Upgrade", "Sec-WebSocket-Version: 13",
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *extra, "", ""]
    return "\r\n".join(lines).encode("latin-1")


@dataclasses.dataclass
class Service:
    """A service's address and the public half of its keys."""

    url: str
    key: bytes
    authentication_key: bytes
    signature: bytes
    document: dict

    @classmethod
    async def at(cls, url: str) -> "Service":
        """Reads `service.json` below the URL `ws://host:port/path`."""
        parts = urllib.parse.urlsplit(url)
        status, _, body = await http(
            parts.hostname, parts.port or 80,
            f"GET {parts.path}/service.json HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            "Connection: close\r\n\r\n".encode())
        if status != 200:
            raise Missing(f"service.json: {status}")
        document = json.loads(body)
        service = cls(url, bytes.fromhex(document["encryptionKey"]),
                      bytes.fromhex(document["authenticationKey"]),
                      bytes.fromhex(document["signature"]), document)
        if not wire.verifies(service.signature, service.key, service.authentication_key):
            raise Missing("service.json: the signature doesn't hold")
        return service

    @property
    def data_nonce(self) -> bytes:
        return self.signature[:24]

    @property
    def host(self) -> str:
        return urllib.parse.urlsplit(self.url).hostname

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.url).port or 80

    @property
    def path(self) -> str:
        return urllib.parse.urlsplit(self.url).path

    def seal(self, data: bytes, sender: Identity, receiver: bytes) -> bytes:
        """eData from a user to any key."""
        return wire.box(data, self.data_nonce, wire.shared_key(receiver, sender.secret))

    def open(self, edata: bytes, receiver: Identity, sender: bytes) -> bytes:
        return wire.unbox(edata, self.data_nonce, wire.shared_key(sender, receiver.secret))


class Received:
    """A PDU as it came: its fields as attributes, the header in clear, eData."""

    def __init__(self, header: bytes, edata: bytes):
        self.header = header
        self.edata = edata
        pdu = wire.decode(header)
        self.type = pdu.type_name
        self.fields = pdu.fields

    def __getattr__(self, field):
        try:
            return self.__dict__["fields"][field]
        except KeyError:
            raise AttributeError(field) from None

    @property
    def message_id(self) -> bytes:
        return wire.message_id(self.header, self.edata)

    @property
    def is_stream(self) -> bool:
        """Messages always; a truncation may be an answer, too."""
        return self.type in ("message", "truncate")

    def __repr__(self):
        return f"{self.type} {self.header[2:10].hex()}… +{len(self.edata)}"


class Device:
    """One connection. Nothing is answered, repeated or judged here: the cases do that."""

    times = itertools.count(1_416_528_000)

    def __init__(self, service: Service, socket, ephemeral: Identity):
        self.service = service
        self.socket = socket
        self.channel = wire.HeaderChannel(ephemeral.secret, ephemeral.key, service.key,
                                          service.data_nonce)
        self.user: Identity | None = None
        self.sent_at = time.monotonic()  # the time at which it began to send its last message
        self.waiting: list[Received] = []  # stream PDUs that came while an answer was awaited

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, service: Service, ephemeral: Identity | None = None,
                        query: str | None = None):
        """A device for the time of a `with` block."""
        device = await cls.connect(service, ephemeral, query)
        try:
            yield device
        finally:
            await device.close()

    @classmethod
    async def connect(cls, service: Service, ephemeral: Identity | None = None,
                      query: str | None = None, url: str | None = None) -> "Device":
        ephemeral = ephemeral or Identity()
        socket = await websockets.connect(
            f"{url or service.url}?{query or ephemeral.key.hex()}", compression=None, max_size=None,
            max_queue=None, ping_interval=None, open_timeout=PATIENCE, close_timeout=5)
        return cls(service, socket, ephemeral)

    async def close(self):
        await self.socket.close()

    # Sending.

    async def send(self, type_name: str, edata: bytes = b"", /, **fields):
        await self.send_header(wire.encode(type_name, **fields), edata)

    async def send_header(self, header: bytes, edata: bytes = b""):
        await self.send_frame(self.channel.seal(header, edata))

    async def send_frame(self, frame: bytes):
        """Sends a binary message, whatever is in it."""
        self.sent_at = time.monotonic()
        await self.socket.send(frame)

    async def new(self, user: Identity, uid: str | bytes = b"", token: str | bytes = b"",
                  name: str | bytes | None = None):
        await self.send("new", pubEncrKey=user.key, pubAuthKey=user.authentication_key,
                        name=user.name if name is None else name, uid=uid, token=token)

    async def login(self, user: Identity, head: bytes = bytes(64), max: int = 0):
        self.user = user
        await self.send("login", userPubEncrKey=user.key, signature=user.signature, max=max,
                        head=head)

    def message_header(self, to: bytes, time: int = 0, **changed) -> bytes:
        return wire.encode("message", **{"time": time, "recipientPubEncrKey": to, "toPubEncrKey": to,
                                         "fromPubEncrKey": self.user.key, **changed})

    async def message(self, to: bytes, data: bytes, time: int | None = None, boxed: bool = True,
                      **changed) -> bytes:
        """Sends a message, gives its messageID. Without a time, no two are the same message."""
        header = self.message_header(to, next(self.times) if time is None else time, **changed)
        edata = self.service.seal(data, self.user, to) if boxed else data
        await self.send_header(header, edata)
        return wire.message_id(header, edata)

    async def write(self, directory: bytes, filename: str | bytes, data: bytes) -> "Received":
        return await self.request("write", self.service.seal(data, self.user, self.service.key),
                                  pubEncrKey=directory, filename=filename)

    async def file(self, what: str, directory: bytes, filename: str | bytes) -> "Received":
        """read, lock or remove."""
        return await self.request(what, pubEncrKey=directory, filename=filename)

    # Receiving.

    async def next(self, timeout: float = PATIENCE) -> Received:
        """The next PDU off the wire."""
        try:
            message = await asyncio.wait_for(self.socket.recv(), timeout)
        except asyncio.TimeoutError:
            raise Missing(f"nothing came for {timeout} s") from None
        except websockets.ConnectionClosed:
            raise Closed(self.socket.close_code) from None
        if isinstance(message, str):
            raise Missing("a text message came")
        return Received(*self.channel.open(message))

    async def stream(self, timeout: float = PATIENCE) -> Received:
        """The next PDU of the stream."""
        if self.waiting:
            return self.waiting.pop(0)
        pdu = await self.next(timeout)
        if not pdu.is_stream:
            raise Missing(f"{pdu} came where the stream was awaited")
        return pdu

    async def answer(self) -> Received:
        """The next PDU that isn't of the stream; what is, waits for `stream`."""
        while True:
            pdu = await self.next()
            if not pdu.is_stream:
                return pdu
            self.waiting.append(pdu)

    async def request(self, type_name: str, edata: bytes = b"", /, **fields) -> Received:
        await self.send(type_name, edata, **fields)
        answer = await self.answer()
        if answer.type != type_name:
            raise Missing(f"{answer} came where {type_name} was awaited")
        return answer

    async def users(self, type_name: str, **fields) -> list[Received]:
        """A search's matches; [] if the answer is the one without a match."""
        await self.send(type_name, **fields)
        found = []
        while True:
            pdu = await self.answer()
            if pdu.type != "user":
                raise Missing(f"{pdu} came where user was awaited")
            if pdu.count == 0 and pdu.pubEncrKey == bytes(32):
                if found or pdu.name or pdu.uid:
                    raise Missing("an empty match behind matches")
                return []
            if found and found[-1].count != pdu.count + 1:
                raise Missing(f"count {found[-1].count} before {pdu.count}")
            found.append(pdu)
            if pdu.count == 0:
                return found

    async def barrier(self):
        """Returns when everything sent before was handled: an answer came that nothing else gives."""
        if await self.users("searchByKey", pubEncrKey=b"\xfe" * 32):
            raise Missing("a match for a key that nobody has")

    async def closed(self, timeout: float = PATIENCE) -> int:
        """The code that the service closes with; what comes before that is an error."""
        try:
            pdu = await self.next(timeout)
        except Closed as closed:
            return closed.code
        raise Missing(f"{pdu} came where a close was awaited")

    def opened(self, pdu: Received, sender: bytes | None = None) -> bytes:
        """The data of a PDU to this user: a message's from its sender, all else from the service."""
        sender = sender or (pdu.fromPubEncrKey if pdu.type == "message" else self.service.key)
        return self.service.open(pdu.edata, self.user, sender)

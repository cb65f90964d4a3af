"""An Apptimist device for attacks: on a blocking socket, from any address, as rude as its user wants."""

import itertools
import json
import os
import pathlib
import sqlite3
import struct
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).parents[3] / "ApptimistProtocolTests" / "Vectors"))

import apptimist_protocol as wire

CONFIGURATION = '[server]\nservices = ["apptimist"]\n[apptimist]\n'


class Service:
    """The public half of a server's keys."""

    def __init__(self, server):
        document = json.loads(server.get("/siren/service.json").body)
        self.server = server
        self.key = bytes.fromhex(document["encryptionKey"])
        self.authentication_key = bytes.fromhex(document["authenticationKey"])
        self.nonce = bytes.fromhex(document["signature"])[:24]


class User:
    """A user's or a forum's key pairs."""

    def __init__(self, name: str = "user"):
        self.name = name
        self.secret, self.seed = os.urandom(32), os.urandom(32)
        self.key = wire.encryption_public(self.secret)
        self.authentication_key = wire.authentication_public(self.seed)
        self.signature = wire.sign(self.key, self.seed)


class Device:
    """One connection."""

    times = itertools.count(1)
    upgrade = ""  # more fields of the upgrade

    def __init__(self, service: Service, user: User, source: str, timeout: float = 10):
        self.service, self.user = service, user
        secret = os.urandom(32)
        key = wire.encryption_public(secret)
        self.socket = service.server.connect(source, timeout)
        self.socket.sendall(
            f"GET /siren?{key.hex()} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"{self.upgrade}\r\n".encode())
        self.received = b""
        head = self.until(lambda data: data.find(b"\r\n\r\n") + 1 and data.find(b"\r\n\r\n") + 4)
        if b" 101 " not in head:
            self.close()
            raise ConnectionError(head.split(b"\r\n")[0].decode())
        self.begin(secret, key)

    def begin(self, secret: bytes, key: bytes):
        self.channel = wire.HeaderChannel(secret, key, self.service.key, self.service.nonce)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Bytes

    def until(self, length) -> bytes:
        """Takes as many bytes as `length` says of what is there, once it says so."""
        while not (count := length(self.received)) or len(self.received) < count:
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionError("the connection ended")
            self.received += piece
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    @staticmethod
    def frame(payload: bytes, opcode: int = 2, length: int | None = None) -> bytes:
        """A masked frame; `length` is what its header says, if that isn't true."""
        size = len(payload) if length is None else length
        if size < 126:
            head = struct.pack(">BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack(">BBH", 0x80 | opcode, 0xFE, size)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 0xFF, size)
        return head + bytes(4) + payload

    def message(self) -> bytes:
        """The next binary message; pings are answered, and a close is an error with its code."""
        while True:
            head = self.until(lambda _: 2)
            size = head[1] & 0x7F
            if size == 126:
                size = struct.unpack(">H", self.until(lambda _: 2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.until(lambda _: 8))[0]
            payload = self.until(lambda _: size) if size else b""
            if head[0] & 0xF == 2:
                return payload
            if head[0] & 0xF == 9:
                self.socket.sendall(self.frame(payload, 10))
            if head[0] & 0xF == 8:
                raise ConnectionError(f"closed with {int.from_bytes(payload[:2])}")

    # PDUs

    def send(self, type_name: str, edata: bytes = b"", /, **fields):
        self.socket.sendall(self.frame(self.channel.seal(wire.encode(type_name, **fields), edata)))

    def next(self):
        header, edata = self.channel.open(self.message())
        return wire.decode(header), edata

    def answer(self, type_name: str):
        while True:
            pdu, edata = self.next()
            if pdu.type_name == type_name:
                return pdu

    def new(self, user: User | None = None):
        user = user or self.user
        self.send("new", pubEncrKey=user.key, pubAuthKey=user.authentication_key, name=user.name)

    def login(self):
        self.send("login", userPubEncrKey=self.user.key, signature=self.user.signature, max=1, head=bytes(64))

    def join(self) -> "Device":
        """Makes the account, logs in, and waits until that is done."""
        self.new()
        self.login()
        self.barrier()
        return self

    def barrier(self):
        """Returns when everything that was sent before has been handled."""
        self.send("searchByKey", pubEncrKey=b"\xfe" * 32)
        self.answer("user")

    def post(self, to: bytes, data: bytes):
        header = {"time": next(self.times), "recipientPubEncrKey": to, "toPubEncrKey": to,
                  "fromPubEncrKey": self.user.key}
        self.send("message", wire.box(data, self.service.nonce, wire.shared_key(to, self.user.secret)), **header)

    def write(self, directory: bytes, name: str, content: bytes) -> int:
        """Writes a file, and returns the error."""
        key = wire.shared_key(self.service.key, self.user.secret)
        self.send("write", wire.box(content, self.service.nonce, key), pubEncrKey=directory, filename=name)
        return self.answer("write").error

    def make_forum(self, readers: list[bytes], escrow: bool = False) -> User:
        forum = User("forum")
        self.new(forum)
        if self.write(forum.key, "subscribers", b"".join(readers)):
            raise ConnectionError("no subscribers")
        if escrow and self.write(forum.key, "secret", wire.seal(forum.secret, self.service.key, os.urandom(32))):
            raise ConnectionError("no escrow")
        return forum


def writer(service: Service, source: str):
    """A bystander who logs in once, and then writes a file whenever called."""
    device = Device(service, User("bystander"), source, timeout=5).join()
    return lambda: device.write(device.user.key, "file", os.urandom(100)) == 0


def database(server) -> sqlite3.Connection:
    return sqlite3.connect(os.path.join(server.data, "awd.sqlite3"), timeout=20)


def count(server, query: str) -> int:
    with database(server) as opened:
        return opened.execute(query).fetchone()[0] or 0


def plant_users(server, number: int) -> list[bytes]:
    """Puts users into the database of a server that isn't running, and returns their keys."""
    keys = [os.urandom(31) + b"\x01" for _ in range(number)]
    with database(server) as opened:
        first = (opened.execute("SELECT max(id) FROM apptimist_users").fetchone()[0] or 0) + 1
        opened.executemany(
            "INSERT INTO apptimist_users (id, key, kind, authentication_key, uid, name) VALUES (?, ?, 0, ?, x'', 'n')",
            [(first + index, key, os.urandom(32)) for index, key in enumerate(keys)])
        opened.executemany("INSERT INTO apptimist_queues (owner) VALUES (?)",
                           [(first + index,) for index in range(number)])
    return keys

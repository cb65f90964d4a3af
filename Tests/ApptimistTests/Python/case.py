"""Shared parts of all cases of the conformance suite."""

import asyncio
import contextlib
import dataclasses
import itertools
import os
import time
from typing import Awaitable, Callable

import apptimist_protocol as wire
from apptimist_device import Device, Identity, Received, Service
from apptimist_server import Server

SILENCE = 1.0  # the shortest random silence of the servers that cases run on, in seconds


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(condition, what: str):
    if not condition:
        raise Failed(what)


def same(found, wanted, what: str):
    if found != wanted:
        raise Failed(f"{what}: {short(found)} instead of {short(wanted)}")


def short(value) -> str:
    if isinstance(value, bytes):
        return value.hex()[:24] + ("…" if len(value) > 12 else "")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(short(one) for one in value[:12]) + ("…]" if len(value) > 12 else "]")
    return str(value)


@dataclasses.dataclass
class Case:
    sentence: str
    server: str  # the configuration that it needs; "own": it starts servers itself
    slow: bool
    run: Callable[["Context"], Awaitable[None]]


CASES: list[Case] = []


def case(sentence: str, server: str = "main", slow: bool = False):
    def register(function):
        CASES.append(Case(sentence, server, slow, function))
        return function
    return register


class Context:
    """The service under test and what a case opens on it; all of that is closed at its end."""

    numbers = itertools.count(1)

    def __init__(self, service: Service | None, server: Server | None, awd: str | None):
        self.service = service
        self.server = server
        self.awd = awd
        self.stack = contextlib.AsyncExitStack()

    def word(self) -> str:
        """A name that no other case has."""
        return f"w{os.urandom(5).hex()}n{next(self.numbers)}"

    async def device(self, **options) -> Device:
        device = await Device.connect(self.service, **options)
        self.stack.push_async_callback(device.close)
        return device

    async def online(self, name: str | None = None, uid: str = "") -> Device:
        """A new account, logged in."""
        device = await self.device()
        user = Identity(name or self.word())
        await device.new(user, uid)
        await device.login(user)
        await device.barrier()
        return device

    async def again(self, user: Identity, head: bytes = bytes(64), max: int = 0) -> Device:
        """One more session of a user."""
        device = await self.device()
        await device.login(user, head, max)
        return device

    async def user(self, name: str | None = None, uid: str = "") -> Identity:
        """A new account, not connected."""
        async with Device.connected(self.service) as device:
            user = Identity(name or self.word())
            await device.new(user, uid)
            await device.login(user)
            await device.barrier()
            return user

    async def forum(self, owner: Device, escrow: bool = False, **lists: list[bytes]) -> Identity:
        """A forum of the owner with the given reserved files."""
        forum = Identity(self.word())
        await owner.new(forum)
        for filename, keys in lists.items():
            await done(owner.write(forum.key, filename, b"".join(keys)))
        if escrow:
            await done(owner.write(forum.key, "secret", self.sealed(forum.secret)))
        return forum

    def sealed(self, data: bytes) -> bytes:
        return wire.seal(data, self.service.key, os.urandom(32))

    async def own(self, settings: dict | None = None, **options) -> Server:
        """A server of the case's own."""
        if not self.awd:
            raise Skipped("needs a server of its own")
        server = Server(self.awd, settings, **options)
        self.stack.callback(server.remove)
        await server.start()
        self.server, self.service = server, server.service
        return server


async def done(request: Awaitable[Received]) -> Received:
    """The answer to a file request that must succeed."""
    return await error(request, 0)


async def error(request: Awaitable[Received], code: int) -> Received:
    answer = await request
    same(answer.error, code, f"error of {answer.type} {answer.filename!r}")
    return answer


async def silent_close(device: Device, since: float | None = None):
    """The service must fall silent for a random time, then close with 1008.

    What it takes offence at was sent last, or not before `since`: this process may have stood still in between."""
    start = since or device.sent_at
    same(await device.closed(), 1008, "close code")
    elapsed = time.monotonic() - start
    expect(elapsed > SILENCE * 0.9, f"closed after {elapsed:.2f} s, without the silence")


async def until(device: Device, message_id: bytes) -> list[Received]:
    """The stream before the message, which is taken too."""
    found = []
    while True:
        pdu = await device.stream()
        if pdu.type == "message" and pdu.message_id == message_id:
            return found
        found.append(pdu)


async def ids_until(device: Device, message_id: bytes) -> list[bytes]:
    return [stream_id(pdu) for pdu in await until(device, message_id)]


def stream_id(pdu: Received) -> bytes:
    """Names an entry of the stream: by a message's ID, or a truncation's with `T` in front."""
    return pdu.message_id if pdu.type == "message" else b"T" + pdu.messageID


async def take(device: Device, count: int) -> list[bytes]:
    return [stream_id(await device.stream()) for _ in range(count)]


async def together(*things: Awaitable):
    return await asyncio.gather(*things)

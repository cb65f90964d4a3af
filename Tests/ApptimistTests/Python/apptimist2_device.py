"""A device of version 2 of the Apptimist protocol, independent of the Swift one: PyNaCl and websockets."""

import asyncio
import os
import time

import websockets

import apptimist2_protocol as wire
from apptimist_device import PATIENCE, Closed, Identity, Missing, Service


class Device2:
    """One connection. Nothing is repeated or judged here: the cases do that."""

    def __init__(self, service: Service, socket, ephemeral: Identity, offered: list[int]):
        self.service = service
        self.socket = socket
        self.ephemeral = ephemeral
        self.offered = offered
        self.sent = self.received = self.number = 0
        self.sent_at = time.monotonic()
        self.waiting: list[wire.PDU] = []  # of the stream, come while an answer was awaited
        self.user: Identity | None = None
        self.id = os.urandom(16)

    @classmethod
    async def connect(cls, service: Service, offered: list[int] = [2],
                      ephemeral: Identity | None = None) -> "Device2":
        ephemeral = ephemeral or Identity()
        socket = await websockets.connect(
            f"{service.url}?{ephemeral.key.hex()}", compression=None, max_size=None, max_queue=None,
            ping_interval=None, open_timeout=PATIENCE, close_timeout=5,
            subprotocols=[f"apptimist.{number}" for number in offered])
        device = cls(service, socket, ephemeral, offered)
        if socket.subprotocol != wire.SUBPROTOCOL:
            raise Missing(f"the subprotocol {socket.subprotocol}")
        await device.greeted(await device.raw())
        return device

    async def greeted(self, first: bytes):
        self.node = first[:32]
        hashed = wire.handshake_hashed(self.service.key, self.service.authentication_key,
                                       self.ephemeral.key, self.node, self.offered)
        self.h = wire.sha512(hashed)
        k = wire.keys(wire.agree(self.ephemeral.secret, self.service.key),
                      wire.agree(self.ephemeral.secret, self.node), self.h)
        self.device_key, self.service_key = k[:32], k[32:]
        self.hello = self.opened(first[32:])

    async def close(self):
        await self.socket.close()

    # Sending.

    async def send_frame(self, frame: bytes):
        self.sent_at = time.monotonic()
        number, self.sent = self.sent, self.sent + 1
        await self.socket.send(wire.box(self.device_key, wire.nonce(number), frame))

    async def send_header(self, header: bytes, data: bytes = b""):
        await self.send_frame(wire.frame(header, data))

    async def send(self, name: str, data: bytes = b"", /, **fields) -> int:
        """Sends a request, gives its number."""
        self.number += 1
        await self.send_header(wire.request(name, self.number, **fields), data)
        return self.number

    async def request(self, name: str, data: bytes = b"", /, **fields) -> wire.PDU:
        number = await self.send(name, data, **fields)
        answer = await self.answer()
        if not (answer.type == name and answer.number == number):
            raise Missing(f"{answer} {answer.number} where {name} {number} was awaited")
        return answer

    def new_fields(self, user: Identity, uid: bytes = b"", flags: int = 0, **changed) -> dict:
        signed = wire.label("new") + self.h + user.key + user.authentication_key
        return {"pubEncrKey": user.key, "pubAuthKey": user.authentication_key,
                "signature": wire.sign(signed, user.seed), "possession": self.possession(user),
                "flags": flags, "name": user.name or "somebody", "uid": uid, **changed}

    def possession(self, user: Identity) -> bytes:
        return wire.possession(wire.agree(user.secret, self.node), self.h, user.key)

    def login_fields(self, user: Identity, **changed) -> dict:
        return {"userPubEncrKey": user.key, "possession": self.possession(user),
                "signature": wire.sign(wire.label("login") + self.h + user.key, user.seed),
                "device": self.id, "after": wire.NOW, **changed}

    async def new(self, user: Identity, token: bytes = b"", **changed) -> wire.PDU:
        return await self.request("new", token, **self.new_fields(user, **changed))

    async def login(self, user: Identity, **changed) -> wire.PDU:
        self.user = user
        return await self.request("login", **self.login_fields(user, **changed))

    def sealed(self, content: bytes, to: bytes, time: int, kind: int = 1) -> bytes:
        """A message of the user, or a signed post."""
        if kind == 2:
            content = wire.sign(wire.post_signed(self.service.key, to, self.user.key, time, content),
                                self.user.seed) + content
        return wire.seal(kind, content, os.urandom(32), self.service.key, self.user.secret, to, to,
                         self.user.key, time)

    def unsealed(self, pdu: wire.PDU, kind: int = 1) -> bytes:
        sender = pdu.toPubEncrKey if kind == 3 else pdu.fromPubEncrKey
        return wire.unseal(kind, pdu.data, self.service.key, sender, self.user.secret,
                           pdu.toPubEncrKey, pdu.fromPubEncrKey, pdu.time)

    async def message(self, to: bytes, data: bytes, time: int, **changed) -> wire.PDU:
        return await self.request("message", data, **{
            "time": time, "recipientPubEncrKey": to, "toPubEncrKey": to,
            "fromPubEncrKey": self.user.key, **changed})

    # Receiving.

    async def raw(self, timeout: float = PATIENCE) -> bytes:
        try:
            message = await asyncio.wait_for(self.socket.recv(), timeout)
        except asyncio.TimeoutError:
            raise Missing(f"nothing came for {timeout} s") from None
        except websockets.ConnectionClosed:
            raise Closed(self.socket.close_code) from None
        if isinstance(message, str):
            raise Missing("a text message came")
        return message

    def opened(self, message: bytes) -> wire.PDU:
        frame = wire.unbox(self.service_key, wire.nonce(self.received), message)
        self.received += 1
        return wire.PDU(*wire.unframe(frame))

    async def next(self, timeout: float = PATIENCE) -> wire.PDU:
        return self.opened(await self.raw(timeout))

    async def answer(self) -> wire.PDU:
        while True:
            pdu = await self.next()
            if pdu.is_answer:
                return pdu
            self.waiting.append(pdu)

    async def stream(self, timeout: float = PATIENCE) -> wire.PDU:
        if self.waiting:
            return self.waiting.pop(0)
        pdu = await self.next(timeout)
        if pdu.is_answer:
            raise Missing(f"{pdu} came where the stream was awaited")
        return pdu

    async def closed(self, timeout: float = PATIENCE) -> int:
        try:
            pdu = await self.next(timeout)
        except Closed as closed:
            return closed.code
        raise Missing(f"{pdu} came where a close was awaited")

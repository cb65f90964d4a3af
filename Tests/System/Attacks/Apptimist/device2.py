"""As device.py, of version 2."""

import os

import apptimist2_protocol as wire
from .device import Device, User


class Device2(Device):
    """One connection."""

    upgrade = "Sec-WebSocket-Protocol: apptimist.2\r\n"

    def begin(self, secret: bytes, key: bytes):
        first = self.message()
        self.node, self.sent, self.received_boxes, self.number = first[:32], 0, 0, 0
        service = self.service
        self.h = wire.sha512(wire.handshake_hashed(
            service.key, service.authentication_key, key, self.node, [2]))
        made = wire.keys(wire.agree(secret, service.key), wire.agree(secret, self.node), self.h)
        self.own_key, self.service_key = made[:32], made[32:]
        self.opened(first[32:])

    def opened(self, box: bytes) -> wire.PDU:
        frame = wire.unbox(self.service_key, wire.nonce(self.received_boxes), box)
        self.received_boxes += 1
        return wire.PDU(*wire.unframe(frame))

    def ask(self, name: str, data: bytes = b"", /, is_answered: bool = True, **fields):
        """Sends a request, and doesn't wait for its answer."""
        self.number += 1
        header = wire.request(name, self.number if is_answered else 0, **fields)
        number, self.sent = self.sent, self.sent + 1
        self.socket.sendall(self.frame(wire.box(self.own_key, wire.nonce(number), wire.frame(header, data))))

    def next(self) -> wire.PDU:
        return self.opened(self.message())

    def answer(self) -> wire.PDU:
        while not (pdu := self.next()).is_answer:
            pass
        return pdu

    def request(self, name: str, data: bytes = b"", /, **fields) -> wire.PDU:
        self.ask(name, data, **fields)
        return self.answer()

    def possession(self, user: User) -> bytes:
        return wire.possession(wire.agree(user.secret, self.node), self.h, user.key)

    def new(self, user: User | None = None, flags: int = 0) -> int:
        """Makes the account or a forum, and returns the error."""
        user = user or self.user
        signed = wire.label("new") + self.h + user.key + user.authentication_key
        return self.request("new", pubEncrKey=user.key, pubAuthKey=user.authentication_key,
                            signature=wire.sign(signed, user.seed), possession=self.possession(user),
                            flags=flags, name=user.name).error

    def login(self, device: bytes | None = None, **fields) -> wire.PDU:
        signed = wire.label("login") + self.h + self.user.key
        return self.request("login", userPubEncrKey=self.user.key, signature=wire.sign(signed, self.user.seed),
                            possession=self.possession(self.user), device=device or os.urandom(16),
                            **{"after": wire.NOW, **fields})

    def join(self, flags: int = 0) -> "Device2":
        if self.new(flags=flags) or self.login().error:
            raise ConnectionError("no login")
        return self

    def message_fields(self, to: bytes, time: int) -> dict:
        return {"time": time, "recipientPubEncrKey": to, "toPubEncrKey": to, "fromPubEncrKey": self.user.key}

    def sealed(self, content: bytes, to: bytes, time: int, kind: int = 1) -> bytes:
        """A message of the user, or a signed post."""
        if kind == 2:
            signed = wire.post_signed(self.service.key, to, self.user.key, time, content)
            content = wire.sign(signed, self.user.seed) + content
        return wire.seal(kind, content, os.urandom(32), self.service.key, self.user.secret, to, to,
                         self.user.key, time)

    def make_forum(self, readers: list[bytes]) -> User:
        """Makes a forum whose secret the service has."""
        forum = User("forum")
        escrow = wire.version1.seal(forum.secret, self.service.key, os.urandom(32))
        files = {"subscribers": b"".join(readers), "secret": escrow}
        if self.new(forum) or any([
                self.request("write", content, pubEncrKey=forum.key, filename=name).error
                for name, content in files.items()]):
            raise ConnectionError("no forum")
        return forum

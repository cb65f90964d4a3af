"""Version 2 of the Apptimist App-Server protocol on bytes: handshake, boxes, PDUs, proofs, sealed messages.

An implementation of its own, on PyNaCl (Debian: python3-nacl), that shares nothing with the Swift one. The vectors of
version 2 are made with it, and the conformance suite talks through it.
"""

import hashlib
import struct

from nacl import bindings

import apptimist_protocol as version1
from apptimist_protocol import ProtocolError, authentication_public, encryption_public, sign, verifies

VERSION = 2
MARK = b"apptim\x02"
SUBPROTOCOL = "apptimist.2"
NOW = 2**64 - 1  # `after` of login: what the device has acknowledged


def label(purpose: str) -> bytes:
    return b"apptimist.2 " + purpose.encode() + b"\0"


def agree(secret: bytes, public: bytes) -> bytes:
    """X25519; ProtocolError for a key of low order."""
    try:
        return bindings.crypto_scalarmult(secret, public)
    except Exception:
        raise ProtocolError("key") from None


def sha512(*parts: bytes) -> bytes:
    return hashlib.sha512(b"".join(parts)).digest()


def box(key: bytes, nonce: bytes, message: bytes) -> bytes:
    return bindings.crypto_secretbox(message, nonce, key)


def unbox(key: bytes, nonce: bytes, boxed: bytes) -> bytes:
    if len(boxed) < 16:
        raise ProtocolError("box")
    try:
        return bindings.crypto_secretbox_open(boxed, nonce, key)
    except Exception:
        raise ProtocolError("box") from None


def nonce(number: int) -> bytes:
    return bytes(16) + struct.pack(">Q", number)


# Handshake.


def handshake_hashed(service: bytes, authentication: bytes, device: bytes, ephemeral: bytes,
                     offered: list[int]) -> bytes:
    return (label("handshake") + service + authentication + device + ephemeral
            + bytes([len(offered), *offered]))


def keys(first: bytes, second: bytes, h: bytes) -> bytes:
    return sha512(label("keys"), first, second, h)


# Frames.


def frame(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">II", len(header), len(data)) + header + data


def unframe(message: bytes) -> tuple[bytes, bytes]:
    if len(message) < 8:
        raise ProtocolError("lengths")
    header_length, data_length = struct.unpack(">II", message[:8])
    if len(message) != 8 + header_length + data_length:
        raise ProtocolError("lengths")
    return message[8:8 + header_length], message[8 + header_length:]


# PDUs: each type's number and its fields in wire order, as (NAME, SIZE or a format of struct); "len" NAME is the length of
# the text NAME, which comes later.
REQUESTS: dict[str, tuple[int, list]] = {
    "login": (1, [("userPubEncrKey", 32), ("signature", 64), ("possession", 32), ("device", 16),
                  ("flags", ">B"), ("max", ">I"), ("epoch", ">Q"), ("after", ">Q"), ("head", 64)]),
    "new": (3, [("pubEncrKey", 32), ("pubAuthKey", 32), ("signature", 64), ("possession", 32),
                ("flags", ">B"), ("len", "name"), ("len", "uid"), ("text", "name"), ("text", "uid")]),
    "del": (4, [("pubEncrKey", 32)]),
    "message": (5, [("time", ">Q"), ("recipientPubEncrKey", 32), ("toPubEncrKey", 32),
                    ("fromPubEncrKey", 32)]),
    "truncate": (6, [("messageID", 64)]),
    "pause": (7, []),
    "resume": (8, []),
    "vouch": (9, [("subjectPubEncrKey", 32), ("signature", 64)]),
    "vouchers": (10, [("subjectPubEncrKey", 32), ("max", ">H"), ("cursor", 16)]),
    "searchByName": (11, [("max", ">H"), ("cursor", 16), ("len", "name"), ("text", "name")]),
    "searchByUid": (12, [("max", ">H"), ("cursor", 16), ("len", "uid"), ("text", "uid")]),
    "searchByKey": (13, [("pubEncrKey", 32)]),
    "ack": (19, [("position", ">Q")]),
    "push": (21, [("kind", ">B"), ("flags", ">B"), ("tag", 8), ("keyCount", ">H"), ("addressLen", ">H")]),
    "leave": (22, [("signature", 64)]),
    "join": (23, [("forum", 32)]),
}
for _type, _name in enumerate(("read", "lock", "write", "remove"), start=15):
    REQUESTS[_name] = (_type, [("pubEncrKey", 32), ("len", "filename"), ("text", "filename")])
OWN: dict[str, tuple[int, list]] = {
    "hello": (20, [("time", ">Q"), ("headerMax", ">I"), ("dataMax", ">I"), ("pageMax", ">H")]),
    "message": (5, [("position", ">Q"), *REQUESTS["message"][1]]),
    "truncate": (6, [("position", ">Q"), ("messageID", 64)]),
    "redirect": (2, [("reason", ">B"), ("len2", "uri"), ("text", "uri")]),
}
PLACED = [("known", ">B"), ("position", ">Q")]
PAGE = [("next", 16), ("count", ">H")]
ANSWERS: dict[str, list] = {
    "login": [("epoch", ">Q"), ("first", ">Q"), ("last", ">Q"), ("start", ">Q"), ("flags", ">B")],
    "message": PLACED, "truncate": PLACED, "vouchers": PAGE, "searchByName": PAGE,
    "searchByUid": PAGE, "searchByKey": PAGE,
}
NAMES = {number: name for name, (number, _) in REQUESTS.items()}
LENGTHS = {"len": ">B", "len2": ">H"}


def _write(layout: list, fields: dict) -> bytes:
    out = bytearray()
    fields = {name: value.encode() if isinstance(value, str) else value
              for name, value in fields.items()}
    for name, what in layout:
        if name in LENGTHS:
            out += struct.pack(LENGTHS[name], len(fields.get(what, b"")))
        elif name == "text":
            out += fields.get(what, b"")
        elif isinstance(what, int):
            value = fields.get(name, bytes(what))
            if len(value) != what:
                raise ValueError(f"{name} has {len(value)} bytes")
            out += value
        else:
            out += struct.pack(what, fields.get(name, 0))
    return bytes(out)


def _read(layout: list, data: bytes) -> dict:
    position, fields, lengths = 0, {}, {}

    def take(count: int) -> bytes:
        nonlocal position
        if len(data) - position < count:
            raise ProtocolError("truncated")
        position += count
        return data[position - count:position]

    for name, what in layout:
        if name in LENGTHS:
            packed = LENGTHS[name]
            lengths[what] = struct.unpack(packed, take(struct.calcsize(packed)))[0]
        elif name == "text":
            fields[what] = take(lengths[what])
        elif isinstance(what, int):
            fields[name] = take(what)
        else:
            fields[name] = struct.unpack(what, take(struct.calcsize(what)))[0]
    if position != len(data):
        raise ProtocolError("trailing")
    return fields


def start(kind: int, number: int) -> bytes:
    return struct.pack(">BBI", VERSION, kind, number)


def request(name: str, number: int, /, **fields) -> bytes:
    kind, layout = REQUESTS[name]
    return start(kind, number) + _write(layout, fields)


def own(name: str, /, **fields) -> bytes:
    """What the service sends of itself."""
    kind, layout = OWN[name]
    return start(kind, 0) + _write(layout, fields)


def answer(name: str, number: int, error: int = 0, /, **fields) -> bytes:
    layout = [] if error else ANSWERS.get(name, [])
    return start(REQUESTS[name][0] | 0x80, number) + struct.pack(">H", error) + _write(layout, fields)


class PDU:
    """What the service sent: its fields as attributes."""

    def __init__(self, header: bytes, data: bytes = b""):
        version, kind, self.number = struct.unpack(">BBI", header[:6])
        if version != VERSION:
            raise ProtocolError("version")
        self.data = data
        self.error = 0
        self.is_answer = kind >= 0x80
        if self.is_answer:
            # An answer to an unknown type is named by its number.
            self.type = NAMES.get(kind & 0x7f, kind & 0x7f)
            self.error = struct.unpack(">H", header[6:8])[0]
            layout = [] if self.error else ANSWERS.get(self.type, [])
            self.fields = _read(layout, header[8:])
        else:
            self.type = next(name for name, (number, _) in OWN.items() if number == kind)
            self.fields = _read(OWN[self.type][1], header[6:])

    def __getattr__(self, field):
        try:
            return self.__dict__["fields"][field]
        except KeyError:
            raise AttributeError(field) from None

    @property
    def message_id(self) -> bytes:
        return message_id(self.time, self.recipientPubEncrKey, self.toPubEncrKey,
                          self.fromPubEncrKey, self.data)

    def __repr__(self):
        return f"{'answer to ' * self.is_answer}{self.type} {self.error or ''}"


def message_id(time: int, recipient: bytes, to: bytes, sender: bytes, data: bytes) -> bytes:
    """Over version 1's header."""
    return sha512(version1_header(time, recipient, to, sender), data)


def version1_header(time: int, recipient: bytes, to: bytes, sender: bytes) -> bytes:
    return version1.encode("message", time=time, recipientPubEncrKey=recipient, toPubEncrKey=to,
                           fromPubEncrKey=sender)


def user(key: bytes, authentication: bytes, kind: int, flags: int, name: bytes, uid: bytes) -> bytes:
    return key + authentication + bytes([kind, flags, len(name), len(uid)]) + name + uid


def users(count: int, data: bytes) -> list[dict]:
    found = []
    for _ in range(count):
        kind, flags, names, uids = data[64:68]
        found.append({"key": data[:32], "authentication": data[32:64], "kind": kind, "flags": flags,
                      "name": data[68:68 + names], "uid": data[68 + names:68 + names + uids]})
        data = data[68 + names + uids:]
    if data:
        raise ProtocolError("trailing")
    return found


def vouchers(count: int, data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    if len(data) != 128 * count:
        raise ProtocolError("trailing")
    return [(data[i:i + 32], data[i + 32:i + 64], data[i + 64:i + 128])
            for i in range(0, len(data), 128)]


# Proofs.


def possession_hashed(shared: bytes, h: bytes, key: bytes) -> bytes:
    return label("possession") + shared + h + key


def possession(shared: bytes, h: bytes, key: bytes) -> bytes:
    return sha512(possession_hashed(shared, h, key))[:32]


def service_signed(service: bytes, versions: list[int]) -> bytes:
    return label("service") + service + bytes([len(versions), *versions])


def vouch_signed(service: bytes, voucher: bytes, subject: bytes) -> bytes:
    return label("vouch") + service + voucher + subject


def post_signed(service: bytes, to: bytes, sender: bytes, time: int, content: bytes) -> bytes:
    return label("post") + service + to + sender + struct.pack(">Q", time) + sha512(content)


# Sealed messages.


def seal_keys(kind: int, shared_fresh: bytes, shared_static: bytes, fresh: bytes, service: bytes,
              sender: bytes, receiver: bytes, to: bytes, from_: bytes, time: int) -> bytes:
    return sha512(label("seal"), bytes([kind]), shared_fresh, shared_static, fresh, service, sender,
                  receiver, to, from_, struct.pack(">Q", time))


def seal(kind: int, plain: bytes, fresh_secret: bytes, service: bytes, secret: bytes,
         receiver: bytes, to: bytes, from_: bytes, time: int) -> bytes:
    """eData, sealed with the sender's secret key."""
    fresh, sender = encryption_public(fresh_secret), encryption_public(secret)
    m = seal_keys(kind, agree(fresh_secret, receiver), agree(secret, receiver), fresh, service,
                  sender, receiver, to, from_, time)
    return MARK + bytes([kind]) + fresh + box(m[:32], m[32:56], plain)


def unseal(kind: int, edata: bytes, service: bytes, sender: bytes, secret: bytes, to: bytes,
           from_: bytes, time: int) -> bytes:
    """What was sealed, with the receiver's secret key."""
    if len(edata) < 56 or edata[:8] != MARK + bytes([kind]):
        raise ProtocolError("mark")
    fresh = edata[8:40]
    m = seal_keys(kind, agree(secret, fresh), agree(secret, sender), fresh, service, sender,
                  encryption_public(secret), to, from_, time)
    return unbox(m[:32], m[32:56], edata[40:])

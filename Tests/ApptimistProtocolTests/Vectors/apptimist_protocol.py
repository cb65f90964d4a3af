"""The Apptimist App-Server protocol on bytes: headers, boxes, nonces, frames, messageIDs.

An implementation of its own, on PyNaCl (Debian: python3-nacl), that shares nothing with the Swift
one. The vectors beside it are made with it, and the conformance suite talks through it.
"""

import dataclasses
import hashlib
import struct

from nacl import bindings

VERSION = 1
TAG = 16  # crypto_box_easy: Poly1305 tag in front of the ciphertext
LAST_SEQ = 65_000  # above it the connection is redirected
PRIME = 2**255 - 19


class ProtocolError(Exception):
    """A header, frame or box that isn't what the protocol says. `reason` is one word."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


# Headers: each type's number and its fields in wire order. A field is one of
#   (NAME, 32)                    that many bytes
#   (NAME, "u16"), (NAME, "u64")  a big-endian integer
#   ("len8", NAME), 16, 32        how long NAME, which comes later, is
#   ("text", NAME)                bytes of that length
#   ("keys", NAME)                32-byte keys, as many as that length says
LAYOUTS: dict[str, tuple[int, list]] = {
    "login": (1, [("userPubEncrKey", 32), ("signature", 64), ("max", "u16"), ("head", 64)]),
    "redirect": (2, [("len16", "uri"), ("text", "uri")]),
    "new": (3, [("pubEncrKey", 32), ("pubAuthKey", 32), ("len8", "name"), ("len8", "uid"),
                ("len8", "token"), ("text", "name"), ("text", "uid"), ("text", "token")]),
    "del": (4, [("pubEncrKey", 32)]),
    "message": (5, [("time", "u64"), ("recipientPubEncrKey", 32), ("toPubEncrKey", 32),
                    ("fromPubEncrKey", 32)]),
    "truncate": (6, [("messageID", 64)]),
    "pause": (7, []),
    "resume": (8, []),
    "vouch": (9, [("subjectPubEncrKey", 32), ("signature", 64)]),
    "vouchers": (10, [("subjectPubEncrKey", 32), ("len32", "voucherPubEncrKeys"),
                      ("keys", "voucherPubEncrKeys")]),
    "searchByName": (11, [("maxUsers", "u16"), ("len8", "name"), ("text", "name")]),
    "searchByUid": (12, [("maxUsers", "u16"), ("len8", "uid"), ("text", "uid")]),
    "searchByKey": (13, [("pubEncrKey", 32)]),
    "user": (14, [("count", "u16"), ("pubEncrKey", 32), ("len8", "name"), ("len8", "uid"),
                  ("text", "name"), ("text", "uid")]),
}
for _type, _name in enumerate(("read", "lock", "write", "remove"), start=15):
    LAYOUTS[_name] = (_type, [("pubEncrKey", 32), ("error", "u16"), ("len8", "filename"),
                              ("text", "filename")])
TYPE_NAMES = {number: name for name, (number, _) in LAYOUTS.items()}
INTEGERS = {"u16": ">H", "u64": ">Q", "len8": ">B", "len16": ">H", "len32": ">I"}


@dataclasses.dataclass
class PDU:
    """One header, taken apart: the type's name and its fields (ints, bytes, a list of keys)."""

    type_name: str
    fields: dict

    def __getattr__(self, field):
        try:
            return self.__dict__["fields"][field]
        except KeyError:
            raise AttributeError(field) from None


def encode(type_name: str, /, **fields) -> bytes:
    """The header of the named type. Absent fields are zero; text may be `str` or bytes."""
    number, layout = LAYOUTS[type_name]
    out = bytearray((VERSION, number))
    for kind, what in layout:
        if kind in ("len8", "len16", "len32"):
            value = fields.get(what, b"")
            value = value.encode() if isinstance(value, str) else value
            out += struct.pack(INTEGERS[kind], len(value))
        elif kind == "text":
            value = fields.get(what, b"")
            out += value.encode() if isinstance(value, str) else value
        elif kind == "keys":
            out += b"".join(fields.get(what, []))
        elif isinstance(what, int):
            value = fields.get(kind, bytes(what))
            if len(value) != what:
                raise ValueError(f"{kind} has {len(value)} bytes")
            out += value
        else:
            out += struct.pack(INTEGERS[what], fields.get(kind, 0))
    unknown = fields.keys() - {name for pair in layout for name in pair}
    if unknown:
        raise ValueError(f"{type_name} has no {unknown}")
    return bytes(out)


def decode(header: bytes) -> PDU:
    """Takes a header apart. ProtocolError: truncated, trailing, version, or type."""
    position = 0

    def take(count: int) -> bytes:
        nonlocal position
        if len(header) - position < count:
            raise ProtocolError("truncated")
        position += count
        return header[position - count:position]

    if take(1)[0] != VERSION:
        raise ProtocolError("version")
    name = TYPE_NAMES.get(take(1)[0])
    if name is None:
        raise ProtocolError("type")
    fields: dict = {}
    lengths: dict[str, int] = {}
    for kind, what in LAYOUTS[name][1]:
        if kind in ("len8", "len16", "len32"):
            packed = INTEGERS[kind]
            lengths[what] = struct.unpack(packed, take(struct.calcsize(packed)))[0]
        elif kind == "text":
            fields[what] = take(lengths[what])
        elif kind == "keys":
            keys = take(32 * lengths[what])
            fields[what] = [keys[i:i + 32] for i in range(0, len(keys), 32)]
        elif isinstance(what, int):
            fields[kind] = take(what)
        else:
            fields[kind] = struct.unpack(INTEGERS[what], take(struct.calcsize(INTEGERS[what])))[0]
    if position != len(header):
        raise ProtocolError("trailing")
    return PDU(name, fields)


def message_id(header: bytes, edata: bytes) -> bytes:
    """The 64 bytes that name a message."""
    return hashlib.sha512(header + edata).digest()


# Keys.


def encryption_public(secret: bytes) -> bytes:
    return bindings.crypto_scalarmult_base(secret)


def authentication_public(seed: bytes) -> bytes:
    return bindings.crypto_sign_seed_keypair(seed)[0]


def sign(message: bytes, seed: bytes) -> bytes:
    """The detached Ed25519 signature, 64 bytes."""
    _, secret = bindings.crypto_sign_seed_keypair(seed)
    return bindings.crypto_sign(message, secret)[:64]


def verifies(signature: bytes, message: bytes, public: bytes) -> bool:
    try:
        bindings.crypto_sign_open(signature + message, public)
        return True
    except Exception:
        return False


def is_low_order(public: bytes) -> bool:
    """Whether X25519 with this key gives zero whatever the secret is."""
    try:
        bindings.crypto_scalarmult(bytes(range(32)), public)
        return False
    except Exception:
        return True


def is_canonical(public: bytes) -> bool:
    """X25519 ignores the top bit and reduces by the prime: one point, several encodings."""
    return int.from_bytes(public, "little") < PRIME


# Boxes.


def shared_key(public: bytes, secret: bytes) -> bytes:
    """crypto_box_beforenm."""
    return bindings.crypto_box_beforenm(public, secret)


def box(data: bytes, nonce: bytes, key: bytes) -> bytes:
    """crypto_box_easy_afternm: 16 bytes longer than `data`."""
    return bindings.crypto_box_afternm(data, nonce, key)


def unbox(edata: bytes, nonce: bytes, key: bytes) -> bytes:
    if len(edata) < TAG:
        raise ProtocolError("box")
    try:
        return bindings.crypto_box_open_afternm(edata, nonce, key)
    except Exception:
        raise ProtocolError("box") from None


def seal(data: bytes, public: bytes, ephemeral_secret: bytes) -> bytes:
    """crypto_box_seal, with the ephemeral secret given so that a vector can be repeated."""
    ephemeral = encryption_public(ephemeral_secret)
    nonce = hashlib.blake2b(ephemeral + public, digest_size=24).digest()
    return ephemeral + box(data, nonce, shared_key(public, ephemeral_secret))


# Frames: one WebSocket message.


def frame(eheader: bytes, edata: bytes = b"") -> bytes:
    return struct.pack(">II", len(eheader), len(edata)) + eheader + edata


def unframe(message: bytes) -> tuple[bytes, bytes]:
    """eHeader and eData. ProtocolError: lengths."""
    if len(message) < 8:
        raise ProtocolError("lengths")
    header_length, data_length = struct.unpack(">II", message[:8])
    if len(message) != 8 + header_length + data_length:
        raise ProtocolError("lengths")
    return message[8:8 + header_length], message[8 + header_length:]


class HeaderChannel:
    """Both directions of one connection: the key of the headers, the nonces' prefix, two counters."""

    def __init__(self, own_secret: bytes, own_public: bytes, peer_public: bytes, data_nonce: bytes):
        self.key = shared_key(peer_public, own_secret)
        self.prefix = data_nonce[:22]
        smaller = own_public < peer_public
        self.next_sent = 1 if smaller else 2
        self.next_received = 2 if smaller else 1

    def nonce(self, seq: int) -> bytes:
        return self.prefix + struct.pack(">H", seq)

    def seal(self, header: bytes, edata: bytes = b"") -> bytes:
        message = frame(box(header, self.nonce(self.next_sent), self.key), edata)
        self.next_sent += 2
        return message

    def open(self, message: bytes) -> tuple[bytes, bytes]:
        """Header in clear and eData of the next message."""
        eheader, edata = unframe(message)
        header = unbox(eheader, self.nonce(self.next_received), self.key)
        self.next_received += 2
        return header, edata

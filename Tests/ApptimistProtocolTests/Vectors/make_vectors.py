#!/usr/bin/python3
"""Writes the test vectors (*.json) beside it. Everything is derived from fixed texts: the same
files come out every time. `make_vectors.py --check` writes nothing and says what differs.

Needs PyNaCl (Debian: python3-nacl); the encoding is apptimist_protocol.py's.
"""

import hashlib
import json
import pathlib
import sys

from nacl import public as nacl_public

sys.dont_write_bytecode = True

import apptimist_protocol as wire

HERE = pathlib.Path(__file__).parent


def derived(what: str, size: int = 32) -> bytes:
    """Bytes that look random and are always the same."""
    return hashlib.shake_256(b"awd apptimist vectors: " + what.encode()).digest(size)


class EncryptionPair:
    def __init__(self, what: str):
        self.name = what
        self.secret = derived(what + " encryption")
        self.public = wire.encryption_public(self.secret)


class AuthenticationPair:
    def __init__(self, what: str):
        self.name = what
        self.seed = derived(what + " authentication")
        self.public = wire.authentication_public(self.seed)

    def sign(self, message: bytes) -> bytes:
        return wire.sign(message, self.seed)


class User:
    def __init__(self, what: str):
        self.name = what
        self.encryption = EncryptionPair(what)
        self.authentication = AuthenticationPair(what)
        self.key = self.encryption.public
        self.signature = self.authentication.sign(self.key)


SERVICE = User("service")
DATA_NONCE = SERVICE.signature[:24]
ALICE, BOB, CAROL = User("alice"), User("bob"), User("carol")
FORUM = User("forum")


def ephemeral(smaller: bool) -> EncryptionPair:
    """The first derived ephemeral pair whose public key is (not) smaller than the service's."""
    for number in range(1000):
        pair = EncryptionPair(f"ephemeral {number}")
        if (pair.public < SERVICE.key) == smaller:
            return pair
    raise RuntimeError("no such key")


SMALLER, LARGER = ephemeral(True), ephemeral(False)


def channels(pair: EncryptionPair) -> tuple[wire.HeaderChannel, wire.HeaderChannel]:
    """The two ends of one connection: the device's and the service's."""
    return (wire.HeaderChannel(pair.secret, pair.public, SERVICE.key, DATA_NONCE),
            wire.HeaderChannel(SERVICE.encryption.secret, SERVICE.key, pair.public, DATA_NONCE))


def edata(data: bytes, sender_secret: bytes, receiver_public: bytes) -> bytes:
    return wire.box(data, DATA_NONCE, wire.shared_key(receiver_public, sender_secret))


def plain(value):
    """Fields for JSON: bytes as hex; text fields as hex too, since a peer may send any bytes."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


# keys.json


def key_vectors() -> dict:
    low_order = ["0000000000000000000000000000000000000000000000000000000000000000",
                 "0100000000000000000000000000000000000000000000000000000000000000",
                 "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                 "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                 "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                 "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                 "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"]
    low_order += [key[:62] + f"{int(key[62:], 16) | 0x80:02x}" for key in low_order]
    assert all(wire.is_low_order(bytes.fromhex(key)) for key in low_order)
    users = [{"name": user.name,
              "encryptionSecret": user.encryption.secret.hex(),
              "encryptionKey": user.key.hex(),
              "authenticationSeed": user.authentication.seed.hex(),
              "authenticationKey": user.authentication.public.hex(),
              "signatureOfOwnEncryptionKey": user.signature.hex()}
             for user in (SERVICE, ALICE, BOB, CAROL, FORUM)]
    return {
        "about": "Key pairs used throughout. signatureOfOwnEncryptionKey is serviceSignature for the "
                 "service and login's signature for a user. The forum's authentication pair is never "
                 "used on the wire: a forum can't log in.",
        "users": users,
        "ephemeral": [{"name": name, "secret": pair.secret.hex(), "key": pair.public.hex()}
                      for name, pair in (("smaller than the service's", SMALLER),
                                         ("larger than the service's", LARGER))],
        "dataNonce": DATA_NONCE.hex(),
        "headerNoncePrefix": DATA_NONCE[:22].hex(),
        "serviceDocument": {"service": "siren", "encryptionKey": SERVICE.key.hex(),
                            "authenticationKey": SERVICE.authentication.public.hex(),
                            "signature": SERVICE.signature.hex(), "versions": [1]},
        "lowOrder": low_order,
        "notCanonical": [(key[:31] + bytes([key[31] | 0x80])).hex()
                         for key in (SMALLER.public, LARGER.public)],
        "signatures": [
            {"name": "login of alice", "signer": "alice", "message": ALICE.key.hex(),
             "signature": ALICE.signature.hex(), "valid": True},
            {"name": "alice vouches for bob", "signer": "alice", "message": BOB.key.hex(),
             "signature": ALICE.authentication.sign(BOB.key).hex(), "valid": True},
            {"name": "bob's login isn't alice's", "signer": "alice", "message": ALICE.key.hex(),
             "signature": BOB.signature.hex(), "valid": False},
            {"name": "one bit changed", "signer": "alice", "message": ALICE.key.hex(),
             "signature": (ALICE.signature[:63] + bytes([ALICE.signature[63] ^ 1])).hex(),
             "valid": False},
            {"name": "zero", "signer": "alice", "message": ALICE.key.hex(),
             "signature": bytes(64).hex(), "valid": False},
        ],
    }


# nonces.json


def nonce_vectors() -> dict:
    connections = []
    for pair in (SMALLER, LARGER):
        device, service = channels(pair)
        rows = []
        for side, channel in (("device", device), ("service", service)):
            for number in (1, 2, 3, 127, 128, 129, 32_499, 32_500, 32_501, 32_502):
                seq = channel.next_sent + 2 * (number - 1)
                rows.append({"from": side, "pdu": number, "seq": seq,
                             "nonce": channel.nonce(seq).hex(),
                             "redirectAfterIt": seq > wire.LAST_SEQ})
        connections.append({"ephemeralKey": pair.public.hex(), "serviceKey": SERVICE.key.hex(),
                            "odd": "device" if pair is SMALLER else "service",
                            "sharedKey": device.key.hex(), "nonces": rows})
    return {"about": "Nonces of the headers. pdu counts from 1 in each direction; sharedKey is "
                     "crypto_box_beforenm of the ephemeral and the service's key.",
            "connections": connections}


# headers.json


def headers() -> list:
    """(what, from, type, fields) of headers that are right."""
    most = b"\xff" * 64
    long_name = ("ü" * 127 + "x").encode()
    assert len(long_name) == 255
    rows = [
        ("all messages", "device", "login",
         dict(userPubEncrKey=ALICE.key, signature=ALICE.signature)),
        ("the newest 500, or after head", "device", "login",
         dict(userPubEncrKey=BOB.key, signature=BOB.signature, max=500, head=derived("head", 64))),
        ("the largest numbers", "device", "login",
         dict(userPubEncrKey=b"\xff" * 32, signature=most, max=65_535, head=most)),
        ("to a URI", "service", "redirect", dict(uri="ws://alpha.siren.example:8080/siren")),
        ("an empty URI", "service", "redirect", {}),
        ("a URI of 300 bytes: the length takes both bytes", "service", "redirect",
         dict(uri="ws://" + "a" * 295)),
        ("an account", "device", "new",
         dict(pubEncrKey=ALICE.key, pubAuthKey=ALICE.authentication.public, name="Alice",
              uid="alice@example.org", token="secret token")),
        ("an account without uid and token", "device", "new",
         dict(pubEncrKey=BOB.key, pubAuthKey=BOB.authentication.public, name="Bob")),
        ("a forum", "device", "new",
         dict(pubEncrKey=FORUM.key, pubAuthKey=FORUM.authentication.public, name="Форум 東京 🎉")),
        ("the longest fields", "device", "new",
         dict(pubEncrKey=CAROL.key, pubAuthKey=CAROL.authentication.public, name=long_name,
              uid=b"u" * 255, token=bytes(range(1, 256)))),
        ("an empty name is well-formed (the service refuses it)", "device", "new",
         dict(pubEncrKey=CAROL.key, pubAuthKey=CAROL.authentication.public)),
        ("of a forum", "device", "del", dict(pubEncrKey=FORUM.key)),
        ("from a user to a user", "both", "message",
         dict(time=1_416_528_000, recipientPubEncrKey=BOB.key, toPubEncrKey=BOB.key,
              fromPubEncrKey=ALICE.key)),
        ("one copy of a message to several", "both", "message",
         dict(time=1_416_528_000, recipientPubEncrKey=CAROL.key, toPubEncrKey=BOB.key,
              fromPubEncrKey=ALICE.key)),
        ("to a forum, as posted", "device", "message",
         dict(time=2**32, recipientPubEncrKey=FORUM.key, toPubEncrKey=FORUM.key,
              fromPubEncrKey=ALICE.key)),
        ("from a forum, as delivered", "service", "message",
         dict(time=2**32, recipientPubEncrKey=BOB.key, toPubEncrKey=FORUM.key,
              fromPubEncrKey=ALICE.key)),
        ("time 0", "both", "message",
         dict(recipientPubEncrKey=ALICE.key, toPubEncrKey=ALICE.key, fromPubEncrKey=ALICE.key)),
        ("the last time", "both", "message",
         dict(time=2**64 - 1, recipientPubEncrKey=ALICE.key, toPubEncrKey=ALICE.key,
              fromPubEncrKey=ALICE.key)),
        ("and its echo", "both", "truncate", dict(messageID=derived("message", 64))),
        ("the stream stops", "device", "pause", {}),
        ("the stream goes on", "device", "resume", {}),
        ("for bob by alice", "device", "vouch",
         dict(subjectPubEncrKey=BOB.key, signature=ALICE.authentication.sign(BOB.key))),
        ("revoked", "device", "vouch", dict(subjectPubEncrKey=BOB.key)),
        ("asked", "device", "vouchers", dict(subjectPubEncrKey=BOB.key)),
        ("answered: nobody", "service", "vouchers", dict(subjectPubEncrKey=BOB.key)),
        ("answered: one", "service", "vouchers",
         dict(subjectPubEncrKey=BOB.key, voucherPubEncrKeys=[ALICE.key])),
        ("answered: 300, in this order", "service", "vouchers",
         dict(subjectPubEncrKey=BOB.key,
              voucherPubEncrKeys=[derived(f"voucher {i}") for i in range(300)])),
        ("a prefix", "device", "searchByName", dict(maxUsers=10, name="al")),
        ("a glob, no limit", "device", "searchByName", dict(name="a*e?")),
        ("nothing", "device", "searchByName", {}),
        ("the longest name", "device", "searchByName", dict(maxUsers=65_535, name=long_name)),
        ("one", "device", "searchByUid", dict(maxUsers=1, uid="alice@example.org")),
        ("no limit", "device", "searchByUid", dict(uid="alice@example.org")),
        ("nothing", "device", "searchByUid", {}),
        ("alice's", "device", "searchByKey", dict(pubEncrKey=ALICE.key)),
        ("the first of two", "service", "user",
         dict(count=1, pubEncrKey=ALICE.key, name="Alice", uid="alice@example.org")),
        ("the last of them", "service", "user", dict(count=0, pubEncrKey=BOB.key, name="Bob")),
        ("no match", "service", "user", {}),
        ("the largest", "service", "user",
         dict(count=65_535, pubEncrKey=b"\xff" * 32, name=long_name, uid=b"u" * 255)),
    ]
    for name in ("read", "lock", "write", "remove"):
        rows += [
            (f"{name} asked", "device", name, dict(pubEncrKey=ALICE.key, filename="profile.json")),
            (f"{name} done", "service", name, dict(pubEncrKey=ALICE.key, filename="profile.json")),
            (f"{name} refused", "service", name,
             dict(pubEncrKey=FORUM.key, error=2, filename="Übersicht")),
            (f"{name}: error in a request is ignored", "device", name,
             dict(pubEncrKey=ALICE.key, error=65_535, filename="a")),
            (f"{name}: a reserved file", "device", name,
             dict(pubEncrKey=FORUM.key, filename="subscribers")),
            (f"{name}: the longest filename", "both", name,
             dict(pubEncrKey=FORUM.key, error=5, filename=long_name)),
            (f"{name}: a bad filename is well-formed (the answer is error 4)", "both", name,
             dict(pubEncrKey=FORUM.key, error=4, filename=b"../\xff\x00")),
            (f"{name}: no filename is well-formed (the answer is error 4)", "both", name,
             dict(pubEncrKey=FORUM.key)),
        ]
    return rows


def header_vectors() -> dict:
    vectors = []
    for what, sender, name, fields in headers():
        header = wire.encode(name, **fields)
        complete = wire.decode(header)
        assert wire.encode(name, **complete.fields) == header
        vectors.append({"name": what, "from": sender, "type": wire.LAYOUTS[name][0],
                        "typeName": name, "fields": {k: plain(v) for k, v in complete.fields.items()},
                        "header": header.hex()})
    assert {vector["type"] for vector in vectors} == set(range(1, 19))
    return {"about": "Headers in clear. Integers are numbers (time may need 64 bits), everything else "
                     "is hex, names too. from: who may send it. Decoding gives the fields, encoding "
                     "them gives the header; every proper prefix of a header, and every header with "
                     "a byte more, is to be refused.",
            "headers": vectors}


# refused-headers.json


def refused_vectors() -> dict:
    new = dict(pubEncrKey=ALICE.key, pubAuthKey=ALICE.authentication.public, name="Alice", uid="u",
               token="t")
    vouchers = wire.encode("vouchers", subjectPubEncrKey=BOB.key)
    two = wire.encode("vouchers", subjectPubEncrKey=BOB.key, voucherPubEncrKeys=[ALICE.key] * 2)
    read = wire.encode("read", pubEncrKey=ALICE.key, filename="abc")
    user = wire.encode("user", count=1, pubEncrKey=ALICE.key, name="Alice", uid="u")
    login = wire.encode("login", userPubEncrKey=ALICE.key, signature=ALICE.signature)
    redirect = wire.encode("redirect", uri="ws://h/")
    rows = [
        ("nothing at all", b""),
        ("a version and no type", b"\x01"),
        ("version 0", b"\x00" + login[1:]),
        ("version 2", b"\x02" + login[1:]),
        ("version 2, a type that version 1 doesn't have", b"\x02\xc8"),
        ("version 255 and nothing else", b"\xff"),
        ("login without max and head, as in the oldest drafts", login[:98]),
        ("login without the last byte", login[:-1]),
        ("login with a byte more", login + b"\x00"),
        ("redirect: uriLen says more", redirect[:3] + b"\x08" + redirect[4:]),
        ("redirect: uriLen says less", redirect[:3] + b"\x06" + redirect[4:]),
        ("new: the three lengths but no texts", wire.encode("new", **new)[:69]),
        ("new: nameLen says more", bytearray(wire.encode("new", **new))),
        ("new: tokenLen 255 and no token", bytearray(wire.encode("new", **new))),
        ("new: a token of 256 bytes, its length cut to 8 bits",
         wire.encode("new", **{**new, "token": b""}) + bytes(256)),
        ("del of a key of 31 bytes", wire.encode("del", pubEncrKey=FORUM.key)[:-1]),
        ("message without time, as in the RFC's one-line formula",
         b"\x01\x05" + BOB.key + BOB.key + ALICE.key),
        ("message with a byte more",
         wire.encode("message", recipientPubEncrKey=BOB.key, toPubEncrKey=BOB.key,
                     fromPubEncrKey=ALICE.key) + b"\x00"),
        ("truncate with an ID of 32 bytes", b"\x01\x06" + bytes(32)),
        ("pause with a byte", b"\x01\x07\x00"),
        ("resume with a byte", b"\x01\x08\x00"),
        ("vouch without signature", b"\x01\x09" + BOB.key),
        ("vouchers: count 1 and no key", vouchers[:-1] + b"\x01"),
        ("vouchers: count 2^32-1 and no key", vouchers[:-4] + b"\xff" * 4),
        ("vouchers: count 2^27, 32 times that is 2^32", vouchers[:-4] + b"\x08\x00\x00\x00"),
        ("vouchers: count 1 and two keys", two[:37] + b"\x01" + two[38:]),
        ("vouchers: count 3 and two keys", two[:37] + b"\x03" + two[38:]),
        ("vouchers: count 0 and two keys", two[:37] + b"\x00" + two[38:]),
        ("vouchers: half a key more", two + bytes(16)),
        ("searchByName without maxUsers, as in the RFC's one-line formula", b"\x01\x0b\x02al"),
        ("searchByUid with a length only", b"\x01\x0c\x00\x00"),
        ("searchByKey without key", b"\x01\x0d"),
        ("user: uidLen says less", user[:37] + b"\x00" + user[38:]),
        ("user: nameLen says more", user[:36] + b"\x07" + user[37:]),
        ("read without filenameLen", read[:36]),
        ("read: filenameLen says more", read[:36] + b"\x04" + read[37:]),
        ("read: filenameLen says less", read[:36] + b"\x02" + read[37:]),
        ("lock: empty after the type", b"\x01\x10"),
        ("write: a byte more", b"\x01\x11" + read[2:] + b"\x00"),
        ("remove: a byte less", b"\x01\x12" + read[2:-1]),
    ]
    vectors = []
    for what, header in rows:
        header = bytearray(header)
        if what == "new: nameLen says more":
            header[66] += 3
        if what == "new: tokenLen 255 and no token":
            header[68] = 255
        header = bytes(header)
        try:
            wire.decode(header)
            raise RuntimeError(f"{what} isn't refused")
        except wire.ProtocolError as error:
            vectors.append({"name": what, "header": header.hex(), "reason": error.reason})
    assert {vector["reason"] for vector in vectors} == {"truncated", "trailing", "version"}
    unknown = [{"name": f"type {number}", "header": header.hex()} for number, header in (
        (0, b"\x01\x00"), (19, b"\x01\x13"), (19, b"\x01\x13" + bytes(300)), (255, b"\x01\xff\x00"))]
    return {"about": "Headers to be refused. reason: truncated (too short for what it says), trailing "
                     "(bytes left over), version. The service closes with 1008: at once after "
                     "login, after a random silence before it. unknownTypes are not refused: they "
                     "are ignored, and the connection goes on.",
            "headers": vectors, "unknownTypes": unknown}


# connections.json


def connection_vectors() -> dict:
    data = "Ahoj, Bobe! 🦉".encode()
    to_bob = edata(data, ALICE.encryption.secret, BOB.key)
    from_bob = edata(b"Hello, Alice", BOB.encryption.secret, ALICE.key)
    file = edata(b"the file's content", ALICE.encryption.secret, SERVICE.key)
    empty = edata(b"", ALICE.encryption.secret, SERVICE.key)
    answer = edata(b"the file's content", SERVICE.encryption.secret, ALICE.key)
    no_content = edata(b"", SERVICE.encryption.secret, ALICE.key)
    description = edata(b"no such file", SERVICE.encryption.secret, ALICE.key)
    script = [
        ("device", "new", dict(pubEncrKey=ALICE.key, pubAuthKey=ALICE.authentication.public,
                               name="Alice", uid="alice"), b""),
        ("device", "login", dict(userPubEncrKey=ALICE.key, signature=ALICE.signature), b""),
        ("device", "message", dict(time=1, recipientPubEncrKey=BOB.key, toPubEncrKey=BOB.key,
                                   fromPubEncrKey=ALICE.key), to_bob),
        ("service", "message", dict(time=2, recipientPubEncrKey=ALICE.key, toPubEncrKey=ALICE.key,
                                    fromPubEncrKey=BOB.key), from_bob),
        ("device", "message", dict(time=3, recipientPubEncrKey=BOB.key, toPubEncrKey=BOB.key,
                                   fromPubEncrKey=ALICE.key), b""),
        ("device", "pause", {}, b""),
        ("device", "resume", {}, b""),
        ("device", "write", dict(pubEncrKey=ALICE.key, filename="note"), file),
        ("service", "write", dict(pubEncrKey=ALICE.key, filename="note"), b""),
        ("device", "write", dict(pubEncrKey=ALICE.key, filename="nothing"), empty),
        ("service", "write", dict(pubEncrKey=ALICE.key, filename="nothing"), b""),
        ("device", "read", dict(pubEncrKey=ALICE.key, filename="note"), b""),
        ("service", "read", dict(pubEncrKey=ALICE.key, filename="note"), answer),
        ("device", "lock", dict(pubEncrKey=ALICE.key, filename="new"), b""),
        ("service", "lock", dict(pubEncrKey=ALICE.key, filename="new"), no_content),
        ("device", "read", dict(pubEncrKey=ALICE.key, filename="other"), b""),
        ("service", "read", dict(pubEncrKey=ALICE.key, error=2, filename="other"), description),
        ("device", "vouchers", dict(subjectPubEncrKey=BOB.key), b""),
        ("service", "vouchers", dict(subjectPubEncrKey=BOB.key, voucherPubEncrKeys=[CAROL.key]),
         b""),
        ("service", "redirect", dict(uri="ws://beta.example/siren"), b""),
    ]
    connections = []
    for pair in (SMALLER, LARGER):
        device, service = channels(pair)
        messages = []
        for sender, name, fields, data_box in script:
            channel, other = (device, service) if sender == "device" else (service, device)
            header, seq = wire.encode(name, **fields), channel.next_sent
            message = channel.seal(header, data_box)
            assert other.open(message) == (header, data_box)
            messages.append({"from": sender, "typeName": name, "seq": seq, "header": header.hex(),
                             "eData": data_box.hex(), "message": message.hex()})
        connections.append({"ephemeralSecret": pair.secret.hex(), "ephemeralKey": pair.public.hex(),
                            "messages": messages})
    boxes = [
        {"name": "alice to bob", "from": "alice", "to": "bob", "data": data.hex(),
         "eData": to_bob.hex()},
        {"name": "bob to alice", "from": "bob", "to": "alice", "data": b"Hello, Alice".hex(),
         "eData": from_bob.hex()},
        {"name": "a file, alice to the service", "from": "alice", "to": "service",
         "data": b"the file's content".hex(), "eData": file.hex()},
        {"name": "an empty file is a box of 16 bytes", "from": "alice", "to": "service", "data": "",
         "eData": empty.hex()},
        {"name": "a file, the service to alice", "from": "service", "to": "alice",
         "data": b"the file's content".hex(), "eData": answer.hex()},
        {"name": "an error's description (any text)", "from": "service", "to": "alice",
         "data": b"no such file".hex(), "eData": description.hex()},
    ]
    message = bytes.fromhex(connections[0]["messages"][1]["message"])
    refused = [
        ("nothing", b"", "lengths"), ("seven bytes", message[:7], "lengths"),
        ("the last byte is missing", message[:-1], "lengths"),
        ("a byte more", message + b"\x00", "lengths"),
        ("two in one", message + message, "lengths"),
        ("headerLen 2^32-1", b"\xff" * 4 + message[4:], "lengths"),
        ("dataLen 2^32-1", message[:4] + b"\xff" * 4 + message[8:], "lengths"),
        ("both: their sum with 8 wraps in 32 bits to the right length",
         (2**32 - 8).to_bytes(4, "big") + (len(message)).to_bytes(4, "big") + message[8:], "lengths"),
        ("an empty eHeader", wire.frame(b""), "box"),
        ("an eHeader of 15 bytes", wire.frame(message[8:23]), "box"),
        ("one bit of the tag", message[:8] + bytes([message[8] ^ 1]) + message[9:], "box"),
        ("one bit of the ciphertext", message[:-1] + bytes([message[-1] ^ 1]), "box"),
        ("headerLen one less, dataLen one more",
         wire.frame(message[8:-1], message[-1:]), "box"),
        ("the first of the connection instead of the second",
         bytes.fromhex(connections[0]["messages"][0]["message"]), "box"),
        ("the third instead of the second",
         bytes.fromhex(connections[0]["messages"][2]["message"]), "box"),
        ("the same PDU on another connection",
         bytes.fromhex(connections[1]["messages"][1]["message"]), "box"),
    ]
    rows = []
    for what, refused_message, reason in refused:
        _, service = channels(SMALLER)
        service.open(bytes.fromhex(connections[0]["messages"][0]["message"]))
        try:
            service.open(refused_message)
            raise RuntimeError(f"{what} isn't refused")
        except wire.ProtocolError as error:
            assert error.reason == reason, (what, error.reason)
        rows.append({"name": what, "message": refused_message.hex(), "reason": reason})
    return {"about": "Two whole connections as WebSocket messages: `message` is "
                     "headerLen dataLen eHeader eData. The first has the device's key smaller, the "
                     "second larger. seq counts each direction for itself. boxes: what is in the "
                     "eData. refused: in place of the second message that the device sends on the "
                     "first connection; lengths closes with 1002, box with 1008.",
            "connections": connections, "boxes": boxes, "refused": rows}


# messages.json


def message_vectors() -> dict:
    header = wire.encode("message", time=1_416_528_000, recipientPubEncrKey=BOB.key,
                         toPubEncrKey=BOB.key, fromPubEncrKey=ALICE.key)
    ids = []
    for what, data_box in (("boxed data", edata(b"Hello", ALICE.encryption.secret, BOB.key)),
                           ("no data", b""),
                           ("the service doesn't look into it", bytes(range(256)))):
        ids.append({"name": what, "header": header.hex(), "eData": data_box.hex(),
                    "messageID": wire.message_id(header, data_box).hex()})
    post = b"Concert tonight at eight"
    posted_header = wire.encode("message", time=1_416_531_600, recipientPubEncrKey=FORUM.key,
                                toPubEncrKey=FORUM.key, fromPubEncrKey=ALICE.key)
    posted = edata(post, ALICE.encryption.secret, FORUM.key)
    copies = []
    for reader in (BOB, CAROL):
        copy_header = wire.encode("message", time=1_416_531_600, recipientPubEncrKey=reader.key,
                                  toPubEncrKey=FORUM.key, fromPubEncrKey=ALICE.key)
        copy = edata(post, FORUM.encryption.secret, reader.key)
        assert wire.unbox(copy, DATA_NONCE,
                          wire.shared_key(FORUM.key, reader.encryption.secret)) == post
        copies.append({"reader": reader.name, "header": copy_header.hex(), "eData": copy.hex(),
                       "messageID": wire.message_id(copy_header, copy).hex(),
                       "blindEData": posted.hex(),
                       "blindMessageID": wire.message_id(copy_header, posted).hex()})
    ephemeral_secret = derived("sealed box")
    sealed = wire.seal(FORUM.encryption.secret, SERVICE.key, ephemeral_secret)
    opened = nacl_public.SealedBox(
        nacl_public.PrivateKey(SERVICE.encryption.secret)).decrypt(sealed)
    assert opened == FORUM.encryption.secret and len(sealed) == 80
    return {"about": "messageID = sha512(header || eData). forum: what alice posts, and what the "
                     "service makes of it for each reader with the forum's secret in escrow (eData) "
                     "and without (blindEData). escrow: the content of the reserved file `secret`, "
                     "which a client's crypto_box_seal makes with a random ephemeral secret; "
                     "written as a file, it is boxed once more.",
            "messageIDs": ids,
            "forum": {"data": post.hex(), "header": posted_header.hex(), "eData": posted.hex(),
                      "messageID": wire.message_id(posted_header, posted).hex(), "copies": copies},
            "escrow": {"forumSecret": FORUM.encryption.secret.hex(),
                       "ephemeralSecret": ephemeral_secret.hex(), "sealed": sealed.hex(),
                       "eDataOfAlice": edata(sealed, ALICE.encryption.secret, SERVICE.key).hex()}}


# handshakes.json


def handshake_vectors() -> dict:
    key, other = SMALLER.public.hex(), LARGER.public.hex()
    low = bytes(32).hex()
    rows = [
        ("hex in lower case", f"?{key}", 101), ("hex in upper case", f"?{key.upper()}", 101),
        ("hex in both", f"?{key[:32].upper()}{key[32:]}", 101), ("key=", f"?key={other}", 101),
        ("key= in upper case", f"?key={other.upper()}", 101), ("no query", "", 400),
        ("an empty query", "?", 400), ("key= and nothing", "?key=", 400),
        ("63 digits", f"?{key[:63]}", 400), ("65 digits", f"?{key}0", 400),
        ("66 digits", f"?{key}00", 400), ("a digit that is none", f"?{key[:63]}g", 400),
        ("0x in front", f"?0x{key}", 400), ("0x within 64", f"?0x{key[2:]}", 400),
        ("a sign", f"?+{key[1:]}", 400), ("a full-width digit", f"?{key[:61]}%EF%BC%91", 400),
        ("of low order", f"?{low}", 400), ("of low order, with key=", f"?key={low}", 400),
        ("the service's own key", f"?{SERVICE.key.hex()}", 400),
    ]
    return {"about": "Queries of an upgrade request, and its answer when the keys are fresh; the "
                     "service's key is the one of keys.json. Any of them on a plain GET gets 426.",
            "handshakes": [{"name": what, "query": query, "status": status}
                           for what, query, status in rows]}


FILES = {"keys.json": key_vectors, "nonces.json": nonce_vectors, "headers.json": header_vectors,
         "refused-headers.json": refused_vectors, "connections.json": connection_vectors,
         "messages.json": message_vectors, "handshakes.json": handshake_vectors}


def main() -> int:
    check = "--check" in sys.argv[1:]
    different = []
    for name, make in FILES.items():
        text = json.dumps(make(), indent=1, ensure_ascii=False) + "\n"
        if not check:
            (HERE / name).write_text(text)
        elif (HERE / name).read_text() != text:
            different.append(name)
    for name in different:
        print(f"{name} differs from what this script makes")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

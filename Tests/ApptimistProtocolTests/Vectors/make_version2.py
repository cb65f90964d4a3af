#!/usr/bin/python3
"""Writes version2.json beside it, from fixed texts: the same file comes out every time. With `--check` it writes nothing
and says what differs.

Needs PyNaCl (Debian: python3-nacl); the encoding is apptimist2_protocol.py's.
"""

import hashlib
import json
import pathlib
import sys

sys.dont_write_bytecode = True

import apptimist_protocol as version1
import apptimist2_protocol as wire

FILE = pathlib.Path(__file__).parent / "version2.json"
TIME = 1_700_000_000
ZERO = bytes(64)


def derived(what: str, size: int = 32) -> bytes:
    """Bytes that look random and are always the same."""
    return hashlib.shake_256(b"awd apptimist version 2: " + what.encode()).digest(size)


class Person:
    def __init__(self, name: str):
        self.secret, self.seed = derived(name + " encryption"), derived(name + " authentication")
        self.key = wire.encryption_public(self.secret)
        self.authentication = wire.authentication_public(self.seed)

    def sign(self, message: bytes) -> bytes:
        return wire.sign(message, self.seed)

    @property
    def vector(self) -> dict:
        return {"encryptionSecret": self.secret, "encryptionKey": self.key,
                "authenticationSeed": self.seed, "authenticationKey": self.authentication}


SERVICE, ANNE, BERT, CLEO, FORUM = (Person(name) for name in
                                    ("service", "anne", "bert", "cleo", "forum"))
DEVICE, NODE = Person("device's ephemeral"), Person("service's ephemeral")
SIGNATURE = SERVICE.sign(SERVICE.key)
S = SERVICE.key


def handshake(offered: list[int], subprotocols: str) -> dict:
    hashed = wire.handshake_hashed(S, SERVICE.authentication, DEVICE.key, NODE.key, offered)
    h = wire.sha512(hashed)
    first, second = wire.agree(DEVICE.secret, S), wire.agree(DEVICE.secret, NODE.key)
    assert first == wire.agree(SERVICE.secret, DEVICE.key)
    k = wire.keys(first, second, h)
    header = wire.own("hello", time=TIME, headerMax=4096, dataMax=1 << 20, pageMax=100)
    frame = wire.frame(header)
    return {"subprotocols": subprotocols, "offered": offered, "hashed": hashed, "h": h,
            "sharedES": first, "sharedEE": second, "K": k, "deviceKey": k[:32],
            "serviceKey": k[32:], "helloHeader": header, "helloFrame": frame, "nonce": wire.nonce(0),
            "firstMessage": NODE.key + wire.box(k[32:], wire.nonce(0), frame)}


HANDSHAKES = [handshake([2], "apptimist.2"), handshake([3, 2], "apptimist.3, apptimist.2, chat")]
H, DEVICE_KEY, SERVICE_KEY = (HANDSHAKES[0][name] for name in ("h", "deviceKey", "serviceKey"))


def sealed(name: str, kind: int, sender: Person, receiver: Person, to: Person, from_: Person,
           recipient: Person, plain: bytes, **more) -> dict:
    fresh = derived("fresh: " + name)
    g = wire.encryption_public(fresh)
    shared = wire.agree(fresh, receiver.key), wire.agree(sender.secret, receiver.key)
    edata = wire.seal(kind, plain, fresh, S, sender.secret, receiver.key, to.key, from_.key, TIME)
    header = wire.version1_header(TIME, recipient.key, to.key, from_.key)
    return {"name": name, "kind": kind, "sender": sender.key, "receiver": receiver.key,
            "receiverSecret": receiver.secret, "toPubEncrKey": to.key, "fromPubEncrKey": from_.key,
            "recipientPubEncrKey": recipient.key, "time": TIME, "gSecret": fresh, "g": g,
            "sharedG": shared[0], "sharedStatic": shared[1],
            "M": wire.seal_keys(kind, *shared, g, S, sender.key, receiver.key, to.key, from_.key,
                                TIME),
            "plain": plain, "eData": edata, "header1": header,
            "messageID": wire.sha512(header, edata), **more}


CONTENT = "Grüße an alle".encode()
POST_SIGNED = wire.post_signed(S, FORUM.key, ANNE.key, TIME, CONTENT)
POST = {"signed": POST_SIGNED, "signature": ANNE.sign(POST_SIGNED), "signer": ANNE.authentication,
        "content": CONTENT}
SEALED = [
    sealed("message from anne to bert", 1, ANNE, BERT, BERT, ANNE, BERT, b"hello bert"),
    sealed("empty message from anne to bert", 1, ANNE, BERT, BERT, ANNE, BERT, b""),
    sealed("post of anne in the forum", 2, ANNE, FORUM, FORUM, ANNE, FORUM,
           POST["signature"] + CONTENT, **POST),
    sealed("copy of it for cleo", 3, FORUM, CLEO, FORUM, ANNE, CLEO, POST["signature"] + CONTENT,
           **POST),
    sealed("copy for cleo of a post of version 1", 3, FORUM, CLEO, FORUM, ANNE, CLEO,
           ZERO + CONTENT, content=CONTENT),
]
MESSAGE = SEALED[0]
POSSESSED = wire.agree(ANNE.secret, NODE.key)
POSSESSION = wire.possession(POSSESSED, H, ANNE.key)
LOGIN_SIGNED = wire.label("login") + H + ANNE.key
LEAVE_SIGNED = wire.label("leave") + H + ANNE.key
NEW_SIGNED = wire.label("new") + H + ANNE.key + ANNE.authentication
VOUCH_SIGNED = wire.vouch_signed(S, ANNE.key, BERT.key)
VOUCHER = ANNE.key + ANNE.authentication + ANNE.sign(VOUCH_SIGNED)
BERT_FOUND = wire.user(BERT.key, BERT.authentication, 1, 1, b"Bert", b"uid-bert")
CURSOR = bytes(range(16))
TOKEN = b"fcm-token:0123456789_ABCDEFGHIJKLMNOPQRS"
BROWSER = b"\x04" + bytes(range(64)) + bytes(16) + b"https://push.example/wake"


def pdus() -> list[dict]:
    fields = {
        "new": {"pubEncrKey": ANNE.key, "pubAuthKey": ANNE.authentication,
                "signature": ANNE.sign(NEW_SIGNED), "possession": POSSESSION, "flags": 1,
                "name": "Anne", "uid": "uid-anne"},
        "login": {"userPubEncrKey": ANNE.key, "signature": ANNE.sign(LOGIN_SIGNED),
                  "possession": POSSESSION, "device": derived("device", 16), "max": 500,
                  "epoch": 0x0102030405060708, "after": 41},
        "del": {"pubEncrKey": FORUM.key},
        "message": {"time": TIME, "recipientPubEncrKey": BERT.key, "toPubEncrKey": BERT.key,
                    "fromPubEncrKey": ANNE.key},
        "truncate": {"messageID": MESSAGE["messageID"]}, "pause": {}, "resume": {},
        "vouch": {"subjectPubEncrKey": BERT.key, "signature": ANNE.sign(VOUCH_SIGNED)},
        "vouchers": {"subjectPubEncrKey": BERT.key, "max": 50},
        "searchByName": {"max": 20, "cursor": CURSOR, "name": "Zoë*"},
        "searchByUid": {"uid": "uid-bert"}, "searchByKey": {"pubEncrKey": BERT.key},
        **{name: {"pubEncrKey": BERT.key, "filename": "profile"}
           for name in ("read", "lock", "write", "remove")},
    }
    data = {"new": b"t" * 300, "message": MESSAGE["eData"], "write": b"hi"}
    rows = [(name, "device", wire.request(name, number, **fields[name]), data.get(name, b""))
            for number, name in enumerate(fields, start=1)]
    rows.append(("ack, unanswered", "device", wire.request("ack", 0, position=42), b""))
    answers = [
        ("new", 0, {}, b""), ("login", 0, {"epoch": 0x0102030405060708, "first": 7, "last": 45,
                                          "start": 41, "flags": 1}, b""),
        ("del", 1, {}, b""), ("message", 0, {}, b""), ("truncate", 0, {"known": 1, "position": 44}, b""),
        ("pause", 0, {}, b""), ("resume", 0, {}, b""), ("vouch", 0, {}, b""),
        ("vouchers", 0, {"count": 1}, VOUCHER),
        ("searchByName", 0, {"next": CURSOR, "count": 1}, BERT_FOUND), ("searchByUid", 0, {}, b""),
        ("searchByKey", 0, {"count": 1}, BERT_FOUND), ("read", 0, {}, b"hi"), ("lock", 3, {}, b""),
        ("write", 0, {}, b""), ("remove", 2, {}, b""),
    ]
    for number, (name, error, more, content) in enumerate(answers, start=1):
        rows.append((f"answer to {name}", "service", wire.answer(name, number, error, **more), content))
    rows += [
        ("message of the stream", "service", wire.own("message", position=42, **fields["message"]),
         MESSAGE["eData"]),
        ("truncate of the stream", "service",
         wire.own("truncate", position=43, messageID=MESSAGE["messageID"]), b""),
        ("redirect", "service",
         wire.own("redirect", reason=2, uri="wss://node2.example:8080/siren"), b""),
    ]
    counters = {"device": 0, "service": 1}  # the service's first is hello
    out = []
    for name, sender, header, content in rows:
        out.append(boxed(name, sender, counters[sender], header, content))
        counters[sender] += 1
    out.append(boxed("pause with a counter beyond 32 bits", "device", 2**32 + 1,
                     wire.request("pause", 1), b""))
    for name, header, data in [
            ("push", wire.request("push", 7, kind=3, tag=bytes(range(1, 9)), keyCount=1, addressLen=40),
             TOKEN + BERT.key),
            ("push of a browser", wire.request("push", 8, kind=4, flags=1, keyCount=2,
                                               addressLen=len(BROWSER)), BROWSER + BERT.key + FORUM.key),
            ("push that unbinds", wire.request("push", 9), b""),
            ("leave", wire.request("leave", 10, signature=ANNE.sign(LEAVE_SIGNED)), b""),
            ("join", wire.request("join", 11, forum=FORUM.key), b"")]:
        out.append(boxed(name, "device", counters["device"], header, data))
        counters["device"] += 1
    out.append(boxed("answer to push", "service", counters["service"], wire.answer("push", 7, 11), b""))
    return out


def boxed(name: str, sender: str, number: int, header: bytes, data: bytes) -> dict:
    frame, key = wire.frame(header, data), DEVICE_KEY if sender == "device" else SERVICE_KEY
    return {"name": name, "sender": sender, "n": number, "header": header, "data": data,
            "frame": frame, "nonce": wire.nonce(number),
            "box": wire.box(key, wire.nonce(number), frame)}


PDUS = pdus()


def changed(message: bytes, place: int, bit: int = 1) -> bytes:
    return message[:place] + bytes([message[place] ^ bit]) + message[place + 1:]


def forged_post() -> bytes:
    """A post as if of anne, by bert: who has the forum's secret computes X(forum, anne), which is X(anne, forum)."""
    fresh = derived("forged")
    g = wire.encryption_public(fresh)
    m = wire.seal_keys(2, wire.agree(fresh, FORUM.key), wire.agree(FORUM.secret, ANNE.key), g, S, ANNE.key,
                       FORUM.key, FORUM.key, ANNE.key, TIME)
    return wire.MARK + b"\x02" + g + wire.box(m[:32], m[32:56], BERT.sign(POST_SIGNED) + CONTENT)


def refuse() -> list[dict]:
    sample = PDUS[3]
    box, frame, number = sample["box"], sample["frame"], sample["n"]
    rows = [("box", reason, {"key": DEVICE_KEY, "n": n, "box": what}, "1008") for reason, n, what in [
        ("one bit of the tag was changed", number, changed(box, 0)),
        ("one bit of headerLen was changed", number, changed(box, 16)),
        ("one bit of dataLen was changed", number, changed(box, 23)),
        ("one bit of the header was changed", number, changed(box, 24)),
        ("one bit of the data was changed", number, changed(box, len(box) - 1)),
        ("replayed: n is one behind", number + 1, box), ("one PDU is missing before it", number - 1, box),
        ("sealed with the key of the other direction", number,
         wire.box(SERVICE_KEY, wire.nonce(number), frame)),
        ("sealed with version 1's crypto_box of e and S", 0, version1.box(
            wire.frame(wire.request("pause", 1)), wire.nonce(0),
            version1.shared_key(S, DEVICE.secret))),
        ("cut off", number, box[:-1]), ("shorter than a tag", number, box[:15])]]
    hello = HANDSHAKES[0]["firstMessage"]
    twice = wire.keys(HANDSHAKES[0]["sharedEE"], HANDSHAKES[0]["sharedEE"], H)
    rows += [("first message", reason, {"offered": offered, "firstMessage": what}, "the device closes")
             for reason, offered, what in [
                 ("apptimist.3 was struck out on the way", [3, 2], hello),
                 ("made without the service's secret", [2],
                  NODE.key + wire.box(twice[32:], wire.nonce(0), HANDSHAKES[0]["helloFrame"])),
                 ("f was changed", [2], changed(hello, 0)),
                 ("f is of low order", [2], bytes(32) + hello[32:])]]
    pause = wire.request("pause", 1)
    rows += [("frame", reason, {"frame": what}, "1002") for reason, what in [
        ("shorter than its lengths", bytes(7)), ("one byte more than its lengths say",
                                                 wire.frame(pause) + b"\0"),
        ("headerLen is one too many", b"\0\0\0\x07" + bytes(4) + pause),
        ("lengths whose sum overflows 32 bits", b"\xff" * 4 + b"\0\0\0\x0f" + pause)]]
    truncate = wire.request("truncate", 1, messageID=MESSAGE["messageID"])
    rows += [("header", reason, {"header": what}, result) for reason, what, result in [
        ("shorter than 6 bytes", pause[:5], "1008"), ("version 1", b"\x01" + pause[1:], "1008"),
        ("version 3", b"\x03" + pause[1:], "1008"), ("one byte left over", pause + b"\0", "1008"),
        ("truncate, one byte short", truncate[:-1], "1008"),
        ("searchByName whose nameLen says more than there is",
         wire.start(11, 1) + bytes(18) + b"\x09x", "1008"),
        ("push, one byte short", wire.request("push", 1)[:-1], "1008"),
        ("leave, one byte short", wire.request("leave", 1)[:-1], "1008"),
        ("join, one byte short", wire.request("join", 1)[:-1], "1008"),
        ("push with keys in the header", wire.request("push", 1, keyCount=1) + BERT.key, "1008"),
        ("an unknown type", wire.start(99, 1) + b"xyz", "error 11"),
        ("redirect from a device", wire.start(2, 1) + bytes(2), "error 11"),
        ("an answer's type from a device", wire.start(0x85, 1), "error 11")]]
    other = wire.sha512(b"another connection")
    elsewhere = wire.sha512(wire.handshake_hashed(CLEO.key, CLEO.authentication, DEVICE.key, NODE.key, [2]))
    login = ANNE.sign(LOGIN_SIGNED)
    order = 2**252 + 27742317777372353535851937790883648493
    unreduced = login[:32] + (int.from_bytes(login[32:], "little") + order).to_bytes(32, "little")
    rows += [("signature", reason, {"key": key, "signed": signed, "signature": signature}, "error 9")
             for reason, key, signed, signature in [
                 ("login: version 1's signature", ANNE.authentication, LOGIN_SIGNED, ANNE.sign(ANNE.key)),
                 ("login: made on another connection", ANNE.authentication, LOGIN_SIGNED,
                  ANNE.sign(wire.label("login") + other + ANNE.key)),
                 ("login: made for another service", ANNE.authentication, LOGIN_SIGNED,
                  ANNE.sign(wire.label("login") + elsewhere + ANNE.key)),
                 ("login: the signature of new", ANNE.authentication, LOGIN_SIGNED,
                  ANNE.sign(NEW_SIGNED)),
                 ("login: another user's", ANNE.authentication, LOGIN_SIGNED, BERT.sign(LOGIN_SIGNED)),
                 ("login: zero", ANNE.authentication, LOGIN_SIGNED, ZERO),
                 ("login: S is not reduced", ANNE.authentication, LOGIN_SIGNED, unreduced),
                 ("vouch: version 1's", ANNE.authentication, VOUCH_SIGNED, ANNE.sign(BERT.key)),
                 ("vouch: for another subject", ANNE.authentication, VOUCH_SIGNED,
                  ANNE.sign(wire.vouch_signed(S, ANNE.key, CLEO.key))),
                 ("vouch: at another service", ANNE.authentication, VOUCH_SIGNED,
                  ANNE.sign(wire.vouch_signed(BERT.key, ANNE.key, BERT.key))),
                 ("post: another time", ANNE.authentication, POST_SIGNED,
                  ANNE.sign(wire.post_signed(S, FORUM.key, ANNE.key, TIME + 1, CONTENT))),
                 ("post: another forum", ANNE.authentication, POST_SIGNED,
                  ANNE.sign(wire.post_signed(S, CLEO.key, ANNE.key, TIME, CONTENT))),
                 ("post: none", ANNE.authentication, POST_SIGNED, ZERO),
                 ("service.json: over versions [1] only", SERVICE.authentication,
                  wire.service_signed(S, [1, 2]), SERVICE.sign(wire.service_signed(S, [1])))]]
    rows += [("possession", reason,
              {"key": ANNE.key, "h": H, "serviceEphemeralSecret": NODE.secret, "value": value}, "error 9")
             for reason, value in [
                 ("of another connection", wire.possession(POSSESSED, other, ANNE.key)),
                 ("made with another secret",
                  wire.possession(wire.agree(BERT.secret, NODE.key), H, ANNE.key)),
                 ("made with the service's long-lived key",
                  wire.possession(wire.agree(ANNE.secret, S), H, ANNE.key))]]
    rows += [("user key", reason, {"key": key}, "error 12") for reason, key in [
        ("zero", bytes(32)), ("one", b"\x01" + bytes(31)),
        ("of order 8", bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")),
        ("not canonical: p + 9", (2**255 - 10).to_bytes(32, "little")),
        ("the top bit set", ANNE.key[:31] + bytes([ANNE.key[31] | 0x80])), ("the service's", S)]]
    edata = MESSAGE["eData"]
    fields = {"kind": 1, "sender": ANNE.key, "receiverSecret": BERT.secret, "toPubEncrKey": BERT.key,
              "fromPubEncrKey": ANNE.key, "time": TIME, "eData": edata}
    rows += [("sealed", reason, {**fields, **more}, "the reader refuses it") for reason, more in [
        ("another time", {"time": TIME + 1}), ("another sender", {"sender": CLEO.key}),
        ("another `from`", {"fromPubEncrKey": CLEO.key}), ("another `to`", {"toPubEncrKey": CLEO.key}),
        ("for another reader", {"receiverSecret": CLEO.secret}),
        ("the kind was changed", {"eData": edata[:7] + b"\x03" + edata[8:]}),
        ("g was changed", {"eData": changed(edata, 8)}),
        ("g is of low order", {"eData": edata[:8] + bytes(32) + edata[40:]}),
        ("the tag was changed", {"eData": changed(edata, 40)}),
        ("the text was changed", {"eData": changed(edata, len(edata) - 1)}),
        ("cut off", {"eData": edata[:-1]}), ("shorter than a sealed message", {"eData": edata[:55]}),
        ("version 1's box", {"eData": version1.box(
            b"hello bert", SIGNATURE[:24], version1.shared_key(BERT.key, ANNE.secret))}),
        ("sealed at another service", {"eData": wire.seal(
            1, b"hello bert", derived("elsewhere"), CLEO.key, ANNE.secret, BERT.key, BERT.key, ANNE.key,
            TIME)}),
        ("a post of anne, made by who has the forum's secret: it opens, and is not signed by anne",
         {"kind": 2, "receiverSecret": FORUM.secret, "toPubEncrKey": FORUM.key,
          "signer": ANNE.authentication, "opens": True, "eData": forged_post()})]]
    return [{"what": what, "reason": reason, **values, "result": result}
            for what, reason, values, result in rows]


def vectors() -> dict:
    box1 = version1.box(b"hello bert", SIGNATURE[:24], version1.shared_key(BERT.key, ANNE.secret))
    header1 = wire.version1_header(TIME, BERT.key, BERT.key, ANNE.key)
    return {
        "about": "Byte strings in hex. Secrets of X25519 are the 32 bytes given to crypto_scalarmult, of Ed25519 the "
                 "seed. `refuse`: what must be refused, and with what.",
        "keys": {"service": SERVICE.vector, "anne": ANNE.vector, "bert": BERT.vector,
                 "cleo": CLEO.vector, "forum": FORUM.vector,
                 "deviceEphemeral": {"secret": DEVICE.secret, "key": DEVICE.key},
                 "serviceEphemeral": {"secret": NODE.secret, "key": NODE.key}},
        "service": {"signature": SIGNATURE, "dataNonce": SIGNATURE[:24], "versions": [1, 2],
                    "signature2Over": wire.service_signed(S, [1, 2]),
                    "signature2": SERVICE.sign(wire.service_signed(S, [1, 2]))},
        "handshakes": HANDSHAKES,
        "sealed": SEALED,
        # A post that the service passes on unchanged has another identifier for each reader.
        "messageIDs": {"postForCleo": wire.sha512(
            wire.version1_header(TIME, CLEO.key, FORUM.key, ANNE.key), SEALED[2]["eData"])},
        "version1Box": {"name": "anne to bert, in version 1's box", "plain": b"hello bert",
                        "eData": box1, "header1": header1, "messageID": wire.sha512(header1, box1)},
        "proofs": {
            "possession": {"shared": POSSESSED,
                           "hashed": wire.possession_hashed(POSSESSED, H, ANNE.key),
                           "value": POSSESSION},
            "login": {"signed": LOGIN_SIGNED, "signature": ANNE.sign(LOGIN_SIGNED)},
            "new": {"signed": NEW_SIGNED, "signature": ANNE.sign(NEW_SIGNED)},
            "leave": {"signed": LEAVE_SIGNED, "signature": ANNE.sign(LEAVE_SIGNED)},
            "vouch": {"signed": VOUCH_SIGNED, "signature": ANNE.sign(VOUCH_SIGNED)}},
        "pdus": PDUS,
        "refuse": refuse(),
    }


def main() -> int:
    text = json.dumps(vectors(), indent=1, default=bytes.hex) + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        print("version2.json differs from what this script makes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

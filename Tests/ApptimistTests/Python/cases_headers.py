"""Headers that are refused or ignored, and the order of answers."""

import asyncio
import os
import time

import apptimist_protocol as wire
from apptimist_device import PATIENCE, Closed, Identity
from case import Context, case, error, expect, same, silent_close, together, until
from vectors import vectors


@case("before login, a header that doesn't open: silence, then 1008; pings are answered meanwhile")
async def bad_box_before_login(c: Context):
    device = await c.device()
    await device.send_frame(wire.frame(os.urandom(180)))
    await asyncio.wait_for(await device.socket.ping(b"alive?"), PATIENCE)
    await silent_close(device)
    device = await c.device()
    await device.send_frame(wire.frame(os.urandom(15)))
    await silent_close(device)
    device = await c.device()
    await device.send_frame(wire.frame(b""))
    await silent_close(device)


@case("a silent session discards what still comes, and tells nothing")
async def silent_discards(c: Context):
    device, user = await c.device(), Identity("late")
    since = time.monotonic()
    await device.send_frame(wire.frame(os.urandom(180)))
    await device.new(user)
    await device.login(user)
    await device.send("searchByKey", pubEncrKey=user.key)
    await silent_close(device, since)
    other = await c.online()
    same(await other.users("searchByKey", pubEncrKey=user.key), [], "the account")


def refused_headers() -> list[dict]:
    """Those whose type the service must look into: not redirect, user, answered vouchers."""
    rows = vectors("refused-headers.json")["headers"]
    return [row for row in rows if row["header"][:4] not in ("0102", "010e")
            and (row["header"][:4] != "010a" or row["header"][68:76] in ("", "00000000"))]


@case("before login, headers to refuse: silence, then 1008")
async def refused_before_login(c: Context):
    async def one(row):
        device = await c.device()
        await device.send_header(bytes.fromhex(row["header"]))
        try:
            await silent_close(device)
        except Exception as problem:
            raise type(problem)(f"{row['name']}: {problem}") if not isinstance(
                problem, Closed) else problem
    await together(*(one(row) for row in refused_headers()))


@case("after login, headers to refuse, boxes that don't open, wrong numbers: 1008 at once",
      server="patient")
async def refused_after_login(c: Context):
    # The silence here is 20 s: what closes before that has closed at once.
    async def one(what: str, send):
        device = await c.online()
        start = time.monotonic()
        await send(device)
        same(await device.closed(), 1008, what)
        expect(time.monotonic() - start < 18, f"{what}: not at once")

    def again(device):  # the number of the PDU before
        device.channel.next_sent -= 2
        return device.send("pause")

    def skipped(device):
        device.channel.next_sent += 2
        return device.send("pause")

    def parity(device):
        device.channel.next_sent += 1
        return device.send("pause")

    def zero(device):
        device.channel.next_sent = 0
        return device.send("pause")

    def reflected(device):  # as the service numbers its own
        device.channel.next_sent = device.channel.next_received
        return device.send("pause")
    attempts = [(row["name"], lambda device, row=row: device.send_header(
        bytes.fromhex(row["header"]))) for row in refused_headers()]
    attempts += [("the same number again", again), ("a number left out", skipped),
                 ("the other side's number", parity), ("number 0", zero),
                 ("the service's next number", reflected),
                 ("an eHeader of 15 bytes", lambda d: d.socket.send(wire.frame(bytes(15)))),
                 ("no eHeader", lambda d: d.socket.send(wire.frame(b""))),
                 ("a box of noise", lambda d: d.socket.send(wire.frame(os.urandom(100))))]
    for start in range(0, len(attempts), 16):
        await together(*(one(*attempt) for attempt in attempts[start:start + 16]))


@case("unknown types, redirect, user and answered vouchers from a device are ignored")
async def ignored_types(c: Context):
    user = await c.user()
    for logged_in in (False, True):
        device = await c.device()
        if logged_in:
            await device.login(user)
        for row in vectors("refused-headers.json")["unknownTypes"]:
            await device.send_header(bytes.fromhex(row["header"]), b"with data")
        await device.send("redirect", uri="ws://127.0.0.1:1/")
        await device.send("user", count=1, pubEncrKey=user.key, name="x", uid="y")
        await device.send("vouchers", subjectPubEncrKey=user.key, voucherPubEncrKeys=[user.key])
        if not logged_in:
            await device.login(user)
        await device.barrier()


@case("data on a PDU that has none is ignored")
async def ignored_data(c: Context):
    device, user = await c.device(), Identity("with data")
    noise = os.urandom(50)
    await device.send("new", noise, pubEncrKey=user.key, pubAuthKey=user.authentication_key,
                      name=user.name)
    device.user = user
    await device.send("login", noise, userPubEncrKey=user.key, signature=user.signature)
    await device.send("pause", noise)
    await device.send("resume", noise)
    await device.send("vouchers", noise, subjectPubEncrKey=user.key)
    same((await device.answer()).voucherPubEncrKeys, [], "vouchers")
    await device.send("searchByKey", noise, pubEncrKey=user.key)
    same((await device.answer()).name, b"with data", "the match")
    answer = await device.request("read", noise, pubEncrKey=user.key, filename="none")
    same(answer.error, 2, "error of read")


@case("what must be ignored before login is ignored before login")
async def before_login(c: Context):
    user, other = await c.user(), await c.online()
    device = await c.device()
    device.user = user
    forum = await c.forum(other)
    await device.send("del", pubEncrKey=forum.key)
    lost = await device.message(other.user.key, b"too early")
    for name in ("pause", "resume"):
        await device.send(name)
    await device.send("truncate", messageID=lost)
    await device.send("vouch", subjectPubEncrKey=other.user.key,
                      signature=wire.sign(other.user.key, user.seed))
    await device.send("vouchers", subjectPubEncrKey=other.user.key)
    await device.send("searchByName", name=user.name)
    await device.send("searchByUid", uid="x")
    await device.send("searchByKey", pubEncrKey=user.key)
    for name in ("read", "lock", "write", "remove"):
        await device.send(name, c.service.seal(b"x", user, c.service.key), pubEncrKey=user.key,
                          filename="f")
    await device.login(user)
    await device.barrier()
    same(device.waiting, [], "stream")
    answer = await other.request("vouchers", subjectPubEncrKey=other.user.key)
    same(answer.voucherPubEncrKeys, [], "vouchers")
    same(len(await other.users("searchByKey", pubEncrKey=forum.key)), 1, "the forum")
    marker = await device.message(other.user.key, b"now")
    same(await until(other, marker), [], "what came before the marker")
    await error(device.file("read", user.key, "f"), 2)


@case("answers keep the order of the requests")
async def order(c: Context):
    device = await c.online()
    other = await c.online()
    key = device.user.key
    wanted = []
    for number in range(60):
        name = f"f{number % 7}"
        await device.send("write", c.service.seal(b"%d" % number, device.user, c.service.key),
                          pubEncrKey=key, filename=name)
        await device.send("read", pubEncrKey=key, filename=name)
        await device.send("searchByKey", pubEncrKey=other.user.key)
        await device.send("vouchers", subjectPubEncrKey=key)
        await device.message(key, b"to myself")
        await device.send("lock", pubEncrKey=key, filename="none")
        await device.send("searchByKey", pubEncrKey=b"\xfe" * 32)
        wanted += [("write", None), ("read", b"%d" % number), ("user", other.user.key),
                   ("vouchers", None), ("lock", b""), ("user", bytes(32))]
    for kind, value in wanted:
        pdu = await device.answer()
        same(pdu.type, kind, "type of the next answer")
        if kind in ("read", "lock"):
            same(device.opened(pdu), value, f"content that {kind} gives")
        elif kind == "user":
            same(pdu.pubEncrKey, value, "the user found")

"""Wakes: one case a rule of the page, against a server that pushes into its log."""

import asyncio
import json
import os

import apptimist2_protocol as wire
from apptimist2_device import Device2
from apptimist_device import Identity, http
from case import Context, case, expect, same

# Short times, with which a case takes some seconds.
QUICK = {"push": "log", "wake_hold": "2s", "wake_interval": "1s", "wake_again": "4s"}
LOG = "[push]\nlog_payloads = true"
TAG = bytes(range(8))
SOON = 1.0  # by which what is due is in the log


async def own(c: Context, **settings):
    return await c.own({**QUICK, **settings}, sections=LOG)


async def pushes(c: Context, address: str | None = None) -> list[dict]:
    """The pushes so far, or those to an address."""
    request = f"GET /debug/pushes HTTP/1.1\r\nHost: 127.0.0.1:{c.service.port}\r\nConnection: close\r\n\r\n"
    _, _, body = await http(c.service.host, c.service.port, request.encode())
    return [push for push in json.loads(body) if address in (None, push["DeviceID"])]


def token() -> str:
    return "fcm:" + os.urandom(24).hex()


class Phone:
    """An installation of a user's, which is woken by FCM."""

    def __init__(self, c: Context, user: Identity):
        self.c, self.user, self.token, self.id = c, user, token(), os.urandom(16)

    async def open(self, new: bool = False) -> Device2:
        device = await Device2.connect(self.c.service)
        self.c.stack.push_async_callback(device.close)
        device.id = self.id
        if new:
            same((await device.new(self.user)).error, 0, "new")
        same((await device.login(self.user)).error, 0, "login")
        return device

    async def bind(self, device: Device2, keys: list[bytes] = [], flags: int = 0, error: int = 0):
        answer = await bind(device, 3, self.token.encode(), keys, flags=flags)
        same(answer.error, error, "push")

    async def asleep(self, keys: list[bytes] = [], flags: int = 0) -> "Phone":
        """Makes the account, binds the phone and closes the connection."""
        device = await self.open(new=True)
        await self.bind(device, keys, flags)
        await self.close(device)
        return self

    async def close(self, device: Device2):
        await device.close()
        await asyncio.sleep(0.3)

    async def count(self) -> int:
        return len(await pushes(self.c, self.token))

    async def woken(self, count: int, what: str, within: float = 4):
        """The phone is woken as often as that and, for a while, no oftener."""
        for _ in range(int(within * 10)):
            if await self.count() >= count:
                break
            await asyncio.sleep(0.1)
        await asyncio.sleep(SOON / 2)
        same(await self.count(), count, what)


async def bind(device: Device2, kind: int, address: bytes, keys: list[bytes] = [], **fields) -> wire.PDU:
    return await device.request("push", address + b"".join(keys), **{
        "kind": kind, "tag": TAG, "keyCount": len(keys), "addressLen": len(address), **fields})


async def phone(c: Context, **options) -> Phone:
    return await Phone(c, Identity(c.word())).asleep(**options)


class Writer:
    """Somebody who writes to others."""

    def __init__(self, device: Device2):
        self.device, self.key, self.time = device, device.user.key, 1_700_000_000

    @classmethod
    async def made(cls, c: Context) -> "Writer":
        device = await Device2.connect(c.service)
        c.stack.push_async_callback(device.close)
        user = Identity(c.word())
        same((await device.new(user)).error, 0, "new")
        same((await device.login(user)).error, 0, "login")
        return cls(device)

    async def write(self, to: bytes, kind: int = 1) -> int:
        self.time += 1
        answer = await self.device.message(
            to, self.device.sealed(b"hello", to, self.time, kind), self.time)
        same(answer.error, 0, "message")
        return answer.position


@case("wakes: a burst wakes a sleeping phone once, always with the same bytes; without an answer again after wake_again",
      server="own")
async def burst(c: Context):
    await own(c)
    writer, bert = await Writer.made(c), await phone(c)
    for _ in range(3):
        await writer.write(bert.user.key)
    await bert.woken(1, "the burst")
    await writer.write(bert.user.key)
    await bert.woken(1, "later in the burst", within=SOON)
    await asyncio.sleep(4)
    await writer.write(bert.user.key)
    await bert.woken(2, "after wake_again")
    # The answer: whatever is queued is answered for.
    await bert.close(await bert.open())
    await writer.write(bert.user.key)
    await bert.woken(3, "after a login")
    all_pushes = await pushes(c, bert.token)
    same({json.dumps(push["Payload"]) for push in all_pushes}, {json.dumps({"wake": TAG.hex()})}, "payloads")
    same({(push["Service"], push["Provider"]) for push in all_pushes}, {("apptimist", "fcm")}, "provider")


@case("wakes: who is connected and acknowledges is never woken, who is connected and asleep is, after wake_hold", server="own")
async def held(c: Context):
    await own(c)
    writer, bert = await Writer.made(c), Phone(c, Identity(c.word()))
    device = await bert.open(new=True)
    await bert.bind(device)
    for _ in range(6):
        await writer.write(bert.user.key)
        position = (await device.stream()).position
        same((await device.request("ack", position=position)).error, 0, "ack")
        await asyncio.sleep(0.4)
    await bert.woken(0, "acknowledged", within=2.5)
    await writer.write(bert.user.key)
    await writer.write(bert.user.key)
    first = (await device.stream()).position
    # What is not acknowledged keeps the wake.
    same((await device.request("ack", position=first)).error, 0, "ack")
    await bert.woken(0, "while it is held", within=0.5)
    await bert.woken(1, "after wake_hold")
    # The end of the last session makes it due.
    await device.close()
    device = await bert.open()
    await writer.write(bert.user.key)
    other = await bert.open()
    await bert.close(device)
    await bert.woken(1, "one session is open still", within=0.1)
    await bert.close(other)
    await bert.woken(1, "the second login answered", within=SOON)
    device = await bert.open()
    await writer.write(bert.user.key)
    await device.close()
    await bert.woken(2, "after the last session", within=1.5)


@case("wakes: muted people and forums don't wake, with bit 0 nobody else does, and one's own messages never", server="own")
async def chosen(c: Context):
    await own(c)
    anne, eve = await Writer.made(c), await Writer.made(c)
    forum = Identity(c.word())
    same((await anne.device.new(forum)).error, 0, "forum")
    readers = Identity(c.word()), Identity(c.word()), Identity(c.word())
    muting = await Phone(c, readers[0]).asleep([anne.key, forum.key])
    choosing = await Phone(c, readers[1]).asleep([eve.key], flags=1)
    forums = await Phone(c, readers[2]).asleep([forum.key], flags=1)
    for name, keys in ("subscribers", [one.key for one in readers]), ("editors", [anne.key, eve.key]):
        same((await anne.device.request("write", b"".join(keys), pubEncrKey=forum.key, filename=name)).error, 0,
             name)
    for one in (muting, choosing, forums):
        await anne.write(one.user.key)
    await asyncio.sleep(SOON)
    same([await one.count() for one in (muting, choosing, forums)], [0, 0, 0], "anne's messages")
    await anne.write(forum.key, kind=2)
    await forums.woken(1, "a post in a chosen forum")
    same([await one.count() for one in (muting, choosing)], [0, 0], "anne's post")
    await eve.write(forum.key, kind=2)
    await choosing.woken(1, "a chosen person's post")
    same(await muting.count(), 0, "a post in a muted forum")
    await eve.write(muting.user.key)
    await muting.woken(1, "anybody else")
    other = await Writer.made(c)
    own_phone = Phone(c, other.device.user)
    device = await own_phone.open()
    await own_phone.bind(device)
    await own_phone.close(device)
    await other.write(other.key)
    await own_phone.woken(0, "an own message", within=SOON)


@case("wakes: a phone that unbinds, or binds elsewhere, isn't woken; not at a truncation either", server="own")
async def unbound(c: Context):
    await own(c)
    writer, bert = await Writer.made(c), await phone(c)
    device = await bert.open()
    same((await device.request("push")).error, 0, "unbinding")
    same((await device.request("push")).error, 0, "unbinding again")
    await bert.close(device)
    await writer.write(bert.user.key)
    await bert.woken(0, "unbound", within=SOON)
    device, former = await bert.open(), bert.token
    await bert.bind(device)
    bert.token = token()
    await bert.bind(device)
    await bert.close(device)
    await writer.write(bert.user.key)
    await bert.woken(1, "at the new address")
    same(len(await pushes(c, former)), 0, "at the former address")


@case("wakes: fields and addresses that aren't right are 12, and too many changes of an account 5", server="own")
async def refused(c: Context):
    await own(c, push_changes_per_hour=3)
    bert = Phone(c, Identity(c.word()))
    device = await bert.open(new=True)
    good, point = b"t" * 40, b"\x04" + bytes(64)
    wrong = [
        (5, good, {}), (255, good, {}), (3, good, {"flags": 2}), (3, good, {"flags": 255}),
        (3, good, {"addressLen": 39}), (3, good, {"addressLen": 41}), (3, good, {"keyCount": 1}),
        (3, good, {"keyCount": 65535, "addressLen": 65535}), (3, b"", {}), (3, b"t" * 31, {}),
        (3, b"t" * 1025, {}), (3, b"t" * 39 + b"/", {}), (3, b"t" * 39 + b"\0", {}), (1, b"t" * 31, {}),
        (2, b"t" * 101, {}), (0, b"", {}), (0, good, {"tag": bytes(8)}), (0, b"", {"tag": bytes(8), "flags": 1}),
        (4, b"", {}), (4, b"\x04" * 81, {}), (4, point + bytes(16) + b"https://push.example/a", {}),
        (4, b"\x04" * 80, {})]
    for kind, address, fields in wrong:
        same((await bind(device, kind, address, **fields)).error, 12, f"kind {kind}, {fields}, {address[:8]}")
    keys = [os.urandom(32) for _ in range(257)]
    same((await bind(device, 3, good, keys)).error, 12, "257 keys")
    same((await bind(device, 3, good, keys[:256])).error, 0, "256 keys")
    for _ in range(50):
        same((await bind(device, 3, good, keys[:256])).error, 0, "the same again")
    same((await bind(device, 3, good)).error, 0, "the second change")
    same((await device.request("push")).error, 0, "the third change")
    same((await bind(device, 3, good)).error, 5, "the fourth change")
    same((await bind(device, 3, good, flags=9)).error, 12, "a fault goes before a quota")
    same((await device.request("push")).error, 0, "no change")
    # It closes nothing.
    same((await device.request("searchByKey", pubEncrKey=bert.user.key)).count, 1, "a search")
    header = wire.request("push", 99, kind=3)
    await device.send_header(header + b"\0")
    same(await device.closed(), 1008, "a header that is too long")


@case("wakes: the 17th device of an account, and the fifth of an address, replace the oldest ones", server="own")
async def limits(c: Context):
    await own(c, push_changes_per_hour=1000)
    writer, user = await Writer.made(c), Identity(c.word())
    phones = [Phone(c, user) for _ in range(17)]
    for number, one in enumerate(phones):
        device = await one.open(new=number == 0)
        await one.bind(device)
        await device.close()
        await asyncio.sleep(0.01)
        if number == 1:
            # The first shows itself, so that the second has been away for longest.
            await (await phones[0].open()).close()
    await asyncio.sleep(0.5)
    await writer.write(user.key)
    for number, one in enumerate(phones):
        await one.woken(0 if number == 1 else 1, f"phone {number}", within=SOON if number == 1 else 4)
    shared, users = token(), [Identity(c.word()) for _ in range(5)]
    for one in users:
        here = Phone(c, one)
        here.token = shared
        await here.asleep()
    for one in users:
        await writer.write(one.key)
    await asyncio.sleep(2)
    same(len(await pushes(c, shared)), 4, "wakes at one address")


@case("wakes: service.json says what is served, and a restart or kill -9 loses no wake", server="own")
async def document(c: Context):
    server = await own(c)
    same(c.service.document["push"], ["apns", "apns-sandbox", "fcm", "web"], "push")
    expect(len(bytes.fromhex(c.service.document["pushKey"])) == 65, "pushKey")
    writer, bert, held = await Writer.made(c), await phone(c), Phone(c, Identity(c.word()))
    device = await held.open(new=True)
    await held.bind(device)
    await writer.write(held.user.key)
    await server.end(9)
    await server.start()
    c.service = server.service
    await held.woken(1, "a wake that was held at kill -9")
    writer = await Writer.made(c)
    await writer.write(bert.user.key)
    await bert.woken(1, "bound before")

"""Messages, the stream, its truncations, quotas, sessions."""

import asyncio
import os
import random

import apptimist_protocol as wire
from apptimist_device import Closed, Device, Identity
from case import (Context, case, expect, ids_until, same, short, stream_id, take, together, until)


@case("header and eData byte for byte as they came; messageID is the same at both ends")
async def unchanged(c: Context):
    sender, receiver = await c.online(), await c.online()
    for number, (time, edata) in enumerate((
            (0, b""), (1, b"x"), (2**64 - 1, os.urandom(16)), (2**63, bytes(1000)),
            (1_416_528_000, os.urandom(70_000)))):
        header = sender.message_header(receiver.user.key, time)
        await sender.send_header(header, edata)
        pdu = await receiver.stream()
        same((pdu.header, pdu.edata), (header, edata), f"message {number}")
    message = await sender.message(receiver.user.key, "Ahoj 🦉".encode())
    pdu = await receiver.stream()
    same(pdu.message_id, message, "messageID")
    same(receiver.opened(pdu), "Ahoj 🦉".encode(), "data")


@case("from must be the logged-in user, else ignored")
async def from_another(c: Context):
    sender, receiver = await c.online(), await c.online()
    for key in (receiver.user.key, Identity().key, bytes(32)):
        await sender.message(receiver.user.key, b"forged", fromPubEncrKey=key)
    marker = await sender.message(receiver.user.key, b"marker")
    same(await until(receiver, marker), [], "before the marker")


@case("delivered to every session of the recipient, in one order; not to the one that sent it")
async def all_sessions(c: Context):
    first, sender = await c.online(), await c.online()
    sessions = [first] + [await c.again(first.user) for _ in range(5)]
    await together(*(session.barrier() for session in sessions))
    for number in range(20):
        await sender.message(first.user.key, b"%d" % number)
        await first.message(first.user.key, b"to myself %d" % number)
    await together(sender.barrier(), first.barrier())
    marker = await sender.message(first.user.key, b"marker")
    streams = await together(*(until(session, marker) for session in sessions))
    ids = [[pdu.message_id for pdu in stream] for stream in streams]
    same(len(ids[1]), 40, "messages that the second session gets")
    for other in ids[2:]:
        same(other, ids[1], "the order at another session")
    own = [pdu.message_id for pdu in streams[1] if pdu.fromPubEncrKey != first.user.key]
    same(ids[0], own, "what the sending session gets")
    again = await c.again(first.user)
    same(await ids_until(again, marker), ids[1], "the backlog of a new session")


@case("an unknown recipient, or a forum in only one of to and recipient: ignored")
async def nowhere(c: Context):
    sender, receiver = await c.online(), await c.online()
    forum = await c.forum(sender, subscribers=[receiver.user.key])
    await sender.message(os.urandom(32), b"to nobody")
    await sender.message(receiver.user.key, b"half", toPubEncrKey=forum.key)
    await sender.message(forum.key, b"half", toPubEncrKey=receiver.user.key)
    await sender.message(forum.key, b"half", toPubEncrKey=os.urandom(32))
    other = await c.user()
    marker = await sender.message(receiver.user.key, b"marker", toPubEncrKey=other.key)
    same(await until(receiver, marker), [], "before the marker")
    strange = await sender.message(receiver.user.key, b"to a key that nobody has",
                                   toPubEncrKey=os.urandom(32))
    same(await ids_until(receiver, strange), [], "before the last")


@case("a messageID that is or was in that queue is not queued again")
async def once(c: Context):
    sender, receiver = await c.online(), await c.online()
    header = sender.message_header(receiver.user.key, 5)
    for _ in range(3):
        await sender.send_header(header, b"same")
    other = await c.again(sender.user)
    await other.send_header(header, b"same")
    await other.barrier()
    message = wire.message_id(header, b"same")
    again = await sender.message(receiver.user.key, b"same", time=6, boxed=False)
    same(await ids_until(receiver, again), [message], "what comes of them")
    await receiver.send("truncate", messageID=message)
    same(await take(receiver, 1), [b"T" + message], "echo")
    await sender.send_header(header, b"same")
    third = await c.user()
    twice = sender.message_header(third.key, 5)
    await sender.send_header(twice, b"same")
    marker = await sender.message(receiver.user.key, b"marker")
    same(await ids_until(receiver, marker), [], "after it was truncated")
    late = await c.again(receiver.user)
    same(await ids_until(late, marker), [again, b"T" + message], "a new session's stream")


@case("messages stay in the queue: every login with head zero gets all")
async def stays(c: Context):
    sender, receiver = await c.online(), await c.user()
    sent = [await sender.message(receiver.key, b"%d" % i) for i in range(30)]
    await sender.barrier()
    for _ in range(3):
        device = await c.again(receiver)
        same(await take(device, 30), sent, "the backlog")
        await device.barrier()
        same(device.waiting, [], "behind it")


class Model:
    """What the page says of a queue: places of messages, and truncations among them."""

    def __init__(self):
        self.entries: list[tuple[str, bytes]] = []
        self.truncated: set[bytes] = set()

    def expected(self, head: bytes, most: int) -> list[bytes]:
        places = [i for i, (kind, _) in enumerate(self.entries) if kind == "M"]
        window = places[-most:] if most else places
        at = {message: i for i, (kind, message) in enumerate(self.entries) if kind == "M"}
        if head in at and at[head] in window:
            start = at[head] + 1
        else:
            start = window[0] if most and window else 0
        return [message if kind == "M" else b"T" + message
                for kind, message in self.entries[start:]
                if kind == "T" or message not in self.truncated]


@case("head and max in every combination, with truncated messages among them")
async def head_and_max(c: Context):
    sender, receiver = await c.online(), await c.online()
    model = Model()
    script = "MMMTMMTMMMMTM"  # T: the second of the messages that are left is truncated
    for number, step in enumerate(script):
        if step == "M":
            message = await sender.message(receiver.user.key, b"%d" % number)
            same(await take(receiver, 1), [message], "live")
            model.entries.append(("M", message))
        else:
            left = [m for k, m in model.entries if k == "M" and m not in model.truncated]
            await receiver.send("truncate", messageID=left[1])
            same(await take(receiver, 1), [b"T" + left[1]], "echo")
            model.entries.append(("T", left[1]))
            model.truncated.add(left[1])
    messages = [message for kind, message in model.entries if kind == "M"]
    combinations = [(head, most) for head in [bytes(64), os.urandom(64), *messages]
                    for most in (0, 1, 2, 3, 5, 9, 10, 11, 65_535)]

    async def one(head: bytes, most: int):
        async with Device.connected(c.service) as device:
            await device.login(receiver.user, head, most)
            await device.barrier()
            wanted = model.expected(head, most)
            came, early = device.waiting[:], len(device.waiting)
            while len(came) < len(wanted):
                came.append(await device.next())
            await device.barrier()
            await device.barrier()
            got = [stream_id(pdu) for pdu in came + device.waiting[early:]]
            place = messages.index(head) if head in messages else "unknown" if any(head) else "zero"
            if got != wanted:
                # A truncation right before the window's first place is on its border: either way.
                border = [entry for entry in got if entry not in wanted]
                expect(got[len(border):] == wanted and all(b[:1] == b"T" for b in border),
                       f"head {place}, max {most}: {short(got)} instead of {short(wanted)}")
    for start in range(0, len(combinations), 12):
        await together(*(one(*pair) for pair in combinations[start:start + 12]))


@case("truncate: echoed to all sessions, the asking one too; again to the asking one only")
async def truncate(c: Context):
    sender, one = await c.online(), await c.online()
    two, three = await c.again(one.user), await c.again(one.user)
    await together(two.barrier(), three.barrier())
    ids = [await sender.message(one.user.key, b"%d" % i) for i in range(3)]
    for device in (one, two, three):
        same(await take(device, 3), ids, "live")
    await one.send("truncate", messageID=ids[1])
    for device in (one, two, three):
        same(await take(device, 1), [b"T" + ids[1]], "echo")
    await two.send("truncate", messageID=ids[1])
    same(await take(two, 1), [b"T" + ids[1]], "echo again")
    await three.send("truncate", messageID=os.urandom(64))
    await sender.send("truncate", messageID=ids[0])  # not in the sender's queue
    await together(sender.barrier(), three.barrier())
    same(sender.waiting, [], "the sender's stream")
    marker = await sender.message(one.user.key, b"marker")
    for device in (one, two, three):
        same(await ids_until(device, marker), [], "before the marker")
    again = await c.again(one.user)
    same(await ids_until(again, marker), [ids[0], ids[2], b"T" + ids[1]], "the backlog")


@case("pause stops the stream of that session, not the answers; resume goes on where it stopped")
async def pause(c: Context):
    sender, one = await c.online(), await c.online()
    two = await c.again(one.user)
    await two.barrier()
    first = await sender.message(one.user.key, b"before")
    same(await take(one, 1) + await take(two, 1), [first, first], "live")
    await one.send("pause")
    await one.send("pause")
    await one.barrier()
    ids = [await sender.message(one.user.key, b"%d" % i) for i in range(30)]
    same(await take(two, 30), ids, "the other session")
    await one.barrier()
    same(one.waiting, [], "the paused stream")
    same((await one.request("read", pubEncrKey=one.user.key, filename="none")).error, 2, "answers")
    await two.send("truncate", messageID=ids[4])
    same(await take(two, 1), [b"T" + ids[4]], "echo")
    await one.barrier()
    same(one.waiting, [], "the truncation is stream for the paused one")
    await one.send("truncate", messageID=ids[5])
    same([stream_id(await one.next())], [b"T" + ids[5]], "the asking one's echo, while paused")
    same(await take(two, 1), [b"T" + ids[5]], "the other's")
    await one.send("resume")
    await one.send("resume")
    marker = await sender.message(one.user.key, b"marker")
    same(await ids_until(one, marker), ids[:4] + ids[6:] + [b"T" + ids[4]], "after resume")
    await one.send("resume")
    last = await sender.message(one.user.key, b"last")
    same(await take(one, 1), [last], "after a resume without a pause")


@case("pause within the backlog, many times: every message once, in order")
async def pause_in_backlog(c: Context):
    sender, receiver = await c.online(), await c.user()
    ids = [await sender.message(receiver.key, os.urandom(2_000), boxed=False) for _ in range(400)]
    await sender.barrier()
    device = await c.again(receiver)
    for _ in range(20):
        await device.send("pause")
        await device.barrier()
        held = len(device.waiting)
        await device.barrier()
        same(len(device.waiting), held, "stream PDUs while paused")
        await device.send("resume")
    same(await take(device, 400), ids, "the backlog")


@case("a queue over its quota drops the oldest of whichever sender holds most", server="small")
async def quota(c: Context):
    one, two, receiver = await c.online(), await c.online(), await c.user()
    oldest = [await two.message(receiver.key, b"two %d" % i) for i in range(2)]
    await two.barrier()
    first = [await one.message(receiver.key, b"one %d" % i, time=i) for i in range(8)]
    await one.barrier()
    second = [await two.message(receiver.key, b"two %d" % i) for i in range(2)]
    await two.barrier()
    device = await c.again(receiver)
    same(await take(device, 10), oldest + first[2:] + second, "what is left of 8 and 4 of 10")
    await device.barrier()
    same(device.waiting, [], "no more")
    header = one.message_header(receiver.key, 0)
    edata = c.service.seal(b"one 0", one.user, receiver.key)
    same(wire.message_id(header, edata), first[0], "the dropped one")
    await one.send_header(header, edata)
    marker = await two.message(receiver.key, b"two 4")
    await two.barrier()
    await one.barrier()
    same(await ids_until(device, marker), [], "the dropped one isn't queued again")
    gone = await c.again(receiver, head=first[0])
    after = first[3:] + second + [marker]  # what came after the dropped one
    got = [*await ids_until(gone, marker), marker]
    # Whether a dropped message is still known as a head isn't said: all, or those after it.
    expect(got in (oldest + after, after), f"after a head that was dropped: {short(got)}")


@case("the quota's bytes count as well", server="small")
async def quota_bytes(c: Context):
    one, two, receiver = await c.online(), await c.online(), await c.user()
    small = await two.message(receiver.key, b"small")
    await two.barrier()
    big = [await one.message(receiver.key, os.urandom(30_000), boxed=False) for _ in range(3)]
    await one.barrier()
    device = await c.again(receiver)
    same(await take(device, 3), [small, *big[1:]], "what is left within 64 KiB")


@case("truncations count towards the quota", server="small")
async def quota_truncations(c: Context):
    sender, receiver = await c.online(), await c.online()
    ids = [await sender.message(receiver.user.key, b"%d" % i) for i in range(6)]
    same(await take(receiver, 6), ids, "live")
    for message in ids[:4]:
        await receiver.send("truncate", messageID=message)
    same(await take(receiver, 4), [b"T" + message for message in ids[:4]], "echoes")
    more = [await sender.message(receiver.user.key, b"more %d" % i) for i in range(5)]
    same(await take(receiver, 5), more, "live")
    device = await c.again(receiver.user)
    got = [stream_id(pdu) for pdu in await until(device, more[-1])]
    expect(len(got) < 10, f"{len(got) + 1} entries in a queue of 10")
    same([entry for entry in got if entry in more], more[-5:-1], "the newest")


@case("64 sessions a user get the stream; the 65th closes the oldest with 1008")
async def sessions(c: Context):
    sender, first = await c.online(), await c.online()
    rest = []
    for _ in range(63):
        rest.append(await c.again(first.user))
        await rest[-1].barrier()
    message = await sender.message(first.user.key, b"to all 64")
    for device in [first, *rest]:
        same(await take(device, 1), [message], "a session's stream")
    last = await c.again(first.user)
    same(await take(last, 1), [message], "the 65th")
    same(await first.closed(), 1008, "the oldest")
    second = await sender.message(first.user.key, b"to the newest 64")
    for device in [*rest, last]:
        same(await take(device, 1), [second], "a session's stream")


@case("a login while 20 senders send: one order for all sessions, no gap, no repetition")
async def login_race(c: Context, each: int = 40, logins: int = 24):
    senders = [await c.online() for _ in range(20)]
    first = await c.online()
    user = first.user

    async def send(number: int, device: Device):
        ids = []
        for count in range(each):
            ids.append(await device.message(user.key, b"%d %d" % (number, count), boxed=False))
            await asyncio.sleep(0)
        await device.barrier()
        return ids

    async def log_in(delay: float):
        await asyncio.sleep(delay)
        device = await c.again(user)
        return await take(device, 20 * each)
    dice = random.Random(7)
    results = await together(
        take(first, 20 * each),
        *(log_in(dice.random() * 0.8) for _ in range(logins)),
        *(send(number, device) for number, device in enumerate(senders)))
    order, streams, sent = results[0], results[1:1 + logins], results[1 + logins:]
    same(len(set(order)), 20 * each, "messages")
    for stream in streams:
        same(stream, order, "the order at another session")
    for ids in sent:
        mine = set(ids)
        same([one for one in order if one in mine], ids, "one sender's order")


@case("two sessions truncate the same messages at once: one entry each, and an answer to each asker")
async def truncate_race(c: Context):
    sender, one = await c.online(), await c.online()
    two = await c.again(one.user)
    await two.barrier()
    ids = [await sender.message(one.user.key, b"%d" % i) for i in range(50)]
    for device in (one, two):
        same(await take(device, 50), ids, "live")

    async def truncate_all(device: Device, order: list[bytes]):
        for message in order:
            await device.send("truncate", messageID=message)
        await device.barrier()
    await together(truncate_all(one, ids), truncate_all(two, ids[::-1]))
    marker = await sender.message(one.user.key, b"marker")
    echoes = [await ids_until(device, marker) for device in (one, two)]
    for message in ids:
        counts = sorted(echo.count(b"T" + message) for echo in echoes)
        same(counts, [1, 2], "echoes at the two sessions")
    fresh = await c.again(one.user)
    entries = await ids_until(fresh, marker)
    same(sorted(entries), sorted(b"T" + message for message in ids), "the stream of a later login")


@case("sending, truncating, pausing, logging in all at once: one order of entries everywhere")
async def everything_at_once(c: Context):
    senders, first = [await c.online() for _ in range(6)], await c.online()
    user, each = first.user, 40
    total = len(senders) * each

    async def send(device: Device):
        for number in range(each):
            await device.message(user.key, os.urandom(30), boxed=False)
            if number % 5 == 0:
                await device.barrier()

    async def entries(device: Device, head: list[bytes] | None = None):
        """All messages and all truncations of every third message."""
        came, messages, truncations = [], 0, 0
        while messages < total or truncations < total // 3:
            came.append(stream_id(await device.stream()))
            if came[-1][:1] == b"T" and len(came[-1]) == 65:
                truncations += 1
            else:
                messages += 1
        return came

    async def reader():
        return await entries(await c.again(user))

    async def pauser():
        device = await c.again(user)

        async def toggle():
            for _ in range(30):
                await device.send("pause")
                await asyncio.sleep(0.01)
                await device.send("resume")
                await asyncio.sleep(0.01)
        return (await together(entries(device), toggle()))[0]

    async def truncator():
        """Truncates every third message that it gets, once all sessions had time to get it."""
        device, waiting = first, []
        for _ in range(total):
            waiting.append(stream_id(await device.stream()))
        for message in waiting[::3][:total // 3]:
            await device.send("truncate", messageID=message)
            await asyncio.sleep(0.001)
    results = await together(reader(), reader(), pauser(), pauser(), truncator(),
                             *(send(device) for device in senders))
    orders = results[:4]
    same([len(set(order)) for order in orders], [total + total // 3] * 4, "entries, each once")
    for order in orders[1:]:
        same(order, orders[0], "the order at another session")


@case("random interleavings of send, login, pause, resume, truncate, reconnect: all as the model says")
async def interleavings(c: Context):
    for seed in range(3):
        await interleave(c, random.Random(seed), 150)


async def interleave(c: Context, dice: random.Random, steps: int):
    """Three devices of one user and two senders. Each device keeps its head. What each has seen must
    be one order without gap or repetition; truncated messages may be missing."""
    senders = [await c.online() for _ in range(2)]
    user = await c.user()
    devices: list[Device | None] = [None, None, None]
    seen: list[list[bytes]] = [[], [], []]
    sent: list[bytes] = []
    truncated: set[bytes] = set()
    asked: list[set[bytes]] = [set(), set(), set()]

    def note(index: int, pdus):
        for pdu in pdus:
            if pdu.type == "message":
                seen[index].append(pdu.message_id)
            else:
                expect(pdu.messageID in truncated, "a truncation that nobody asked for")

    async def drain(index: int):
        await devices[index].barrier()
        note(index, devices[index].waiting)
        devices[index].waiting.clear()
    for step in range(steps):
        index, what = dice.randrange(3), dice.randrange(10)
        if what < 4:
            for _ in range(dice.randrange(1, 6)):
                sent.append(await senders[dice.randrange(2)].message(user.key, os.urandom(20)))
        elif devices[index] is None:
            head = seen[index][-1] if seen[index] else bytes(64)
            devices[index] = await c.again(user, head)
        elif what == 4:
            await devices[index].send("pause")
        elif what in (5, 6):
            await devices[index].send("resume")
        elif what == 7 and seen[index]:
            message = dice.choice(seen[index])
            truncated.add(message)
            await devices[index].send("truncate", messageID=message)
        elif what == 8:
            await drain(index)
        elif what == 9:
            await drain(index)
            await devices[index].close()
            devices[index] = None
    await together(*(sender.barrier() for sender in senders))
    marker = await senders[0].message(user.key, b"marker")
    order = None
    for index in range(3):
        if devices[index] is None:
            head = seen[index][-1] if seen[index] else bytes(64)
            devices[index] = await c.again(user, head)
        await devices[index].send("resume")
        note(index, await until(devices[index], marker))
    fresh = await c.again(user)
    whole = [pdu for pdu in await until(fresh, marker)]
    gone = [pdu.messageID for pdu in whole if pdu.type == "truncate"]
    same(sorted(gone), sorted(truncated), "truncations in the stream")
    left = [pdu.message_id for pdu in whole if pdu.type == "message"]
    same(sorted(left), sorted(set(sent) - truncated), "messages in the stream")
    for index in range(3):
        same(len(set(seen[index])), len(seen[index]), f"repetitions at device {index}")
        same([one for one in seen[index] if one not in truncated], left, f"device {index}")
    for one in range(3):
        for two in range(one):
            both = set(seen[one]) & set(seen[two])
            same([m for m in seen[one] if m in both], [m for m in seen[two] if m in both],
                 "the order at two devices")

"""Messages: who gets them, once; quotas; sessions."""

import os

import apptimist_protocol as wire
from apptimist_device import Identity
from case import Context, case, expect, ids_until, same, short, stream_id, take, together, until


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
    after = first[3:] + second + [marker]  # the messages after the dropped one
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

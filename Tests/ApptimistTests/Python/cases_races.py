"""Cases that must hold whatever happens at the same time."""

import asyncio
import os
import random

from apptimist_device import Device
from case import Context, case, expect, ids_until, same, stream_id, take, together, until


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
    arrived = asyncio.Semaphore(0)  # released by each other session that has got all messages

    async def send(device: Device):
        for number in range(each):
            await device.message(user.key, os.urandom(30), boxed=False)
            if number % 5 == 0:
                await device.barrier()

    async def entries(device: Device):
        """All messages and all truncations of every third message."""
        came, messages, truncations = [], 0, 0
        while messages < total or truncations < total // 3:
            came.append(stream_id(await device.stream()))
            if came[-1][:1] == b"T" and len(came[-1]) == 65:
                truncations += 1
            else:
                messages += 1
                if messages == total:
                    arrived.release()
        return came

    async def reader():
        return await entries(await c.again(user))

    async def pauser():
        device = await c.again(user)

        async def toggle():
            while True:
                await device.send("pause")
                await asyncio.sleep(0.01)
                await device.send("resume")
                await asyncio.sleep(0.01)
        toggling = asyncio.create_task(toggle())
        try:
            return await entries(device)
        finally:
            toggling.cancel()

    async def truncator():
        """Truncates every third message that it gets, once all sessions have got all: to one that has
        not, a truncated message never comes."""
        device, waiting = first, []
        for _ in range(total):
            waiting.append(stream_id(await device.stream()))
        for _ in range(4):
            await arrived.acquire()
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

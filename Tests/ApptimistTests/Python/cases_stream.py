"""The stream: where it starts, truncations, pauses."""

import os

from apptimist_device import Device
from case import Context, case, expect, ids_until, same, short, stream_id, take, together


class Model:
    """A model of a queue as the page describes it: places of messages, and truncations among them."""

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
            if head in messages:
                place = messages.index(head)
            else:
                place = "unknown" if any(head) else "zero"
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

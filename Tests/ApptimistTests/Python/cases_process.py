"""Cases that need the server's process: restarts, kill -9, drain, its log."""

import asyncio
import os
import random
import signal
import urllib.parse

import apptimist_protocol as wire
import websockets
from apptimist_device import Closed, Device, Identity
from case import Context, case, done, expect, same, silent_close, take, together
from cases_replay import recorder, play


QUICK = {"refusal_min": "1s", "refusal_max": "1100ms"}


@case("a used ephemeral key is refused after a restart, too; everything else is there", server="own")
async def restart(c: Context):
    server = await c.own(QUICK)
    url, recordings = await recorder(c)
    user, forum = Identity(c.word()), Identity("forum")
    device = await Device.connect(c.service, url=url)
    await device.new(user, "a uid")
    await device.login(user)
    await done(device.write(user.key, "f", b"then"))
    await device.new(forum)
    await done(device.write(forum.key, "subscribers", user.key))
    await done(device.write(forum.key, "secret", c.sealed(forum.secret)))
    message = await device.message(user.key, b"mine")
    await device.barrier()
    key = c.service.key
    await server.end(signal.SIGKILL)
    for path in server.folder.rglob("*"):
        if path.is_file() and path.name != "log":
            for what, secret in (("the forum's secret", forum.secret), ("its seed", forum.seed)):
                expect(secret not in path.read_bytes(), f"{what} stands in {path.name}")
    await server.start()
    c.service = server.service
    same(c.service.key, key, "the service's key")
    came = await play(c, recordings[0])
    same(came[:12], b"HTTP/1.1 400", "the answer to the recording")
    second, third = await c.again(user), await c.again(user)
    same([await take(one, 1) for one in (second, third)], [[message]] * 2, "the backlog")
    same(second.opened(await done(second.file("read", user.key, "f"))), b"then", "the file")
    await second.message(forum.key, b"in escrow still")
    same(third.opened(await third.stream(), forum.key), b"in escrow still", "the forum's copy")


@case("kill -9: what was delivered and what was answered is there after the restart", server="own")
async def killed(c: Context, rounds: int = 2):
    # Nothing is dropped to make room: what is missing is lost.
    server = await c.own({**QUICK, "queue_messages": 1_000_000})
    receiver, senders = await c.user(), [await c.user() for _ in range(10)]
    delivered: list[bytes] = []
    answered: dict[bytes, int] = {}
    numbers = iter(range(1_000_000))

    async def send(user: Identity):
        try:
            async with Device.connected(c.service) as device:
                await device.login(user)
                while True:
                    for _ in range(4):
                        await device.message(receiver.key, os.urandom(200), boxed=False)
                    number = next(numbers)
                    await done(device.write(user.key, "f", b"%d" % number))
                    answered[user.key] = number
        except (Closed, OSError, websockets.ConnectionClosed):
            pass

    async def receive():
        try:
            async with Device.connected(c.service) as device:
                await device.login(receiver, delivered[-1] if delivered else bytes(64))
                while True:
                    delivered.append((await device.stream()).message_id)
        except (Closed, OSError, websockets.ConnectionClosed):
            pass
    for _ in range(rounds):
        before = len(delivered)

        async def kill():
            while len(delivered) < before + 200:
                await asyncio.sleep(0.01)
            await asyncio.sleep(random.random() * 0.3)
            await server.end(signal.SIGKILL)
        await together(kill(), receive(), *(send(user) for user in senders))
        await server.start()
        c.service = server.service
        device = await c.again(receiver)
        same(await take(device, len(delivered)), delivered, "the queue after kill -9")
        for user in senders:
            if user.key in answered:
                number = int(device.opened(await done(device.file("read", user.key, "f"))))
                expect(number >= answered[user.key],
                       f"write {answered[user.key]} was answered, {number} is there")
        await device.close()


@case("on SIGTERM: redirect to public_url without a query, 1001, exit 0 within 10 s", server="own")
async def drain(c: Context):
    server = await c.own(QUICK)
    devices = [await c.online() for _ in range(20)]
    silent = await c.device()
    await silent.socket.send(wire.frame(os.urandom(100)))
    fresh = await c.device()
    paused = devices[0]
    await paused.send("pause")
    await paused.barrier()
    ending = asyncio.create_task(server.end())
    for device in devices:
        pdu = await device.next()
        same(pdu.type, "redirect", "the last PDU")
        parts = urllib.parse.urlsplit(pdu.uri.decode())
        same((parts.scheme, parts.netloc, parts.path, parts.query),
             ("ws", f"127.0.0.1:{server.port}", "/siren", ""), "URI")
        same(await device.closed(), 1001, "close code")
    for device in (silent, fresh):
        try:
            while True:
                await device.next()
        except Closed:
            pass
    same(await ending, 0, "exit status")  # 1 if it took 10 s
    await server.start()
    again = await Device.connect(server.service, url=pdu.uri.decode())
    await again.login(devices[1].user)
    await again.barrier()
    await again.close()


@case("the log has no token, uid, name, key, message or file in it, at level debug", server="own")
async def discreet(c: Context):
    server = await c.own(QUICK)
    words = {what: "zq" + os.urandom(8).hex() for what in ("token", "uid", "name", "file", "search")}
    user, ephemeral = Identity(words["name"]), Identity()
    device = await c.device(ephemeral=ephemeral)
    await device.new(user, words["uid"], words["token"])
    await device.login(user)
    await done(device.write(user.key, words["file"], words["file"].encode()))
    await device.message(user.key, words["file"].encode(), boxed=False)
    await device.users("searchByName", name=words["search"])
    forum = await c.forum(device, escrow=True)
    await device.barrier()
    refused = await c.device()
    await refused.new(Identity(words["name"]), words["uid"] + "\n", words["token"], name=b"\n")
    await silent_close(refused)
    await device.socket.send(wire.frame(b"x" * 50))
    same(await device.closed(), 1008, "close code")
    await server.end()
    log = (server.folder / "log").read_text().lower()
    expect("/siren" in log, "the log is empty")
    for what, word in [*words.items(), ("ephemeral key", ephemeral.key.hex()),
                       ("user's secret", user.secret.hex()), ("forum's secret", forum.secret.hex()),
                       ("signature", user.signature.hex())]:
        expect(word not in log, f"the {what} stands in the log")


@case("SIGTERM while 20 devices send: what was delivered is queued, exit 0", server="own")
async def drain_under_load(c: Context):
    # 20 senders post more within the second than a queue holds by itself.
    server = await c.own({**QUICK, "queue_messages": 1_000_000})
    receiver, users = await c.online(), [await c.user() for _ in range(20)]

    async def send(user: Identity):
        device = await c.again(user)
        try:
            while True:
                await device.message(receiver.user.key, os.urandom(300), boxed=False)
                await asyncio.sleep(0)
        except websockets.ConnectionClosed:
            pass

    async def receive():
        ids = []
        while (pdu := await receiver.next()).type == "message":
            ids.append(pdu.message_id)
        same(pdu.type, "redirect", "what ends the stream")
        same(await receiver.closed(), 1001, "close code")
        return ids

    async def end():
        await asyncio.sleep(1)
        return await server.end()
    ids, status, *_ = await together(receive(), end(), *(send(user) for user in users))
    same(status, 0, "exit status")  # 1 if it took 10 s
    await server.start()
    c.service = server.service
    device = await c.again(receiver.user)
    same(await take(device, len(ids)), ids, "the queue")


@case("kill -9, ten times", server="own", slow=True)
async def killed_often(c: Context):
    await killed(c, 10)

"""What needs the server's process or a recording: replays, kill -9, drain, noise in valid boxes."""

import asyncio
import os
import random
import signal
import time
import urllib.parse

import apptimist_protocol as wire
import websockets
from apptimist_device import PATIENCE, Closed, Device, Identity, Missing
from case import (SILENCE, Context, case, done, expect, same, silent_close, stream_id, take,
                  together, until)

QUICK = {"refusal_min": "1s", "refusal_max": "1100ms"}


async def recorder(c: Context) -> tuple[str, list[bytes]]:
    """A relay in front of the service, and what devices send through it, one entry a connection."""
    recordings: list[bytes] = []

    async def relay(reader, writer):
        number = len(recordings)
        recordings.append(b"")
        up_reader, up_writer = await asyncio.open_connection(c.service.host, c.service.port)

        async def up():
            while data := await reader.read(65536):
                recordings[number] += data
                up_writer.write(data)
            up_writer.close()

        async def down():
            while data := await up_reader.read(65536):
                writer.write(data)
            writer.close()
        try:
            await together(up(), down())
        except OSError:
            pass
    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    c.stack.callback(server.close)
    port = server.sockets[0].getsockname()[1]
    return f"ws://127.0.0.1:{port}{c.service.path}", recordings


async def play(c: Context, recording: bytes) -> bytes:
    """Sends a recording to the service in one go; everything that it says to that."""
    reader, writer = await asyncio.open_connection(c.service.host, c.service.port)
    writer.write(recording)
    came = b""
    try:
        while data := await asyncio.wait_for(reader.read(65536), SILENCE + 4):
            came += data
    except (asyncio.TimeoutError, OSError):
        pass
    writer.close()
    return came


@case("a recorded connection, played again byte for byte, changes nothing")
async def replay(c: Context):
    url, recordings = await recorder(c)
    witness = await c.online()
    user = Identity(c.word())
    device = await Device.connect(c.service, url=url)
    await device.new(user)
    await device.login(user)
    await done(device.write(user.key, "f", b"then"))
    await device.send("vouch", subjectPubEncrKey=witness.user.key,
                      signature=wire.sign(witness.user.key, user.seed))
    message = await device.message(witness.user.key, b"once")
    forum = await c.forum(device)
    await device.barrier()
    same(await take(witness, 1), [message], "the witness's stream")
    recording = recordings[0]

    async def changed():
        other = await c.again(user)
        await done(other.write(user.key, "f", b"now"))
        await other.send("vouch", subjectPubEncrKey=witness.user.key, signature=bytes(64))
        await other.send("del", pubEncrKey=forum.key)
        await other.barrier()
        return other
    other = await changed()
    line, rest = recording.split(b"\r\n", 1)
    key = line.split(b"?")[1].split(b" ")[0].decode()
    top = bytes.fromhex(key)
    top = (top[:31] + bytes([top[31] ^ 0x80])).hex()
    lines = [line, line.replace(key.encode(), key.upper().encode()),
             line.replace(key.encode(), f"key={key}".encode()),
             line.replace(key.encode(), top.encode())]
    for attempt in lines:  # while the first connection is open still, and after it
        await play(c, attempt + b"\r\n" + rest)
    await device.close()
    for attempt in lines:
        came = await play(c, attempt + b"\r\n" + rest)
        same(came[:12], b"HTTP/1.1 400", f"the answer to {attempt[:24]}…")
    same(other.opened(await done(other.file("read", user.key, "f"))), b"now", "the file")
    answer = await other.request("vouchers", subjectPubEncrKey=witness.user.key)
    same(answer.voucherPubEncrKeys, [], "vouchers")
    marker = await other.message(witness.user.key, b"marker")
    same(await until(witness, marker), [], "the witness's stream")


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
    server = await c.own(QUICK)
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
    start = time.monotonic()
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
    same(await ending, 0, "exit status")
    expect(time.monotonic() - start < 10, "took 10 s")
    await server.start()
    again = await Device.connect(server.service, url=pdu.uri.decode())
    await again.login(devices[1].user)
    await again.barrier()
    await again.close()


@case("without public_url a redirect at 65,000 names the address that the device asked", server="own",
      slow=True)
async def redirect_unconfigured(c: Context):
    server = await c.own(QUICK, public=False)
    device = await c.online()
    try:
        while device.channel.next_sent <= wire.LAST_SEQ + 2:
            await device.send("resume")
    except websockets.ConnectionClosed:
        pass
    pdu = await device.next()
    same((pdu.type, pdu.uri.decode()), ("redirect", server.url), "the last PDU")
    same(await device.closed(), 1001, "close code")


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
    server = await c.own(QUICK)
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
        start = time.monotonic()
        status = await server.end()
        expect(time.monotonic() - start < 10, f"took {time.monotonic() - start:.1f} s")
        return status
    ids, status, *_ = await together(receive(), end(), *(send(user) for user in users))
    same(status, 0, "exit status")
    await server.start()
    c.service = server.service
    device = await c.again(receiver.user)
    same(await take(device, len(ids)), ids, "the queue")


def noise(dice: random.Random, keys: list[bytes], own: Identity) -> tuple[bytes, bytes]:
    """A header in a valid box: well-formed with odd values, or broken now and then."""
    names = list(wire.LAYOUTS)
    name = dice.choice(names)
    key = lambda: dice.choice(keys + [bytes(32), b"\xff" * 32, dice.randbytes(32)])
    text = lambda: dice.choice([b"", b"a", b"author", b"editors", b"subscribers", b"secret", b"..",
                                b"*" * 50, b"\xff" * 20, dice.randbytes(dice.randrange(255))])
    fields = {}
    for kind, what in wire.LAYOUTS[name][1]:
        if kind == "text":
            fields[what] = text()
        elif kind == "keys":
            fields[what] = [key() for _ in range(dice.randrange(4))]
        elif kind.startswith("len"):
            continue
        elif what == 32:
            fields[kind] = key()
        elif what == 64:
            fields[kind] = dice.choice([bytes(64), b"\xff" * 64, dice.randbytes(64)])
        else:
            fields[kind] = dice.choice([0, 1, 5, 65_535])
    if "fromPubEncrKey" in fields and dice.random() < 0.8:
        fields["fromPubEncrKey"] = own.key
    header = wire.encode(name, **fields)
    if dice.random() < 0.02:
        header = header[:dice.randrange(len(header))] + dice.randbytes(dice.randrange(3))
    return header, dice.randbytes(dice.choice([0, 0, 1, 16, 80, 3000]))


@case("noise in valid boxes: sessions end or go on, everybody else is served")
async def fuzz(c: Context, devices: int = 6, each: int = 200):
    seed = int.from_bytes(os.urandom(4), "big")
    dice = random.Random(seed)
    witness, friend = await c.online(), await c.online()
    forum = await c.forum(witness, subscribers=[witness.user.key])
    keys = [witness.user.key, friend.user.key, forum.key]

    async def attack():
        left = each
        while left > 0:
            device = await c.online()
            keys[4:] = keys[5:][-8:] + [device.user.key]
            try:
                while left > 0:
                    left -= 1
                    header, edata = noise(dice, keys, device.user)
                    if len(edata) == 3000 and dice.random() < 0.5:
                        edata = c.service.seal(edata, device.user, c.service.key)
                    await device.send_header(header, edata)
                    if left % 20 == 0:
                        await device.barrier()
                        device.waiting.clear()
            except (Missing, Closed, websockets.ConnectionClosed, wire.ProtocolError):
                pass
            finally:
                await device.close()
    await together(*(attack() for _ in range(devices)))
    marker = await friend.message(witness.user.key, b"marker")
    await until(witness, marker)
    same(len(await witness.users("searchByKey", pubEncrKey=forum.key)), 1, f"the forum, seed {seed}")


@case("noise in valid boxes, for longer", slow=True)
async def fuzz_longer(c: Context):
    await fuzz(c, 16, 2_500)


@case("kill -9, ten times", server="own", slow=True)
async def killed_often(c: Context):
    await killed(c, 10)

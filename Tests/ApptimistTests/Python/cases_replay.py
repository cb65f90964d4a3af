"""Recorded connections, played again."""

import asyncio

import apptimist_protocol as wire
from apptimist_device import PATIENCE, Device, Identity
from case import SILENCE, Context, case, done, same, take, together, until


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
    came, patience = b"", PATIENCE
    try:
        while data := await asyncio.wait_for(reader.read(65536), patience):
            came, patience = came + data, SILENCE + 4
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

"""service.json, the handshake, WebSocket frames, time-outs."""

import asyncio
import os
import struct
import time

import apptimist_protocol as wire
import websockets
from apptimist_device import PATIENCE, Identity, Missing, http, upgrade_request
from case import Context, case, expect, same, together
from vectors import vectors


async def status(c: Context, query: str, *extra: str) -> int:
    return (await http(c.service.host, c.service.port,
                       upgrade_request(c.service.path + query, *extra)))[0]


@case("service.json has the keys, the signature and the versions")
async def document(c: Context):
    document = c.service.document
    same(document["versions"], [1, 2], "versions")
    same(document["service"], "siren", "service")
    for name, digits in (("encryptionKey", 64), ("authenticationKey", 64), ("signature", 128)):
        same(len(document[name]), digits, f"digits of {name}")
        same(document[name], document[name].lower(), f"case of {name}")
    expect(wire.verifies(c.service.signature, c.service.key, c.service.authentication_key),
           "the signature doesn't hold")


@case("hex in either case, ?key= too; a missing, malformed or low-order key, the service's own: 400")
async def handshakes(c: Context):
    own = next(user["encryptionKey"] for user in vectors("keys.json")["users"]
               if user["name"] == "service")
    fresh = {pair["key"] for pair in vectors("keys.json")["ephemeral"]}
    for row in vectors("handshakes.json")["handshakes"]:
        query = row["query"].replace(own, c.service.key.hex())
        if row["status"] == 101:  # a key of this run, in the row's case
            old = next(key for key in fresh if key in query.lower())
            digits = Identity().key.hex()
            start = query.lower().index(old)
            digits = "".join(new.upper() if was.isupper() else new
                             for new, was in zip(digits, query[start:]))
            query = query[:start] + digits
        same(await status(c, query), row["status"], row["name"])
    for key in vectors("keys.json")["lowOrder"]:
        same(await status(c, "?" + key), 400, f"of low order, {key}")
    same(await status(c, "?" + c.service.key.hex().upper()), 400, "the service's own key in capitals")


@case("a plain GET gets 426 with Upgrade: websocket, before the key is looked at")
async def plain_get(c: Context):
    for query in ("", "?" + Identity().key.hex(), "?" + "0" * 64, "?xyz"):
        code, fields, _ = await http(
            c.service.host, c.service.port,
            f"GET {c.service.path}{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
        same(code, 426, f"status of {query[:20]!r}")
        same(fields.get("upgrade", "").lower(), "websocket", "Upgrade")


@case("no WebSocket extension is offered")
async def no_extension(c: Context):
    code, fields, _ = await http(
        c.service.host, c.service.port,
        upgrade_request(f"{c.service.path}?{Identity().key.hex()}",
                        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"))
    same(code, 101, "status")
    expect("sec-websocket-extensions" not in fields, "an extension was agreed on")


@case("a registered user's or forum's key as the ephemeral one: 400")
async def registered_key(c: Context):
    device = await c.online()
    forum = await c.forum(device)
    await device.barrier()
    same(await status(c, "?" + device.user.key.hex()), 400, "a user's key")
    same(await status(c, "?key=" + device.user.key.hex().upper()), 400, "the same with key=")
    same(await status(c, "?" + forum.key.hex()), 400, "a forum's key")


@case("an ephemeral key serves one connection: 400 in whatever form it comes again")
async def used_key(c: Context):
    user, ephemeral = await c.user(), Identity()
    device = await c.device(ephemeral=ephemeral)
    same(await status(c, "?" + ephemeral.key.hex()), 101, "before the first header was opened")
    await device.login(user)
    await device.barrier()
    key = ephemeral.key.hex()
    for query in ("?" + key, "?" + key.upper(), "?key=" + key):
        same(await status(c, query), 400, f"again as {query[:6]}…")
    await device.close()
    same(await status(c, "?" + key), 400, "after the connection has ended")


@case("the same key in X25519's other encoding (its top bit set) opens no door for a recording")
async def used_key_other_encoding(c: Context):
    user, ephemeral = await c.user(), Identity()
    device = await c.device(ephemeral=ephemeral)
    await device.login(user)
    await device.barrier()
    other = ephemeral.key[:31] + bytes([ephemeral.key[31] | 0x80])
    same(await status(c, "?" + other.hex()), 400, "a used key with the top bit set")
    flipped = c.service.key[:31] + bytes([c.service.key[31] ^ 0x80])
    same(await status(c, "?" + flipped.hex()), 400, "the service's key with the top bit set")


@case("a second use that raced gets 1008")
async def raced_key(c: Context):
    user, ephemeral = await c.user(), Identity()
    first, second = await together(c.device(ephemeral=ephemeral), c.device(ephemeral=ephemeral))
    await first.login(user)
    await first.barrier()
    await second.login(user)
    same(await second.closed(), 1008, "close code of the second")
    await first.barrier()


@case("both orders of keys: the smaller counts 1, 3, 5, the larger 2, 4, 6")
async def both_orders(c: Context):
    user = await c.user()
    for smaller in (True, False):
        ephemeral = Identity()
        while (ephemeral.key < c.service.key) != smaller:
            ephemeral = Identity()
        device = await c.device(ephemeral=ephemeral)
        await device.login(user)
        for _ in range(200):
            await device.barrier()
        same(device.channel.next_sent, 403 + (0 if smaller else 1), "next number")
        same(device.channel.next_received, 401 + (1 if smaller else 0), "next number awaited")


@case("fragmented messages are fine, pings between the fragments too")
async def fragments(c: Context):
    user = await c.user()
    device = await c.device()
    device.user = user
    login = device.channel.seal(wire.encode("login", userPubEncrKey=user.key,
                                            signature=user.signature))
    await device.socket.send(login[i:i + 1] for i in range(len(login)))
    search = device.channel.seal(wire.encode("searchByKey", pubEncrKey=user.key))

    async def slowly():
        yield search[:5]
        await (await device.socket.ping(b"between"))
        yield b""
        yield search[5:]
    await device.socket.send(slowly())
    same((await device.answer()).pubEncrKey, user.key, "the answer")


@case("pings are answered with their data")
async def pings(c: Context):
    device = await c.device()
    for data in (b"", b"x" * 125):
        await asyncio.wait_for(await device.socket.ping(data), PATIENCE)


@case("a text message closes with 1003, before and after login")
async def text(c: Context):
    device = await c.device()
    await device.socket.send("hello")
    same(await device.closed(), 1003, "before login")
    device = await c.online()
    await device.socket.send("")
    same(await device.closed(), 1003, "after login")


@case("lengths that don't add up close with 1002, before and after login")
async def lengths(c: Context):
    pdu = bytes(wire.frame(os.urandom(180), b"data"))

    async def one(what: str, message: bytes, logged_in: bool):
        device = await (c.online() if logged_in else c.device())
        await device.socket.send(message)
        same(await device.closed(), 1002, f"{what}, {'after' if logged_in else 'before'} login")
    rows = [("nothing", b""), ("seven bytes", pdu[:7]), ("a byte missing", pdu[:-1]),
            ("a byte more", pdu + b"x"), ("two in one", pdu + pdu),
            ("headerLen 2^32-1", b"\xff" * 4 + pdu[4:]),
            ("dataLen 2^32-1", pdu[:4] + b"\xff" * 4 + pdu[8:]),
            ("a sum that wraps in 32 bits",
             struct.pack(">II", 2**32 - 8, len(pdu)) + pdu[8:])]
    await together(*(one(*row, logged_in) for row in rows for logged_in in (False, True)))


@case("data of 1 MiB and its 16 bytes pass; a message over the limits closes with 1009")
async def sizes(c: Context):
    sender, receiver = await c.online(), await c.online()
    edata = os.urandom((1 << 20) + 16)
    message = await sender.message(receiver.user.key, edata, boxed=False)
    pdu = await receiver.stream()
    same(pdu.message_id, message, "messageID of the largest message")
    await sender.message(receiver.user.key, edata + b"x", boxed=False)
    same(await sender.closed(), 1009, "data a byte over the limit")
    for what, message in (("a header of 5,000 bytes", wire.frame(os.urandom(5000))),
                          ("3 MiB", wire.frame(os.urandom(200), os.urandom(3 << 20)))):
        device = await c.device()
        try:
            await device.socket.send(message)
        except websockets.ConnectionClosed:
            pass
        same(await device.closed(), 1009, f"{what}, before login")


@case("a connection that isn't logged in in time is closed with 1008", server="own")
async def login_timeout(c: Context):
    await c.own({"login_timeout": "3s"})
    device = await c.device()
    same(await device.closed(), 1008, "without a word")
    device = await c.device()
    try:
        for _ in range(100):
            await device.send("pause")
            await asyncio.sleep(0.2)
    except websockets.ConnectionClosed:
        pass
    same(await device.closed(), 1008, "with PDUs that are ignored")


@case("after its close frame the service discards until the peer's, 5 s at most", slow=True)
async def close_wait(c: Context):
    reader, writer = await asyncio.open_connection(c.service.host, c.service.port)
    writer.write(upgrade_request(f"{c.service.path}?{Identity().key.hex()}"))
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"\x81\x80\x00\x00\x00\x00")  # an empty text message, masked
    same(await asyncio.wait_for(reader.readexactly(4), PATIENCE), b"\x88\x02\x03\xeb", "close frame")
    start = time.monotonic()
    try:
        while time.monotonic() - start < 30:
            writer.write(b"\x82\x84\x00\x00\x00\x00abcd")
            await writer.drain()
            if await asyncio.wait_for(reader.read(100), 0.2) == b"":
                break
    except (asyncio.TimeoutError, OSError):
        pass
    while time.monotonic() - start < 30:
        try:
            if await asyncio.wait_for(reader.read(100), 0.5) == b"":
                break
            raise Missing("bytes after the close frame")
        except asyncio.TimeoutError:
            continue
        except OSError:
            break
    elapsed = time.monotonic() - start
    writer.close()
    expect(3 < elapsed < 12, f"ended after {elapsed:.1f} s")


@case("a peer that answers no ping is closed after two", server="own", slow=True)
async def unanswered_pings(c: Context):
    await c.own({"ping_interval": "1s"})
    user = await c.user()
    ephemeral = Identity()
    reader, writer = await asyncio.open_connection(c.service.host, c.service.port)
    writer.write(upgrade_request(f"{c.service.path}?{ephemeral.key.hex()}"))
    await reader.readuntil(b"\r\n\r\n")
    channel = wire.HeaderChannel(ephemeral.secret, ephemeral.key, c.service.key,
                                 c.service.data_nonce)
    login = channel.seal(wire.encode("login", userPubEncrKey=user.key, signature=user.signature))
    writer.write(b"\x82\xfe" + struct.pack(">H", len(login)) + bytes(4) + login)
    came = b""
    try:
        while data := await asyncio.wait_for(reader.read(100), 30):
            came += data
    except ConnectionResetError:
        pass
    writer.close()
    pings = 0
    while came[:1] == b"\x89":
        pings, came = pings + 1, came[2 + came[1]:]
    same(pings, 2, "pings before the end")

"""Version 2: one case a rule of the page."""

import asyncio
import os
import signal

import websockets

import apptimist2_protocol as wire
import apptimist_protocol as version1
from apptimist2_device import Device2
from apptimist_device import Closed, Identity, http, upgrade_request
from case import Context, case, done, expect, same, silent_close


async def device(c: Context, **options) -> Device2:
    device = await Device2.connect(c.service, **options)
    c.stack.push_async_callback(device.close)
    return device


async def online(c: Context, user: Identity | None = None, flags: int = 0, **login) -> Device2:
    """A new account of version 2, logged in."""
    one = await device(c)
    user = user or Identity(c.word())
    same((await one.new(user, flags=flags)).error, 0, "new")
    same((await one.login(user, **login)).error, 0, "login")
    return one


async def again(c: Context, user: Identity, **login) -> tuple[Device2, wire.PDU]:
    one = await device(c)
    answer = await one.login(user, **login)
    same(answer.error, 0, "login")
    return one, answer


async def refused(one: Device2, error: int, what: str):
    """The answer to what was sent last comes after the silence, and then the close."""
    answer = await one.answer()
    same(answer.error, error, what)
    same(await one.closed(), 1008, f"close after {what}")


# Negotiation and frames.


@case("2: service.json signs the versions; the highest of those offered is taken; without any it is version 1")
async def negotiation(c: Context):
    document = c.service.document
    expect(wire.verifies(bytes.fromhex(document["signature2"]),
                         wire.service_signed(c.service.key, document["versions"]),
                         c.service.authentication_key), "signature2")
    one = await device(c, offered=[9, 2, 7])
    same((one.hello.type, one.hello.number, one.hello.pageMax), ("hello", 0, 100), "hello")
    old = await c.device()
    same(old.socket.subprotocol, None, "the subprotocol of version 1")
    await old.new(Identity(c.word()))
    for offered, status in [("apptimist.3", 101), ("chat, apptimist.02, apptimist.2x", 101)]:
        answered, fields, _ = await upgrade(c, offered)
        same((answered, "sec-websocket-protocol" in fields), (status, False), offered)
    many = ", ".join(f"apptimist.{number}" for number in range(2, 19))
    same((await upgrade(c, many))[0], 400, "17 versions")
    same((await upgrade(c, many.rsplit(", ", 1)[0]))[1].get("sec-websocket-protocol"), "apptimist.2",
         "16 versions")


async def upgrade(c: Context, offered: str):
    return await http(c.service.host, c.service.port, upgrade_request(
        f"{c.service.path}?{Identity().key.hex()}", f"Sec-WebSocket-Protocol: {offered}"))


@case("2: a service without pushes answers push with 11, whatever it says, before and after login")
async def no_pushes(c: Context):
    one = await device(c)
    same((await one.request("push", b"x" * 40, kind=3, addressLen=40)).error, 11, "before login")
    user = Identity(c.word())
    same(((await one.new(user)).error, (await one.login(user)).error), (0, 0), "new and login")
    for fields, data in [({"kind": 3, "addressLen": 40}, b"x" * 40), ({}, b""), ({"kind": 9, "flags": 7}, b"x")]:
        same((await one.request("push", data, **fields)).error, 11, str(fields))


@case("2: an ephemeral key may be used again, and may be anybody's, the service's too")
async def any_ephemeral(c: Context):
    user, other, key = Identity(c.word()), Identity(c.word()), Identity()
    await online(c, user)
    await online(c, other)
    for pair in (key, key, other):
        one = await device(c, ephemeral=pair)
        same((await one.login(user)).error, 0, "login")


@case("2: before login a box that doesn't open is 1008 after silence; after it at once; text is 1003, lengths 1002, size 1009")
async def broken_frames(c: Context):
    one = await device(c)
    await one.socket.send(b"x" * 40)
    one.sent_at = asyncio.get_running_loop().time()
    same(await one.closed(), 1008, "close")
    one = await online(c)
    await one.socket.send(b"x" * 40)
    same(await one.closed(), 1008, "close after login")
    one = await online(c)
    await one.socket.send("text")
    same(await one.closed(), 1003, "close after text")
    one = await online(c)
    await one.send_frame(wire.frame(wire.request("pause", 1)) + b"x")
    same(await one.closed(), 1002, "close after lengths")
    for header, data in [(bytes(4097), b""), (b"", bytes((1 << 20) + 1))]:
        one = await online(c)
        await one.send_header(header, data)
        same(await one.closed(), 1009, "close after too much")
    one = await device(c)
    await one.send_header(wire.request("pause", 1), bytes(17_000))
    same(await one.closed(), 1009, "close after too much before login")


@case("2: types that there are not, or not at this stage, are 11 and don't close; data where there is none is 12")
async def wrong_types(c: Context):
    one = await device(c)
    for name in ("pause", "searchByKey", "ack"):
        same((await one.request(name)).error, 11, f"{name} before login")
    user = Identity(c.word())
    await one.new(user)
    await one.login(user)
    for kind in (2, 14, 20, 99, 0x85):
        await one.send_header(wire.start(kind, 77) + b"any")
        answer = await one.answer()
        same((answer.error, answer.number), (11, 77), f"type {kind}")
    same((await one.request("login", **one.login_fields(user))).error, 11, "login again")
    same((await one.request("pause", b"x")).error, 12, "data")
    await one.send_header(wire.request("pause", 0))
    same((await one.request("resume")).error, 0, "nothing but this is answered")
    await one.send_header(wire.request("pause", 5)[:-1])
    same(await one.closed(), 1008, "a short header")


# Accounts.


@case("2: new and login prove both keys; what is refused is answered after the silence and closed")
async def proofs(c: Context):
    user = Identity(c.word())
    cases = [({"signature": bytes(64)}, 9), ({"possession": bytes(32)}, 9), ({"flags": 2}, 12),
             ({"pubEncrKey": bytes(32)}, 12), ({"name": b"\x07"}, 4), ({"uid": b"\xff"}, 4),
             ({"pubEncrKey": c.service.key}, 12), ({"pubAuthKey": b"\1" + bytes(31)}, 12)]
    for changed, error in cases:
        one = await device(c)
        await one.send("new", **one.new_fields(user, **changed))
        await refused(one, error, f"new with {list(changed)}")
    one = await device(c)
    await one.send("new", bytes(8193), **one.new_fields(user))
    await refused(one, 5, "new with a long token")
    one = await device(c)
    same((await one.new(user, bytes(8192))).error, 0, "new with the longest token")
    same((await one.new(user, bytes(8192))).error, 0, "new again")
    await one.send("new", **one.new_fields(Identity("x")))
    await refused(one, 11, "a second new for another key")
    thief = Identity(c.word(), secret=user.secret)
    one = await device(c)
    await one.send("new", **one.new_fields(thief))
    await refused(one, 10, "new for a key that is taken")
    for changed, error in [({"signature": bytes(64)}, 9), ({"possession": bytes(32)}, 9),
                           ({"flags": 4}, 12), ({"userPubEncrKey": b"\1" + bytes(31)}, 12)]:
        one = await device(c)
        await one.send("login", **one.login_fields(user, **changed))
        await refused(one, error, f"login with {list(changed)}")
    one = await device(c)
    await one.send("login", **one.login_fields(Identity()))
    await refused(one, 2, "login of nobody")
    one = await online(c)
    forum = Identity(c.word())
    same((await one.new(forum)).error, 0, "a forum")
    same((await one.new(forum)).error, 0, "the same forum")
    same((await one.request("new", b"x", **one.new_fields(Identity("f")))).error, 12, "a token")
    other = await device(c)
    await other.send("login", **other.login_fields(forum))
    await refused(other, 1, "login of a forum")


@case("2: what login proves is worth nothing on another connection")
async def replayed(c: Context):
    user = Identity(c.word())
    first = await online(c, user)
    second = await device(c)
    await second.send("login", **{**second.login_fields(user),
                                  "signature": first.login_fields(user)["signature"]})
    await refused(second, 9, "login with another connection's signature")


@case("2: an account made in version 1 gives way to who proves its key, with all that was the other's")
async def gives_way(c: Context):
    user = Identity(c.word())
    thief = Identity(c.word(), secret=user.secret)  # who knows the public key only would do
    old = await c.device()
    await old.new(thief)
    await old.login(thief)
    await old.barrier()
    forum = await c.forum(old)
    await done(old.write(user.key, "file", b"mine"))
    subject = await c.user()
    await old.send("vouch", subjectPubEncrKey=subject.key,
                   signature=wire.sign(subject.key, thief.seed))
    await old.message(user.key, b"to myself")
    await old.barrier()
    one = await device(c)
    same((await one.new(user)).error, 0, "new")
    same(await old.closed(), 1008, "the other's session")
    answer = await one.login(user)
    same((answer.error, answer.last, answer.first), (0, 1, 2), "positions go on")
    same((await one.request("read", pubEncrKey=user.key, filename="file")).error, 2, "the file")
    same((await one.request("vouchers", subjectPubEncrKey=subject.key)).count, 0, "the voucher")
    same((await one.request("searchByKey", pubEncrKey=forum.key)).count, 0, "the forum")
    same((await one.request("del", pubEncrKey=forum.key)).error, 0, "del of the deleted forum")
    other = await c.device()
    await other.login(thief)
    await silent_close(other)
    one = await device(c)
    await one.send("new", **one.new_fields(thief))
    await refused(one, 10, "new of the other")


@case("2: flag 0 closes version 1: its sessions before the answer, and every later login")
async def closing(c: Context):
    old = await c.online()
    user = old.user
    one, answer = await again(c, user)
    same(answer.flags, 0, "open")
    _, answer = await again(c, user, flags=1)
    same(answer.flags, 1, "closed")
    same(await old.closed(), 1008, "the session of version 1")
    late = await c.device()
    await late.login(user)
    await silent_close(late)
    found = await one.request("searchByKey", pubEncrKey=user.key)
    same(wire.users(1, found.data)[0]["flags"], 1, "flags of the user")
    same((await again(c, user))[1].flags, 1, "for ever")


# The stream.


@case("2: messages of both versions stream by position; known, retries, own positions, acknowledged starts")
async def stream(c: Context):
    old, one = await c.online(), await online(c)
    me = one.user
    first = await old.message(me.key, b"old")
    pdu = await one.stream()
    same((pdu.position, pdu.message_id), (1, first), "version 1's")
    same(c.service.open(pdu.data, me, old.user.key), b"old", "its content")
    sealed = one.sealed(b"note", me.key, 5)
    answer = await one.message(me.key, sealed, 5)
    same((answer.error, answer.known, answer.position), (0, 0, 2), "to oneself")
    answer = await one.message(me.key, sealed, 5)
    same((answer.error, answer.known, answer.position), (0, 1, 2), "a retry")
    answer = await one.message(old.user.key, one.sealed(b"x", old.user.key, 6), 6)
    same((answer.error, answer.known, answer.position), (0, 0, 0), "to another")
    got = await old.stream()
    same(got.type, "message", "version 1 gets it")
    other, answer = await again(c, me)
    same((answer.first, answer.last, answer.start), (1, 2, 0), "login")
    same([(await other.stream()).position for _ in range(2)], [1, 2], "the backlog")
    same((await other.request("ack", position=3)).error, 12, "ack of what didn't come")
    same((await other.request("ack", position=2)).error, 0, "ack")
    same((await other.request("ack", position=1)).error, 0, "a lower ack")
    third = await device(c)
    third.id = other.id
    same((await third.login(me)).start, 2, "the acknowledged position")
    epoch = answer.epoch
    expect(epoch != 0, "epoch")
    for after, wanted in [({"epoch": epoch, "after": 1}, 1), ({"epoch": epoch + 1, "after": 1}, 0),
                          ({"epoch": epoch, "after": 99}, 0), ({"head": first}, 1),
                          ({"max": 1}, 1)]:
        same((await again(c, me, **after))[1].start, wanted, f"start of {after}")
    # Without an answer it is there within a second.
    fourth, _ = await again(c, me)
    await fourth.stream(), await fourth.stream()
    await fourth.send_header(wire.request("ack", 0, position=1))
    await asyncio.sleep(2)
    fifth = await device(c)
    fifth.id = fourth.id
    same((await fifth.login(me)).start, 1, "the position acknowledged without an answer")


@case("2: truncate answers with its place, again with the same; pause and resume; the errors of message")
async def truncation(c: Context):
    one = await online(c)
    me = one.user
    sealed = one.sealed(b"note", me.key, 5)
    await one.message(me.key, sealed, 5)
    name = wire.message_id(5, me.key, me.key, me.key, sealed)
    other, _ = await again(c, me)
    same((await other.stream()).message_id, name, "the message")
    same((await other.request("pause")).error, 0, "pause")
    for known in (0, 1):
        answer = await one.request("truncate", messageID=name)
        same((answer.error, answer.known, answer.position), (0, known, 2), "truncate")
    same((await one.request("truncate", messageID=bytes(64))).error, 2, "of nothing")
    same((await other.request("resume")).error, 0, "resume")
    told = await other.stream()
    same((told.type, told.position, told.messageID), ("truncate", 2, name), "the stream's entry")
    nobody, forum = Identity(), Identity(c.word())
    await one.new(forum)
    same((await one.message(me.key, b"x", 1, fromPubEncrKey=nobody.key)).error, 1, "another's")
    same((await one.message(nobody.key, b"x", 1)).error, 2, "to nobody")
    same((await one.message(me.key, b"x", 1, toPubEncrKey=forum.key)).error, 12, "a forum in `to`")
    same((await one.message(forum.key, b"x", 1, toPubEncrKey=me.key)).error, 12, "in `recipient`")
    same((await one.message(forum.key, b"x", 1)).error, 0, "a post that nobody gets")


@case("2: a forum whose secret the service has takes signed posts and copies them sealed, to open readers in version 1's box")
async def posts(c: Context):
    closed, open_ = await online(c, flags=1), await c.online()
    author = await online(c)
    forum = Identity(c.word())
    await author.new(forum)
    keys = closed.user.key + open_.user.key + author.user.key
    for name, content in [("subscribers", keys), ("secret", c.sealed(forum.secret))]:
        same((await author.request("write", content, pubEncrKey=forum.key, filename=name)).error, 0,
             name)
    found = await author.request("searchByKey", pubEncrKey=forum.key)
    same([(user["kind"], user["flags"]) for user in wire.users(1, found.data)], [(2, 2)], "the forum")
    same((await author.message(forum.key, b"x" * 90, 7)).error, 6, "no sealed post")
    same((await author.message(forum.key, author.sealed(b"x", forum.key, 7), 7)).error, 6,
         "a message in place of a post")
    wrong = wire.seal(2, bytes(64) + b"x", os.urandom(32), c.service.key, author.user.secret,
                      forum.key, forum.key, author.user.key, 7)
    same((await author.message(forum.key, wrong, 7)).error, 9, "an unsigned post")
    post = author.sealed(b"hello all", forum.key, 7, kind=2)
    answer = await author.message(forum.key, post, 7)
    same((answer.error, answer.known, answer.position), (0, 0, 1), "the post")
    answer = await author.message(forum.key, post, 7)
    same((answer.error, answer.known, answer.position), (0, 1, 1), "the post again")
    copy = await closed.stream()
    plain = closed.unsealed(copy, kind=3)
    expect(wire.verifies(plain[:64], wire.post_signed(c.service.key, forum.key, author.user.key, 7,
                                                      plain[64:]), author.user.authentication_key),
           "the copy's signature")
    same(plain[64:], b"hello all", "the copy")
    got = await open_.stream()
    same(open_.opened(got, sender=forum.key), b"hello all", "version 1's copy")
    await open_.message(forum.key, b"from version 1", 8)
    same(closed.unsealed(await closed.stream(), kind=3), bytes(64) + b"from version 1",
         "a post of version 1")
    same((await author.new(forum, flags=1)).error, 0, "closing the forum")
    await open_.message(forum.key, b"ignored", 9)
    await open_.barrier()
    await author.message(forum.key, author.sealed(b"last", forum.key, 10, kind=2), 10)
    same(closed.unsealed(await closed.stream(), kind=3)[64:], b"last", "the next one")


# Lists and files.


@case("2: vouchers have verifiable signatures, from version 1 none; lists come in pages with cursors that are the service's")
async def lists(c: Context):
    old, people = await c.online(), [await online(c) for _ in range(5)]
    subject = people[0]
    me = subject.user
    await old.send("vouch", subjectPubEncrKey=me.key, signature=wire.sign(me.key, old.user.seed))
    await old.barrier()
    wanted = [(old.user.key, old.user.authentication_key, bytes(64))]
    for one in people[1:]:
        signature = wire.sign(wire.vouch_signed(c.service.key, one.user.key, me.key), one.user.seed)
        vouch = {"subjectPubEncrKey": me.key, "signature": signature}
        same((await one.request("vouch", **vouch)).error, 0, "vouch")
        same((await one.request("vouch", **vouch)).error, 0, "vouch again")
        wanted.append((one.user.key, one.user.authentication_key, signature))
    same((await people[1].request("vouch", subjectPubEncrKey=me.key, signature=wire.sign(
        me.key, people[1].user.seed))).error, 9, "version 1's signature")
    same((await subject.request("vouch", subjectPubEncrKey=me.key)).error, 1, "for oneself")
    same((await subject.request("vouch", subjectPubEncrKey=Identity().key)).error, 2, "for nobody")
    got, cursor, pages = [], bytes(16), 0
    while pages == 0 or cursor != bytes(16):
        answer = await subject.request("vouchers", subjectPubEncrKey=me.key, max=2, cursor=cursor)
        got += wire.vouchers(answer.count, answer.data)
        cursor, pages = answer.next, pages + 1
    same((got, pages), (wanted, 3), "vouchers")
    same((await subject.request("vouchers", subjectPubEncrKey=Identity().key)).error, 2, "of nobody")
    same((await subject.request("vouchers", subjectPubEncrKey=me.key, cursor=b"x" * 16)).error, 12,
         "a cursor of one's own")
    one = people[1]
    same((await one.request("vouch", subjectPubEncrKey=me.key)).error, 0, "taken back")
    same((await one.request("vouchers", subjectPubEncrKey=me.key)).count, 4, "one fewer")
    word = c.word()
    names = [word, word + "a", word + "b", word]
    for name in names:
        await online(c, Identity(name))
    for text in (word, word + "*"):
        found, cursor = [], None
        while cursor != bytes(16):
            answer = await one.request("searchByName", name=text, max=1, cursor=cursor or bytes(16))
            found += [user["name"].decode() for user in wire.users(answer.count, answer.data)]
            cursor = answer.next
        same(sorted(found), sorted(names), f"search for {text}")
    same(found, [word, word + "a", word + "b", word], "by age for a pattern")
    same((await one.request("searchByName", name="x" + word)).count, 0, "no match")


@case("2: files need no box of their own, may be empty, and share locks with version 1")
async def files(c: Context):
    old, one = await c.online(), await online(c)
    me = one.user
    for content in (b"", b"hello"):
        write = {"pubEncrKey": me.key, "filename": "f"}
        same((await one.request("write", content, **write)).error, 0, "write")
        got = await one.request("read", **write)
        same((got.error, got.data), (0, content), "read")
    same(old.opened(await old.file("read", me.key, "f")), b"hello", "version 1 reads it")
    same((await one.request("lock", **write)).data, b"hello", "lock")
    other, _ = await again(c, me)
    same((await other.request("write", b"x", **write)).error, 3, "another session")
    same((await one.request("remove", **write)).error, 0, "remove")
    same((await one.request("read", **write)).error, 2, "read of nothing")
    same((await other.request("read", pubEncrKey=me.key, filename="a/b")).error, 4, "a bad name")
    same((await old.file("lock", me.key, "f")).error, 1, "another's file")


@case("2: what was answered is there after kill -9, and what wasn't is queued once when sent again")
async def killed(c: Context):
    server = await c.own({"refusal_min": "0s", "refusal_max": "0s"})
    one = await online(c)
    me = one.user
    messages = [(time, one.sealed(b"m", me.key, time)) for time in range(60)]
    answered = 0
    for time, sealed in messages[:30]:
        await one.send("message", sealed, time=time, recipientPubEncrKey=me.key,
                       toPubEncrKey=me.key, fromPubEncrKey=me.key)
    for time in range(20):
        answer = await one.answer()
        same((answer.error, answer.known), (0, 0), "message")
        answered = max(answered, answer.position)
    await server.end(signal.SIGKILL)
    await server.start()
    c.service = server.service
    two, beginning = await again(c, me)
    expect(beginning.last >= answered, "what was answered is there")
    for number, (time, sealed) in enumerate(messages):
        answer = await two.message(me.key, sealed, time)
        same((answer.error, answer.position), (0, number + 1), "sent again")
    three, beginning = await again(c, me)
    same([(await three.stream()).time for _ in messages], list(range(60)), "each once, in order")
    status, redirected = asyncio.ensure_future(server.end(signal.SIGTERM)), await three.next()
    same((redirected.type, redirected.reason, redirected.uri.decode()), ("redirect", 1, server.url),
         "redirect")
    same(await three.closed(), 1001, "close")
    same(await status, 0, "exit")


@case("2: an identity provider that can't be reached is 8; who is not invited is 1, also for a key that is taken", server="own")
async def identity(c: Context):
    no_silence = {"refusal_min": "0s", "refusal_max": "0s"}
    await c.own({"identity": "facebook", **no_silence}, sections=(
        '[apptimist.facebook]\napp_id = "123"\napp_secret = "s3cret"\ngraph_url = "http://127.0.0.1:9"\n'))
    one = await device(c)
    await one.send("new", b"token", **one.new_fields(Identity("f"), uid=b"7"))
    await refused(one, 8, "new at an identity provider that is not there")
    server = await c.own({"identity": "invite", **no_silence})
    invited = server.command("invite", "new")
    token = next(word for word in invited.stdout.split() if len(word) >= 20)
    user = Identity("invited")
    one = await device(c)
    same((await one.new(user, token.encode())).error, 0, "new with an invitation")
    one = await device(c)
    await one.send("new", b"none", **one.new_fields(Identity("x", secret=user.secret)))
    await refused(one, 1, "new for a taken key without an invitation")


@case("2: who leaves is gone with name, files, queue, vouches and forums; all sessions are closed; the key stays taken")
async def leaving(c: Context):
    one, other = await online(c), await online(c)
    me, friend = one.user, other.user
    forum = Identity(c.word())
    same((await one.new(forum)).error, 0, "new forum")
    file = {"pubEncrKey": me.key, "filename": "f"}
    same((await one.request("write", b"mine", **file)).error, 0, "write")
    signature = wire.sign(wire.vouch_signed(c.service.key, me.key, friend.key), me.seed)
    same((await one.request("vouch", subjectPubEncrKey=friend.key, signature=signature)).error, 0, "vouch")
    same((await other.message(me.key, other.sealed(b"m", me.key, 1), 1)).error, 0, "message")
    second, _ = await again(c, me)
    for device_of_mine in (one, second):
        same((await device_of_mine.stream()).type, "message", "the message")
    proof = lambda device, user: wire.sign(wire.label("leave") + device.h + user.key, user.seed)
    wrong = [bytes(64), proof(second, me), proof(one, friend),
             wire.sign(wire.label("login") + one.h + me.key, me.seed)]
    for signature in wrong:
        same((await one.request("leave", signature=signature)).error, 9, "a wrong proof")
    same((await one.request("leave", b"x", signature=proof(one, me))).error, 12, "data")
    same((await one.request("read", **file)).data, b"mine", "nothing is gone")
    same((await one.request("leave", signature=proof(one, me))).error, 0, "leave")
    same([await device.closed() for device in (one, second)], [1008, 1008], "the sessions")
    for key in (me.key, forum.key):
        same((await other.request("searchByKey", pubEncrKey=key)).count, 0, "the key")
        same((await other.message(key, other.sealed(b"m", key, 2), 2)).error, 2, "a message")
    same((await other.request("searchByName", name=me.name)).count, 0, "the name")
    same((await other.request("read", **file)).error, 2, "the file")
    same((await other.request("vouchers", subjectPubEncrKey=friend.key)).count, 0, "the vouch")
    late = await device(c)
    await late.send("login", **late.login_fields(me))
    await refused(late, 2, "login")
    late = await device(c)
    await late.send("new", **late.new_fields(me))
    await refused(late, 10, "new")


@case("2: join is 2 where no forum is, and 1 without a gate or a proved address; what is no gate is 7, for a chain without an endpoint, too")
async def joining(c: Context):
    one, other = await online(c), await online(c)
    forum = Identity(c.word())
    same((await one.new(forum)).error, 0, "new forum")
    for key in (os.urandom(32), one.user.key, bytes(32)):
        same((await other.request("join", forum=key)).error, 2, "no forum")
    same((await other.request("join", forum=forum.key)).error, 1, "no gate")
    same((await other.request("join", b"x", forum=forum.key)).error, 12, "data")
    gate = {"pubEncrKey": forum.key, "filename": "gate"}
    for content in (b"x", b"eip155:424242/erc20:0x6b175474e89094c44da98b954eedeac495271d0f 1", bytes(300)):
        same((await one.request("write", content, **gate)).error, 7, "no gate")
    same((await one.request("read", **gate)).error, 2, "nothing is kept")
    same((await one.request("write", b"", **gate)).error, 0, "no gate any more")
    same((await other.request("write", b"", **gate)).error, 1, "another's forum")
    same((await other.request("join", forum=forum.key)).error, 1, "an empty gate")


@case("links: a part is put once, read once, and bounded; other paths aren't there")
async def links(c: Context):
    slot, parts = os.urandom(16).hex(), (1, 2)

    async def ask(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        request = f"{method} {c.service.path}/link/{path} HTTP/1.1\r\nHost: h\r\n{length}\r\n".encode()
        status, _, content = await http(c.service.host, c.service.port, request + (body or b""))
        return status, content
    same((await ask("GET", f"{slot}/1"))[0], 404, "before")
    for part in parts:
        body = bytes([part]) * (4096 if part == 1 else 1)
        same((await ask("PUT", f"{slot}/{part}", body))[0], 201, "put")
        same((await ask("PUT", f"{slot}/{part}", b"again"))[0], 409, "put again")
        same(await ask("GET", f"{slot}/{part}"), (200, body), "get")
        same((await ask("GET", f"{slot}/{part}"))[0], 404, "get again")
        same((await ask("PUT", f"{slot}/{part}", b"late"))[0], 409, "put when it was read")
    fresh = os.urandom(16).hex()
    same((await ask("PUT", f"{fresh}/1", bytes(4097)))[0], 413, "too long")
    same((await ask("PUT", f"{fresh}/1", b""))[0], 400, "empty")
    for path in (f"{fresh}/0", f"{fresh}/3", f"{fresh}/01", f"{fresh[1:]}/1", f"{fresh}0/1", f"{fresh.upper()}x/1",
                 f"{'G' * 32}/1", f"{fresh}", f"{fresh}/1/1"):
        same((await ask("PUT", path, b"x"))[0], 404, path)


@case("2: one session too many closes the oldest with 4008, or 1008 if that is of version 1", server="own")
async def too_many(c: Context):
    await c.own({"sessions": 2})
    user = Identity(c.word())
    first = await online(c, user)
    old = await c.device()
    await old.login(user)
    await old.barrier()
    await again(c, user)
    same(await first.closed(), 4008, "the oldest")
    await again(c, user)
    same(await old.closed(), 1008, "the oldest, of version 1")

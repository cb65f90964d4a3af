"""Forums: who may post, who gets it, escrow and blind mode, the reserved files."""

import os

import apptimist_protocol as wire
from apptimist_device import Device, Identity
from case import (Context, case, done, error, expect, ids_until, same, take, together, until)


async def reach(c: Context, poster: Device, forum: Identity, everyone: list[Device]) -> list[Device]:
    """Posts, then sends a marker to everyone: the sessions that got the post before it."""
    edata = c.service.seal(b"a post", poster.user, forum.key)
    await poster.message(forum.key, edata, boxed=False, time=int.from_bytes(os.urandom(4), "big"))
    await poster.barrier()
    witness = await c.online()
    got = []
    for device in everyone:
        marker = await witness.message(device.user.key, os.urandom(8), boxed=False)
        stream = await until(device, marker)
        expect(len(stream) <= 1, "more than one copy")
        for pdu in stream:
            same((pdu.toPubEncrKey, pdu.fromPubEncrKey, pdu.recipientPubEncrKey),
                 (forum.key, poster.user.key, device.user.key), "to, from and recipient of a copy")
            got.append(device)
    return got


@case("no moderators: author, editors and subscribers may post, the subscribers get it")
async def unmoderated(c: Context):
    author, editor, one, two, outsider = [await c.online() for _ in range(5)]
    everyone = [author, editor, one, two, outsider]
    forum = await c.forum(author, editors=[editor.user.key],
                          subscribers=[one.user.key, two.user.key])
    for poster, wanted in ((author, [one, two]), (editor, [one, two]), (one, [two]),
                           (outsider, [])):
        same(await reach(c, poster, forum, everyone), wanted, "who gets it")
    await done(author.write(forum.key, "subscribers", b"".join(
        device.user.key for device in (author, two))))
    same(await reach(c, editor, forum, everyone), [author, two], "the author if listed")
    same(await reach(c, one, forum, everyone), [], "a subscriber no longer")


@case("with moderators every user may post, the moderators get it; a moderator's goes to subscribers")
async def moderated(c: Context):
    author, moderator, second, one, outsider = [await c.online() for _ in range(5)]
    everyone = [author, moderator, second, one, outsider]
    forum = await c.forum(author, moderators=[moderator.user.key, second.user.key],
                          subscribers=[one.user.key, second.user.key])
    for poster, wanted in ((outsider, [moderator, second]), (author, [moderator, second]),
                           (one, [moderator, second]), (moderator, [second, one]),
                           (second, [one])):
        same(await reach(c, poster, forum, everyone), wanted, "who gets it")
    await done(author.file("remove", forum.key, "moderators"))
    same(await reach(c, one, forum, everyone), [second], "without moderators again")
    same(await reach(c, outsider, forum, everyone), [], "an outsider again")
    await done(author.write(forum.key, "moderators", moderator.user.key))
    await done(author.write(forum.key, "moderators", b""))
    same(await reach(c, outsider, forum, everyone), [], "an empty file is no moderators")


@case("each key once; keys that aren't users are skipped, forums too; editors count only if listed")
async def listed(c: Context):
    author, one, two = [await c.online() for _ in range(3)]
    inner = await c.forum(author, subscribers=[two.user.key])
    forum = await c.forum(author, subscribers=[one.user.key, os.urandom(32), one.user.key, inner.key,
                                               bytes(32), one.user.key])
    await done(author.write(forum.key, "subscribers", b"".join(
        [one.user.key, os.urandom(32), one.user.key, inner.key, forum.key])))
    same(await reach(c, author, forum, [author, one, two]), [one], "who gets it")


@case("the posting session is left out, not its user: the others, and the queue, have it")
async def poster(c: Context):
    one = await c.online()
    other = await c.again(one.user)
    await other.barrier()
    forum = await c.forum(one, subscribers=[one.user.key])
    posted = await one.message(forum.key, b"blind", boxed=False, time=77)
    pdu = await other.stream()
    same((pdu.time, pdu.toPubEncrKey, pdu.edata), (77, forum.key, b"blind"), "the copy")
    expect(pdu.message_id != posted, "the copy's header names the reader")
    marker = await other.message(one.user.key, b"marker")
    same(await ids_until(one, marker), [], "the posting session")
    late = await c.again(one.user)
    same(await ids_until(late, marker), [pdu.message_id], "a later session")


@case("blind: eData unchanged; time as sent, recipient the reader, to the forum, from the poster")
async def blind(c: Context):
    author, reader, sleeper = await c.online(), await c.online(), await c.user()
    forum = await c.forum(author, subscribers=[reader.user.key, sleeper.key])
    for edata in (b"", b"not boxed at all", c.service.seal(b"boxed", author.user, forum.key)):
        await author.message(forum.key, edata, boxed=False, time=2**63 + len(edata))
        pdu = await reader.stream()
        wanted = wire.encode("message", time=2**63 + len(edata), toPubEncrKey=forum.key,
                             recipientPubEncrKey=reader.user.key, fromPubEncrKey=author.user.key)
        same((pdu.header, pdu.edata), (wanted, edata), "the copy")
    late = await c.again(sleeper)
    same([len((await late.stream()).edata) for _ in range(3)], [0, 16, 21], "the backlog of another")


@case("a copy is queued like any message: the same post again doesn't come again")
async def post_again(c: Context):
    author, reader = await c.online(), await c.online()
    forum = await c.forum(author, subscribers=[reader.user.key])
    for _ in range(3):
        await author.message(forum.key, b"same", boxed=False, time=9)
    same(len(await take(reader, 1)), 1, "the copy")
    marker = await author.message(reader.user.key, b"marker")
    same(await ids_until(reader, marker), [], "behind it")


@case("escrow: the service opens the post and seals it for each reader; what doesn't open is ignored")
async def escrow(c: Context):
    author, one, two = [await c.online() for _ in range(3)]
    forum = await c.forum(author, escrow=True, subscribers=[one.user.key, two.user.key])
    for data in (b"", b"hello", os.urandom((1 << 20) - 5)):
        await author.message(forum.key, data, time=len(data))
        for reader in (one, two):
            pdu = await reader.stream()
            same(pdu.edata, wire.box(data, c.service.data_nonce, wire.shared_key(
                reader.user.key, forum.secret)), "eData")
            same(reader.opened(pdu, forum.key), data, "data")
            same(pdu.header, wire.encode(
                "message", time=len(data), recipientPubEncrKey=reader.user.key,
                toPubEncrKey=forum.key, fromPubEncrKey=author.user.key), "header")
    edata = c.service.seal(b"x", author.user, forum.key)
    for bad in (b"", b"x", os.urandom(40), edata[:-1], edata + b"x",
                c.service.seal(b"x", one.user, forum.key),
                c.service.seal(b"x", author.user, one.user.key)):
        await author.message(forum.key, bad, boxed=False)
    marker = await author.message(one.user.key, b"marker")
    same(await ids_until(one, marker), [], "what doesn't open")
    await done(author.write(forum.key, "secret", b""))
    await author.message(forum.key, b"blind again", boxed=False)
    same((await one.stream()).edata, b"blind again", "after the escrow has ended")


@case("moderated in escrow: each moderator gets a box of its own")
async def escrow_moderated(c: Context):
    author, moderator, reader, outsider = [await c.online() for _ in range(4)]
    forum = await c.forum(author, escrow=True, moderators=[moderator.user.key],
                          subscribers=[reader.user.key])
    await outsider.message(forum.key, b"please")
    pdu = await moderator.stream()
    same(moderator.opened(pdu, forum.key), b"please", "what the moderator reads")
    await moderator.message(forum.key, b"approved")
    same(reader.opened(await reader.stream(), forum.key), b"approved", "what the subscriber reads")


@case("secret: by author and editors, sealed and matching (else 7), read, locked, removed by nobody (1)")
async def secret(c: Context):
    author, editor, reader = [await c.online() for _ in range(3)]
    forum = await c.forum(author, editors=[editor.user.key], subscribers=[reader.user.key])
    good = c.sealed(forum.secret)
    for what, content in (("another's secret", c.sealed(os.urandom(32))), ("in clear", forum.secret),
                          ("79 bytes", good[:-1]), ("81 bytes", good + b"x"),
                          ("noise", os.urandom(80)), ("31 bytes sealed", c.sealed(bytes(31))),
                          ("33 bytes sealed", c.sealed(forum.secret + b"x")),
                          ("sealed to the author", wire.seal(forum.secret, author.user.key,
                                                             os.urandom(32))),
                          ("one bit", good[:-1] + bytes([good[-1] ^ 1]))):
        answer = await author.write(forum.key, "secret", content)
        same(answer.error, 7, f"error for {what}")
    await error(reader.write(forum.key, "secret", good), 1)
    await done(editor.write(forum.key, "secret", good))
    for device in (author, editor, reader):
        for name in ("read", "lock", "remove"):
            await error(device.file(name, forum.key, "secret"), 1)
    await error(author.write(forum.key, "secret", c.sealed(os.urandom(32))), 7)
    await editor.message(forum.key, b"still in escrow")
    same(reader.opened(await reader.stream(), forum.key), b"still in escrow", "the copy")
    await error(author.write(author.user.key, "secret", c.sealed(author.user.secret)), 1)
    await error(author.write(author.user.key, "secret", b""), 1)
    await error(author.file("read", author.user.key, "secret"), 1)
    await error(reader.file("read", author.user.key, "secret"), 1)


@case("author: reading it gives the owner's key; nobody writes, locks or removes it")
async def author_file(c: Context):
    author, reader, outsider = [await c.online() for _ in range(3)]
    forum = await c.forum(author, subscribers=[reader.user.key])
    for device in (author, reader):
        same(device.opened(await done(device.file("read", forum.key, "author"))), author.user.key,
             "author")
    await error(outsider.file("read", forum.key, "author"), 1)
    for device in (author, reader):
        await error(device.write(forum.key, "author", device.user.key), 1)
        await error(device.file("lock", forum.key, "author"), 1)
        await error(device.file("remove", forum.key, "author"), 1)
    for device in (author, outsider):
        same(device.opened(await done(device.file("read", author.user.key, "author"))),
             author.user.key, "author of a user's directory")
    await error(author.write(author.user.key, "author", author.user.key), 1)
    await error(author.file("remove", author.user.key, "author"), 1)


@case("editors, moderators, subscribers: a multiple of 32 bytes (7), at most 4,096 keys (5)")
async def reserved_content(c: Context):
    author = await c.online()
    forum = await c.forum(author)
    for directory in (forum.key, author.user.key):
        for name in ("editors", "moderators", "subscribers"):
            for size in (1, 31, 33, 32 * 4096 - 1):
                await error(author.write(directory, name, os.urandom(size)), 7)
            await error(author.write(directory, name, bytes(32 * 4097)), 5)
            await error(author.write(directory, name, bytes(32 * 4096 + 1)), 5)
            content = os.urandom(32 * 4096)
            await done(author.write(directory, name, content))
            same(author.opened(await done(author.file("read", directory, name))), content, name)
            await done(author.write(directory, name, b""))
            await done(author.file("lock", directory, name))
            await done(author.file("remove", directory, name))


@case("editors write, lock and remove in a forum's directory; moderators and subscribers only read")
async def forum_files(c: Context):
    author, editor, moderator, reader, outsider = [await c.online() for _ in range(5)]
    forum = await c.forum(author, editors=[editor.user.key], moderators=[moderator.user.key],
                          subscribers=[reader.user.key])
    for number, device in enumerate((author, editor)):
        await done(device.write(forum.key, f"file{number}", b"content"))
        await done(device.write(forum.key, ".hidden", b"content"))
        await done(device.file("lock", forum.key, "gone"))
        await done(device.write(forum.key, "gone", b""))
        await done(device.file("remove", forum.key, "gone"))
    for device in (author, editor, moderator, reader):
        for name in ("file0", ".hidden", "subscribers", "editors", "moderators"):
            await done(device.file("read", forum.key, name))
        await error(device.file("read", forum.key, "none"), 2)
    for device in (moderator, reader, outsider):
        await error(device.write(forum.key, "file0", b"x"), 1)
        await error(device.file("lock", forum.key, "file0"), 1)
        await error(device.file("remove", forum.key, "none"), 1)
    for name in ("file0", "none"):
        await error(outsider.file("read", forum.key, name), 1)
    await done(editor.write(forum.key, "editors", b""))
    await error(editor.write(forum.key, "file1", b"x"), 1)
    await error(editor.file("read", forum.key, "file1"), 1)


@case("an editor may add moderators, and delete the forum; who is no editor any more may not")
async def editor_rights(c: Context):
    author, editor, outsider = [await c.online() for _ in range(3)]
    forum = await c.forum(author, editors=[editor.user.key])
    await done(editor.write(forum.key, "moderators", editor.user.key))
    same(await reach(c, outsider, forum, [author, editor]), [editor], "who gets it")
    await done(author.write(forum.key, "editors", b""))
    await editor.send("del", pubEncrKey=forum.key)
    same(len(await editor.users("searchByKey", pubEncrKey=forum.key)), 1, "the forum")


@case("a forum with 1,000 subscribers: each gets one copy", slow=True)
async def large_forum(c: Context):
    author = await c.online()
    users = []
    for start in range(0, 1000, 50):
        users += await together(*(c.user() for _ in range(50)))
    online = await together(*(c.again(user) for user in users[:100]))
    await together(*(device.barrier() for device in online))
    forum = await c.forum(author, escrow=True, subscribers=[user.key for user in users])
    await author.message(forum.key, b"to all")
    await author.barrier()
    for device in online:
        same(device.opened(await device.stream(), forum.key), b"to all", "the copy")
    for user in users[100::100]:
        device = await c.again(user)
        same(device.opened(await device.stream(), forum.key), b"to all", "the copy of a sleeper")

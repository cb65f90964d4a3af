"""Accounts, logins, and the birth and end of forums."""

import os

import apptimist_protocol as wire
from apptimist_device import Identity
from case import Context, Failed, case, done, error, same, silent_close, together, until


@case("new, and login at once without waiting: nothing is sent back but the stream")
async def new_and_login(c: Context):
    device, user = await c.device(), Identity("Ünï")
    await device.new(user, "uid", "token")
    await device.login(user)
    found = await device.users("searchByKey", pubEncrKey=user.key)
    same([(one.name, one.uid, one.count) for one in found], [("Ünï".encode(), b"uid", 0)], "itself")
    same(device.waiting, [], "stream")


@case("the same new again, same keys and uid, is accepted; the first name stays")
async def new_again(c: Context):
    user = await c.user("first", "uid of one")
    for _ in range(2):
        device = await c.device()
        await device.new(user, "uid of one", name="second")
        await device.login(user)
        found = await device.users("searchByKey", pubEncrKey=user.key)
        same(found[0].name, b"first", "name")


@case("a key that is taken by another: silence, then 1008")
async def new_taken(c: Context):
    user, owner = await c.user("mine", "uid"), await c.online()
    forum = await c.forum(owner)
    await owner.barrier()

    async def refused(identity: Identity, uid: str, authentication_key: bytes, what: str):
        device = await c.device()
        await device.send("new", pubEncrKey=identity.key, pubAuthKey=authentication_key, name="x",
                          uid=uid)
        try:
            await silent_close(device)
        except Failed as problem:
            raise Failed(f"{what}: {problem}")
    await together(
        refused(user, "uid", Identity().authentication_key, "another authentication key"),
        refused(user, "another", user.authentication_key, "another uid"),
        refused(forum, "", forum.authentication_key, "a forum's key"))
    found = await owner.users("searchByKey", pubEncrKey=user.key)
    same((found[0].name, found[0].uid), (b"mine", b"uid"), "the account")


@case("a key of low order, a bad name, a uid that is no UTF-8: silence, then 1008; limits pass")
async def new_bad(c: Context):
    async def attempt(what: str, good: bool, **fields):
        device, user = await c.device(), Identity()
        fields = {"pubEncrKey": user.key, "pubAuthKey": user.authentication_key, "name": "n",
                  **fields}
        await device.send("new", **fields)
        device.user = user
        try:
            if good:
                await device.login(user)
                await device.barrier()
            else:
                await silent_close(device)
        except Exception as problem:
            raise Failed(f"{what}: {problem}")
    attempts = [
        ("low order 0", False, dict(pubEncrKey=bytes(32))),
        ("low order 1", False, dict(pubEncrKey=b"\x01" + bytes(31))),
        ("low order p-1", False, dict(pubEncrKey=b"\xec" + b"\xff" * 30 + b"\x7f")),
        ("low order with the top bit", False, dict(pubEncrKey=bytes(31) + b"\x80")),
        ("no name", False, dict(name=b"")),
        ("a name that is no UTF-8", False, dict(name=b"\xff\xfe")),
        ("an overlong encoding", False, dict(name=b"\xc0\xaf")),
        ("a surrogate", False, dict(name=b"\xed\xa0\x80")),
        ("a cut character", False, dict(name="ü".encode()[:1])),
        ("NUL", False, dict(name=b"a\x00b")), ("a line feed", False, dict(name="a\nb")),
        ("DEL", False, dict(name="a\x7f")), ("C1", False, dict(name="a\u0085b")),
        ("a uid that is no UTF-8", False, dict(uid=b"\xff")),
        ("255 bytes of everything", True, dict(name="n" * 255, uid="u" * 255, token=b"\xff" * 255)),
        ("one byte", True, dict(name="n")), ("beyond the basic plane", True, dict(name="🦉🎉")),
    ]
    await together(*(attempt(what, good, **fields) for what, good, fields in attempts))


@case("one account a connection; one uid may have several keys")
async def one_account(c: Context):
    device, first, second = await c.device(), Identity("first"), Identity("second")
    uid = c.word()
    await device.new(first, uid)
    await device.new(second, uid)
    try:
        await device.login(first)
        await device.barrier()
    except Exception:
        pass  # whether the connection goes on isn't said
    other = await c.online()
    same(await other.users("searchByKey", pubEncrKey=second.key), [], "the second account")
    for name in ("third", "fourth"):
        await c.user(name, uid)
    found = await other.users("searchByUid", uid=uid)
    same([one.name for one in found], [b"first", b"third", b"fourth"], "accounts of one uid")


@case("login: the user must exist and the signature hold; else silence, then 1008")
async def login_refused(c: Context):
    user, owner = await c.user(), await c.online()
    forum = await c.forum(owner)
    await owner.barrier()

    async def refused(key: bytes, signature: bytes, what: str):
        device = await c.device()
        await device.send("login", userPubEncrKey=key, signature=signature)
        try:
            await silent_close(device)
        except Failed as problem:
            raise Failed(f"{what}: {problem}")
    stranger = Identity()
    await together(
        refused(stranger.key, stranger.signature, "an unknown user"),
        refused(user.key, stranger.signature, "another's signature"),
        refused(user.key, wire.sign(user.key, stranger.seed), "signed by another"),
        refused(user.key, bytes(64), "64 zero bytes"),
        refused(user.key, wire.sign(user.key + b"x", user.seed), "a signature over something else"),
        refused(forum.key, forum.signature, "a forum"),
        refused(c.service.key, c.service.signature, "the service itself"))


@case("a second login on the same connection is ignored")
async def second_login(c: Context):
    one, other = await c.online(), await c.user()
    first = await one.message(one.user.key, b"in the queue")
    await one.barrier()
    device = await c.again(one.user)
    same((await device.stream()).message_id, first, "the backlog")
    await device.send("login", userPubEncrKey=other.key, signature=other.signature)
    await device.send("login", userPubEncrKey=one.user.key, signature=one.user.signature)
    await device.send("login", userPubEncrKey=one.user.key, signature=bytes(64))
    await device.barrier()
    same(device.waiting, [], "stream")
    marker = await device.message(one.user.key, b"still the first user")
    same((await one.stream()).message_id, marker, "what the first user's session gets")


@case("new after login makes a forum: uid and token are ignored, author is its owner")
async def new_forum(c: Context):
    owner, forum = await c.online(), Identity("Fórum")
    await owner.new(forum, "a uid", "a token")
    found = await owner.users("searchByKey", pubEncrKey=forum.key)
    same([(one.name, one.uid) for one in found], [("Fórum".encode(), b"")], "the forum")
    answer = await done(owner.file("read", forum.key, "author"))
    same(owner.opened(answer), owner.user.key, "author")


@case("a forum whose key is taken or of low order, or with a bad name: ignored")
async def bad_forum(c: Context):
    owner, user = await c.online(), await c.user("a user", "uid")
    forum = await c.forum(owner)
    await owner.new(user, name="stolen")
    await owner.new(Identity("stolen"), name="")
    other = await c.online()
    await other.new(forum, name="stolen")
    await owner.new(forum, name="renamed")
    await owner.send("new", pubEncrKey=bytes(32), pubAuthKey=user.authentication_key, name="zero")
    await owner.send("new", pubEncrKey=owner.user.key, pubAuthKey=user.authentication_key, name="me")
    for name in (b"", b"\xff", b"a\nb"):
        nameless = Identity()
        await owner.new(nameless, name=name)
        same(await owner.users("searchByKey", pubEncrKey=nameless.key), [], f"forum named {name}")
    for key, name in ((user.key, b"a user"), (forum.key, forum.name.encode()),
                      (owner.user.key, owner.user.name.encode())):
        found = await owner.users("searchByKey", pubEncrKey=key)
        same([one.name for one in found], [name], "who has the key")
    same(await owner.users("searchByKey", pubEncrKey=bytes(32)), [], "the key of zeros")
    await error(other.file("read", forum.key, "author"), 1)
    again = await c.again(user)
    await again.barrier()


@case("a forum's key may be any other 32 bytes; its authentication key is looked at by nobody")
async def odd_forum(c: Context):
    owner, odd = await c.online(), Identity("odd")
    odd.key = odd.key[:31] + b"\xff"
    odd.authentication_key = bytes(32)
    await owner.new(odd)
    same(owner.opened(await done(owner.file("read", odd.key, "author"))), owner.user.key, "author")


@case("at most so many forums a user", server="small")
async def forum_limit(c: Context):
    owner = await c.online()
    forums = [await c.forum(owner) for _ in range(4)]
    found = [len(await owner.users("searchByKey", pubEncrKey=forum.key)) for forum in forums]
    same(found, [1, 1, 1, 0], "forums that exist")


@case("del by the author or an editor removes the forum and its files; anyone else's is ignored")
async def delete_forum(c: Context):
    owner, editor, reader = await c.online(), await c.online(), await c.online()
    for deleter in (owner, editor):
        forum = await c.forum(owner, editors=[editor.user.key], subscribers=[reader.user.key],
                              moderators=[])
        await done(owner.write(forum.key, "file", b"content"))
        await reader.send("del", pubEncrKey=forum.key)
        await reader.send("del", pubEncrKey=reader.user.key)
        await reader.send("del", pubEncrKey=os.urandom(32))
        await done(reader.file("read", forum.key, "file"))
        same(len(await reader.users("searchByKey", pubEncrKey=reader.user.key)), 1, "the user")
        await done(owner.file("lock", forum.key, "file"))
        await deleter.send("del", pubEncrKey=forum.key)
        await deleter.barrier()
        await error(reader.file("read", forum.key, "file"), 2)
        await error(owner.file("read", forum.key, "author"), 2)
        await error(owner.write(forum.key, "file", b"x"), 2)
        same(await owner.users("searchByKey", pubEncrKey=forum.key), [], "the forum")
        await owner.message(forum.key, b"to nobody")
        marker = await owner.message(reader.user.key, b"marker")
        same(await until(reader, marker), [], "what the subscriber gets")
        await owner.new(forum, name="again")
        same(await owner.users("searchByKey", pubEncrKey=forum.key), [], "the key, taken for ever")
        device = await c.device()
        await device.new(forum, name="a user")
        await silent_close(device)


@case("a user's own key is not a forum: del is ignored")
async def delete_self(c: Context):
    device = await c.online()
    await device.send("del", pubEncrKey=device.user.key)
    same(len(await device.users("searchByKey", pubEncrKey=device.user.key)), 1, "the user")
    await (await c.again(device.user)).barrier()

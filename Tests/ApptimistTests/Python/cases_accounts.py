"""Accounts, searches, vouchers."""

import asyncio
import os
import unicodedata

import apptimist_protocol as wire
from apptimist_device import Device, Identity
from case import (Context, Failed, case, done, error, expect, same, silent_close, together, until)


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


# Searches.


async def names(device: Device, name: str | bytes, most: int = 0) -> list[str]:
    return [one.name.decode() for one in await device.users("searchByName", name=name,
                                                            maxUsers=most)]


@case("searchByName: whole names first, then names that start so, the oldest first in each")
async def search_order(c: Context):
    device, word = await c.online(), c.word()
    for name in (word + "xyz", word + "A", word, word + "b", word.upper(), "a" + word):
        await device.new(Identity(name))
    wanted = [word, word.upper(), word + "xyz", word + "A", word + "b"]
    same(await names(device, word), wanted, "matches")
    same(await names(device, word.upper()), wanted, "matches in capitals")
    for most in (1, 2, 3, 5, 6, 65_535):
        same(await names(device, word, most), wanted[:most], f"at most {most}")
    same(await names(device, word + "q"), [], "no match")


@case("searchByName matches after NFC and Unicode case folding")
async def search_folding(c: Context):
    device, word = await c.online(), c.word()
    table = [("straße", "STRASSE"), ("STRASSE 2", "straße 2"), ("Caf\u00e9", "cafe\u0301"),
             ("re\u0301sume\u0301", "R\u00c9SUM\u00c9"), ("ΣΊΣΥΦΟΣ", "σίσυφος"),
             ("ПРИВЕТ", "привет"), ("\u1e9e", "SS"), ("\ufb03", "FFI"), ("\u212b", "\u00e5"),
             ("\u00e5\u0323", "a\u0323\u030a"), ("한국", unicodedata.normalize("NFD", "한국"))]
    for name, query in table:
        await device.new(Identity(f"{word} {name}"))
    for name, query in table:
        found = await names(device, f"{word} {query}")
        expect(f"{word} {name}" in found, f"{query!r} doesn't find {name!r}: {found}")
    same(await names(device, f"{word} cafe"), [], "an e without its accent as a prefix")
    for query, name in (("İ", "i"), ("\u2460", "1"), ("\uff21", "a")):
        await device.new(Identity(f"{word}~{name}"))
        found = await names(device, f"{word}~{query}")
        expect(f"{word}~{name}" not in found, f"{query!r} finds {name!r}: more than NFC and folding")


@case("with * or ? it is a glob over the whole name; ? is one scalar, nothing else is special")
async def search_glob(c: Context):
    device, word = await c.online(), c.word()
    everyone = ["ab", "aXb", "a🦉b", "ae\u0301b", "axxb", "b", "a[x]b", "a%b", "a_b", "a\\b", "aab c",
                "a*b"]
    for name in everyone:
        await device.new(Identity(word + name))
    table = {"a?b": ["aXb", "a🦉b", "ae\u0301b", "a%b", "a_b", "a\\b", "a*b"],
             "a*b": ["ab", "aXb", "a🦉b", "ae\u0301b", "axxb", "a[x]b", "a%b", "a_b", "a\\b", "a*b"],
             "A??B": ["axxb"], "a[x]*": ["a[x]b"], "a[xX]b*": [], "a%?": ["a%b"], "a_*": ["a_b"],
             "a\\*": ["a\\b"], "*c": ["aab c"], "?": ["b"], "a**b": None, "*": everyone,
             "a[!y]*": []}
    table["a**b"] = table["a*b"]
    for pattern, wanted in table.items():
        same(await names(device, word + pattern), [word + name for name in wanted],
             f"matches of {pattern!r}")
    same(await names(device, f"*{word[1:]}ab"), [word + "ab"], "a glob that starts with *")


@case("globs with many * end soon")
async def search_glob_cost(c: Context):
    device = await c.online()
    for number in range(20):
        await device.new(Identity("a" * 250 + f"{number}"))
    for pattern in ("*a" * 100 + "b", "a*" * 127, "?*" * 100 + "zzz"):
        await asyncio.wait_for(names(device, pattern), 20)


@case("an empty name or uid matches nothing; no match is one user PDU with everything zero")
async def search_nothing(c: Context):
    device = await c.online(uid="")
    for request, fields in (("searchByName", dict(name="")), ("searchByUid", dict(uid="")),
                            ("searchByName", dict(name="", maxUsers=5)),
                            ("searchByName", dict(name=b"\xff\xfe")),
                            ("searchByUid", dict(uid=b"\xff")),
                            ("searchByUid", dict(uid=c.word()))):
        await device.send(request, **fields)
        pdu = await device.answer()
        same((pdu.type, pdu.count, pdu.pubEncrKey, pdu.name, pdu.uid),
             ("user", 0, bytes(32), b"", b""), f"answer to {request} {fields}")


@case("searchByUid matches exactly, the oldest account first; maxUsers counts; count goes down to 0")
async def search_uid(c: Context):
    device, uid = await c.online(), c.word() + "É"
    for number in range(5):
        await c.user(f"n{number}", uid)
    await c.user("other", uid + "x")
    for most, wanted in ((0, 5), (2, 2), (5, 5), (9, 5)):
        found = await device.users("searchByUid", uid=uid, maxUsers=most)
        same([one.name for one in found], [b"n%d" % i for i in range(wanted)], f"at most {most}")
        same([one.count for one in found], list(reversed(range(wanted))), "counts")
    same(await device.users("searchByUid", uid=uid.lower()), [], "another case")
    same(await device.users("searchByUid", uid=unicodedata.normalize("NFD", uid)), [], "NFD")
    same(await device.users("searchByUid", uid=uid[:-1]), [], "a prefix")


@case("maxUsers 0 means the configured limit", server="small")
async def search_limit(c: Context):
    device, uid = await c.online(), c.word()
    for number in range(9):
        await c.user(f"{uid}{number}", uid)
    for most, wanted in ((0, 7), (3, 3), (100, 7)):
        same(len(await device.users("searchByUid", uid=uid, maxUsers=most)), wanted, f"by uid {most}")
        same(len(await device.users("searchByName", name=uid, maxUsers=most)), wanted, "by name")


# Vouchers.


async def vouchers(device: Device, key: bytes) -> list[bytes]:
    answer = await device.request("vouchers", subjectPubEncrKey=key)
    same(answer.subjectPubEncrKey, key, "the subject")
    return answer.voucherPubEncrKeys


@case("vouch: the signature must hold and the subject exist; vouchers answers oldest first")
async def vouch(c: Context):
    subject = await c.user()
    people = [await c.online() for _ in range(4)]
    for device in people:
        await device.send("vouch", subjectPubEncrKey=subject.key,
                          signature=wire.sign(subject.key, device.user.seed))
        await device.barrier()
    wanted = [device.user.key for device in people]
    same(await vouchers(people[0], subject.key), wanted, "vouchers")
    await people[0].send("vouch", subjectPubEncrKey=subject.key,
                         signature=wire.sign(subject.key, people[0].user.seed))
    same(await vouchers(people[0], subject.key), wanted, "vouchers after a retry")
    await people[1].send("vouch", subjectPubEncrKey=subject.key, signature=bytes(64))
    await people[1].send("vouch", subjectPubEncrKey=subject.key, signature=bytes(64))
    same(await vouchers(people[1], subject.key), [wanted[0], *wanted[2:]], "after one was revoked")


@case("vouches that don't hold, for oneself or for nobody are ignored")
async def vouch_ignored(c: Context):
    device, subject, stranger = await c.online(), await c.user(), Identity()
    me = device.user
    await device.send("vouch", subjectPubEncrKey=subject.key,
                      signature=wire.sign(subject.key, stranger.seed))
    await device.send("vouch", subjectPubEncrKey=subject.key, signature=me.signature)
    await device.send("vouch", subjectPubEncrKey=me.key, signature=me.signature)
    await device.send("vouch", subjectPubEncrKey=stranger.key,
                      signature=wire.sign(stranger.key, me.seed))
    for key in (subject.key, me.key, stranger.key, bytes(32)):
        same(await vouchers(device, key), [], "vouchers")
    # Later the stranger exists: the vouch from before doesn't count.
    other = await c.device()
    await other.new(stranger, name="no stranger any more")
    await other.login(stranger)
    same(await vouchers(other, stranger.key), [], "vouchers of the newcomer")


@case("a vouchers answer has at most the configured number of keys, the oldest", server="small")
async def voucher_limit(c: Context):
    subject, people = await c.user(), [await c.online() for _ in range(5)]
    for device in people:
        await device.send("vouch", subjectPubEncrKey=subject.key,
                          signature=wire.sign(subject.key, device.user.seed))
        await device.barrier()
    same(await vouchers(people[0], subject.key), [device.user.key for device in people[:3]], "keys")


@case("hundreds of vouchers come in one PDU, larger than any header that a device may send", slow=True)
async def many_vouchers(c: Context):
    subject, wanted = await c.user(), []
    for _ in range(40):
        device = await c.online()
        await device.send("vouch", subjectPubEncrKey=subject.key,
                          signature=wire.sign(subject.key, device.user.seed))
        await device.barrier()
        wanted.append(device.user.key)
    for start in range(0, 160, 8):
        devices = await together(*(c.online() for _ in range(8)))
        for device in devices:
            await device.send("vouch", subjectPubEncrKey=subject.key,
                              signature=wire.sign(subject.key, device.user.seed))
            await device.barrier()
            wanted.append(device.user.key)
    same(await vouchers(device, subject.key), wanted, "vouchers")


# Identity providers.


@case("invite: a token opens one account; a retry with it is accepted", server="own")
async def invitations(c: Context):
    server = await c.own({"identity": "invite", "refusal_min": "1s", "refusal_max": "1100ms"})

    def invite(*options: str) -> str:
        result = server.command("invite", "new", *options)
        same(result.returncode, 0, f"exit of awd invite new: {result.stderr}")
        return result.stdout.split()[-1] if len(result.stdout.split()) == 1 else next(
            word for word in result.stdout.split() if len(word) >= 20)

    async def attempt(user: Identity, uid: str, token: str) -> bool:
        device = await c.device()
        await device.new(user, uid, token)
        await device.login(user)
        try:
            await device.barrier()
            return True
        except Exception:
            return False
    token = invite()
    first, second = Identity("first"), Identity("second")
    same(await attempt(Identity("x"), "u", "no such token"), False, "a wrong token")
    same(await attempt(Identity("x"), "u", ""), False, "no token")
    same(await attempt(first, "u", token), True, "a good token")
    same(await attempt(second, "u", token), False, "the token again, for another")
    same(await attempt(first, "u", token), True, "a retry of the first")
    bound = invite("--uid", "ada")
    same(await attempt(Identity("x"), "eve", bound), False, "another's invitation")
    same(await attempt(Identity("x"), "ada", bound), True, "the invitation of that uid")
    twice = invite("--uses", "2")
    same([await attempt(Identity("x"), "u", twice) for _ in range(3)], [True, True, False],
         "an invitation for two")


@case("facebook: debug_token decides; PDUs behind a new that waits keep their order", server="own")
async def facebook(c: Context):
    asked = []

    async def graph(reader, writer):
        """As much of Graph as `debug_token` needs; tokens are OUTCOME-UID."""
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(request.split()[1])
        token = request.split("input_token=")[1].split("&")[0].split(" ")[0]
        outcome, _, uid = token.partition("-")
        await asyncio.sleep(0.5 if outcome == "slow" else 30 if outcome == "hang" else 0)
        body = ('{"data":{"app_id":"%s","type":"USER","is_valid":%s,"user_id":"%s",'
                '"expires_at":%d,"scopes":[]}}' % (
                    "999" if outcome == "otherapp" else "123",
                    "false" if outcome == "invalid" else "true", uid,
                    1_000_000_000 if outcome == "expired" else 4_000_000_000))
        head = "500 Error" if outcome == "broken" else "200 OK"
        writer.write(f"HTTP/1.1 {head}\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        writer.close()
    stand_in = await asyncio.start_server(graph, "127.0.0.1", 0)
    c.stack.callback(stand_in.close)
    port = stand_in.sockets[0].getsockname()[1]
    await c.own({"identity": "facebook", "refusal_min": "1s", "refusal_max": "1100ms"}, sections=(
        '[apptimist.facebook]\napp_id = "123"\napp_secret = "s3cret"\n'
        f'graph_url = "http://127.0.0.1:{port}"\n'))

    async def attempt(uid: str, token: str) -> bool:
        device, user = await c.device(), Identity("f")
        await device.new(user, uid, token)
        await device.login(user)
        try:
            await device.barrier()
            return True
        except Exception:
            return False
    rows = [("7", "ok-7", True), ("7", "slow-7", True), ("8", "ok-7", False),
            ("7", "invalid-7", False), ("7", "expired-7", False), ("7", "otherapp-7", False),
            ("7", "broken-7", False), ("7", "hang-7", False)]
    results = await together(*(attempt(uid, token) for uid, token, _ in rows))
    for (uid, token, wanted), result in zip(rows, results):
        same(result, wanted, f"uid {uid} with {token}")
    same(len(asked), len(rows), "how often Graph was asked")

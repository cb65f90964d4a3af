"""Files: permissions, the order of errors, locks and leases, quotas."""

import asyncio
import os

from apptimist_device import Device
from case import Context, case, done, error, expect, same, together


async def content(device: Device, directory: bytes, filename, what: str = "read") -> bytes:
    return device.opened(await done(device.file(what, directory, filename)))


@case("write, read, overwrite, remove; answers carry the same type, key and filename")
async def round_trip(c: Context):
    one, other = await c.online(), await c.online()
    for data in (b"first", b"", os.urandom(100_000), b"last"):
        answer = await done(one.write(one.user.key, "f", data))
        same((answer.pubEncrKey, answer.filename, answer.edata), (one.user.key, b"f", b""),
             "answer to write")
        for device in (one, other):
            answer = await done(device.file("read", one.user.key, "f"))
            same((answer.pubEncrKey, answer.filename), (one.user.key, b"f"), "answer to read")
            same(len(answer.edata), len(data) + 16, "bytes of the box")
            same(device.opened(answer), data, "content")
    answer = await done(one.file("remove", one.user.key, "f"))
    same((answer.pubEncrKey, answer.filename, answer.edata), (one.user.key, b"f", b""),
         "answer to remove")
    await error(one.file("remove", one.user.key, "f"), 2)
    await error(one.file("read", one.user.key, "f"), 2)


@case("1 MiB is written and read")
async def largest(c: Context):
    one, data = await c.online(), os.urandom(1 << 20)
    await done(one.write(one.user.key, "large", data))
    same(await content(one, one.user.key, "large"), data, "content")


@case("every error has a description, boxed by the service for the user")
async def descriptions(c: Context):
    one, other = await c.online(), await c.online()
    answers = [await error(one.file("read", one.user.key, "none"), 2),
               await error(one.file("lock", other.user.key, "f"), 1),
               await error(one.file("remove", os.urandom(32), "f"), 2),
               await error(one.request("write", pubEncrKey=one.user.key, filename="f"), 6),
               await error(one.file("read", one.user.key, ".."), 4)]
    for answer in answers:
        text = one.opened(answer).decode()
        expect(text and text.isprintable(), f"description {text!r}")


@case("error in a request is ignored; the answer's is 0 when it is done")
async def error_ignored(c: Context):
    one = await c.online()
    for name in ("write", "read", "lock", "write", "remove"):
        edata = c.service.seal(b"x", one.user, c.service.key) if name == "write" else b""
        answer = await one.request(name, edata, pubEncrKey=one.user.key, filename="f", error=5)
        same(answer.error, 0, f"error of {name}")


BAD_NAMES = [b"", b".", b"..", b"/", b"a/b", b"/a", b"a/", b"../a", b"a\x00", b"\x00", b"\xff",
             b"\xc0\xaf", b"\xed\xa0\x80", "ü".encode()[:1], b"a" * 254 + b"\xc3"]


@case("filename: UTF-8, no / or NUL, not . or .. (else 4); the answer carries it all the same")
async def filenames(c: Context):
    one = await c.online()
    for name in BAD_NAMES:
        for request in ("read", "lock", "remove"):
            answer = await error(one.file(request, one.user.key, name), 4)
            same(answer.filename, name, "filename in the answer")
        await error(one.write(one.user.key, name, b"x"), 4)
    good = [b"a", b"a" * 255, "ü".encode() * 127, b"...", b"..a", b"a..", b" ", b"\n", b"-", b"\\",
            b"\x7f", "🦉".encode(), b"Author", b"AUTHOR", b"secret ", b"a:b", b"%2e%2e", b"*"]
    for name in good:
        await done(one.write(one.user.key, name, name))
    for name in good:
        same(await content(one, one.user.key, name), name, f"content of {name!r}")


@case("a user's directory: all read, names that start with . only author and editors; 1 before 2")
async def permissions(c: Context):
    one, editor, other = [await c.online() for _ in range(3)]
    key = one.user.key
    await done(one.write(key, "open", b"x"))
    await done(one.write(key, ".hidden", b"y"))
    await done(one.write(key, "editors", editor.user.key))
    same(await content(other, key, "open"), b"x", "an open file")
    same(await content(other, key, "editors"), editor.user.key, "editors")
    for name in (".hidden", ".none", ".a"):
        await error(other.file("read", key, name), 1)
    same(await content(editor, key, ".hidden"), b"y", "the editor's view")
    await error(editor.file("read", key, ".none"), 2)
    for name in ("open", "none", ".hidden"):
        await error(other.write(key, name, b"z"), 1)
        await error(other.file("lock", key, name), 1)
        await error(other.file("remove", key, name), 1)
    await done(editor.write(key, "open", b"edited"))
    await done(editor.file("lock", key, ".hidden"))
    await done(editor.file("remove", key, ".hidden"))
    same(await content(one, key, "open"), b"edited", "the file")
    await done(one.write(key, "moderators", other.user.key))
    await done(one.write(key, "subscribers", other.user.key))
    await error(other.write(key, "open", b"z"), 1)


@case("errors, the first that applies: 4, 2 (directory), 1, 3, 2 (file), 6, 5, 7", server="small")
async def error_order(c: Context):
    one, other = await c.online(), await c.online()
    again = await c.again(one.user)
    key, nowhere = one.user.key, os.urandom(32)
    junk = os.urandom(40)

    async def write(device, directory, name, edata):
        return await device.request("write", edata, pubEncrKey=directory, filename=name)

    def boxed(device, data):
        return c.service.seal(data, device.user, c.service.key)
    for request in ("read", "lock", "remove"):
        await error(one.file(request, nowhere, ".."), 4)
        await error(one.file(request, nowhere, "f"), 2)
        await error(other.file(request, key, b"a/b"), 4)
    await error(write(one, nowhere, "a/b", junk), 4)
    await error(write(other, nowhere, "author", junk), 2)
    await error(write(other, key, "f", junk), 1)
    await done(one.file("lock", key, "locked"))  # it doesn't exist
    await error(write(other, key, "locked", junk), 1)
    for request in ("lock", "remove"):
        await error(again.file(request, key, "locked"), 3)
    await error(write(again, key, "locked", junk), 3)
    await error(write(again, key, "locked", boxed(again, bytes(40_000))), 3)
    await error(again.file("read", key, "locked"), 2)
    await error(again.file("remove", key, "none"), 2)
    await error(write(one, key, "f", junk), 6)
    await error(write(one, key, "f", b""), 6)
    await error(write(one, key, "f", os.urandom(40_000)), 6)
    await error(write(one, key, "f", boxed(one, bytes(40_000))), 5)
    await error(write(one, key, "editors", junk), 6)
    await error(write(one, key, "editors", boxed(one, bytes(40_001))), 5)
    await error(write(one, key, "editors", boxed(one, bytes(33))), 7)
    await error(write(one, key, "secret", junk), 1)
    await error(write(one, key, "author", junk), 1)
    await error(one.file("read", nowhere, "secret"), 2)
    await error(one.file("read", key, "secret"), 1)


@case("data that doesn't open, or none at all, is 6 and changes nothing; 16 bytes are an empty file")
async def does_not_open(c: Context):
    one, other = await c.online(), await c.online()
    await done(one.write(one.user.key, "f", b"before"))
    good = c.service.seal(b"after", one.user, c.service.key)
    for edata in (b"", b"x", good[:-1], good + b"x", good[:20] + bytes([good[20] ^ 1]) + good[21:],
                  c.service.seal(b"x", other.user, c.service.key),
                  c.service.seal(b"x", one.user, other.user.key), os.urandom(16)):
        answer = await one.request("write", edata, pubEncrKey=one.user.key, filename="f")
        same(answer.error, 6, f"error for {len(edata)} bytes")
    same(await content(one, one.user.key, "f"), b"before", "the file")
    empty = c.service.seal(b"", one.user, c.service.key)
    same(len(empty), 16, "bytes of an empty box")
    same((await one.request("write", empty, pubEncrKey=one.user.key, filename="f")).error, 0, "empty")
    same(await content(one, one.user.key, "f"), b"", "the file")


@case("lock gives the content and keeps others from write, lock and remove; not from read")
async def lock(c: Context):
    one = await c.online()
    again, editor = await c.again(one.user), await c.online()
    key = one.user.key
    await done(one.write(key, "editors", editor.user.key))
    await done(one.write(key, "f", b"content"))
    same(await content(one, key, "f", "lock"), b"content", "what lock gives")
    same(await content(one, key, "new", "lock"), b"", "what lock gives of a file that isn't there")
    same(await content(one, key, "f", "lock"), b"content", "what a renewal gives")
    for device in (again, editor):
        for name in ("f", "new"):
            await error(device.write(key, name, b"x"), 3)
            await error(device.file("lock", key, name), 3)
            await error(device.file("remove", key, name), 3)
        same(await content(device, key, "f"), b"content", "read while it is locked")
        await done(device.write(key, "another", b"x"))
    # A failed change does not end it.
    same((await one.request("write", b"junk", pubEncrKey=key, filename="f")).error, 6, "bad write")
    await error(one.file("remove", key, "new"), 2)
    await error(again.write(key, "f", b"x"), 3)
    await error(again.write(key, "new", b"x"), 3)
    await done(one.write(key, "f", b"written"))
    await done(one.write(key, "new", b"written"))
    same(await content(again, key, "f", "lock"), b"written", "the next lock")
    await error(one.write(key, "f", b"x"), 3)
    await done(again.file("remove", key, "f"))
    await done(one.write(key, "f", b"after remove"))
    for end in (editor.close, abort(again)):
        await done((editor if end == editor.close else again).file("lock", key, "f"))
        await error(one.write(key, "f", b"x"), 3)
        await end()
        for _ in range(600):
            answer = await one.write(key, "f", b"after the other has gone")
            if answer.error == 0:
                break
            same(answer.error, 3, "error")
            await asyncio.sleep(0.05)
        same(answer.error, 0, "error after the other has gone")


def abort(device: Device):
    """Ends the connection by a reset, without a close frame."""
    async def reset():
        device.socket.transport.abort()
    return reset


@case("a lock's lease ends; locking again renews it", server="small")
async def lease(c: Context):
    one = await c.online()
    again = await c.again(one.user)
    key = one.user.key
    await done(one.file("lock", key, "f"))
    await error(again.write(key, "f", b"x"), 3)
    for _ in range(6):  # 3 s of a lease of 2 s
        await asyncio.sleep(0.5)
        await done(one.file("lock", key, "f"))
    await error(again.write(key, "f", b"x"), 3)
    await asyncio.sleep(2.2)
    await done(again.write(key, "f", b"later"))
    await done(one.write(key, "f", b"without a lock"))


@case("at most 64 locks a session (else 5); renewing isn't one more")
async def lock_limit(c: Context):
    one = await c.online()
    for number in range(64):
        await done(one.file("lock", one.user.key, f"f{number}"))
    await done(one.file("lock", one.user.key, "f0"))
    await error(one.file("lock", one.user.key, "one more"), 5)
    await done(one.write(one.user.key, "f7", b""))
    await done(one.file("lock", one.user.key, "one more"))
    other = await c.again(one.user)
    await done(other.file("lock", one.user.key, "another session's"))


@case("two sessions lock at once: one gets it")
async def lock_race(c: Context):
    one = await c.online()
    sessions = [one] + [await c.again(one.user) for _ in range(9)]
    for number in range(20):
        answers = await together(*(device.file("lock", one.user.key, f"f{number}")
                                   for device in sessions))
        same(sorted(answer.error for answer in answers), [0] + [3] * 9, "errors")
        winner = [answer.error for answer in answers].index(0)
        await done(sessions[winner].write(one.user.key, f"f{number}", b""))


@case("so many files and bytes a directory (else 5); overwriting and removing make room",
      server="small")
async def quotas(c: Context):
    one = await c.online()
    key = one.user.key
    for number in range(6):
        await done(one.write(key, f"f{number}", bytes(100)))
    await error(one.write(key, "one more", b""), 5)
    await error(one.file("read", key, "one more"), 2)
    await done(one.write(key, "f0", bytes(200)))
    await done(one.file("remove", key, "f1"))
    await done(one.write(key, "one more", bytes(31_000)))
    await error(one.write(key, "f0", bytes(2_000)), 5)
    same(await content(one, key, "f0"), bytes(200), "the file that didn't grow")
    await done(one.write(key, "one more", bytes(1_000)))
    await done(one.write(key, "f0", bytes(2_000)))


@case("del frees the locks; the forum's directory is gone for those who held them")
async def locks_of_deleted(c: Context):
    author, editor = await c.online(), await c.online()
    forum = await c.forum(author, editors=[editor.user.key])
    await done(editor.file("lock", forum.key, "f"))
    await author.send("del", pubEncrKey=forum.key)
    await author.barrier()
    await error(editor.write(forum.key, "f", b"x"), 2)
    await error(editor.file("lock", forum.key, "f"), 2)

"""Searches."""

import asyncio
import unicodedata

from apptimist_device import PATIENCE, Device, Identity
from case import Context, case, expect, same


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
        await asyncio.wait_for(names(device, pattern), PATIENCE)


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

#!/usr/bin/python3
"""Computes people.json anew from its secrets, salts and texts, and writes it: the same file comes out. With `--check` it
writes nothing and says what differs.

What must be refused is kept, and has to be refused here too. `siwe` is kept: it needs secp256k1.
Needs PyNaCl (Debian: python3-nacl).
"""

import base64
import hashlib
import json
import pathlib
import sys
import unicodedata

from nacl.bindings import (crypto_scalarmult, crypto_scalarmult_base, crypto_secretbox,
                           crypto_secretbox_open, crypto_sign_seed_keypair)
from nacl.exceptions import CryptoError

FILE = pathlib.Path(__file__).parent / "people.json"
EXPORT = b"apptimist export 1\n"
PRIVATE = bytes.fromhex("61707074696d0210")
HOUR = 3600


def sha512(*parts: bytes) -> bytes:
    return hashlib.sha512(b"".join(parts)).digest()


def label(name: str) -> bytes:
    return f"apptimist.2 {name}\0".encode()


def seal(key: bytes, nonce: bytes, plain: bytes) -> bytes:
    return crypto_secretbox(plain, nonce, key)


def unseal(key: bytes, nonce: bytes, box: bytes) -> bytes | None:
    try:
        return crypto_secretbox_open(box, nonce, key)
    except (CryptoError, ValueError):
        return None


def counted(number: int) -> bytes:
    """A nonce that is a number."""
    return number.to_bytes(24, "big")


def derived(what: str, size: int = 32) -> bytes:
    """Bytes that look random and are always the same."""
    return hashlib.shake_256(b"awd apptimist people: " + what.encode()).digest(size)


class Vectors:
    def __init__(self, old: dict):
        self.old = old
        self.service = bytes.fromhex(old["service"]["encryptionKey"])

    def user(self, name: str) -> dict:
        return {member: bytes.fromhex(value) for member, value in self.users()[name].items()}

    def users(self) -> dict:
        made = {}
        for name, user in self.old["users"].items():
            secret, seed = bytes.fromhex(user["encryptionSecret"]), bytes.fromhex(user["authenticationSeed"])
            made[name] = {"encryptionSecret": secret.hex(), "encryptionKey": crypto_scalarmult_base(secret).hex(),
                          "authenticationSeed": seed.hex(),
                          "authenticationKey": crypto_sign_seed_keypair(seed)[0].hex()}
        return made

    # Safety numbers -----------------------------------------------------------------------------------------------------

    def half(self, user: dict) -> str:
        keys = user["encryptionKey"] + user["authenticationKey"]
        digest = sha512(label("safety number"), self.service, keys)
        for _ in range(5_199):
            digest = sha512(digest, keys)
        groups = (int.from_bytes(digest[at:at + 5], "big") % 100_000 for at in range(0, 30, 5))
        return " ".join(f"{group:05}" for group in groups)

    def numbers(self) -> list:
        return [{**one, "number": " ".join(sorted([self.half(self.user(one["a"])), self.half(self.user(one["b"]))]))}
                for one in self.old["safetyNumbers"]]

    # The private file ---------------------------------------------------------------------------------------------------

    def file_key(self, user: dict, name: str, salt: bytes) -> bytes:
        agreed = crypto_scalarmult(user["encryptionSecret"], user["encryptionKey"])
        return sha512(label("private file"), agreed, self.service, user["encryptionKey"], salt,
                      bytes([len(name)]), name.encode())

    def private_file(self) -> dict:
        old = self.old["privateFile"]
        user, salt = self.user(old["user"]), bytes.fromhex(old["salt"])
        key = self.file_key(user, old["name"], salt)
        sealed = seal(key[:32], key[32:56], old["plain"].encode())
        for one in old["refused"]:
            content = bytes.fromhex(one["content"])
            key = self.file_key(user, old["name"], content[8:40])
            assert content[:8] != PRIVATE or unseal(key[:32], key[32:56], content[40:]) is None, one["why"]
        return {**old, "content": (PRIVATE + salt + sealed).hex()}

    def merged(self) -> list:
        def text(entry: dict) -> str:
            return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

        def merge(a: dict, b: dict) -> dict:
            both = {kind: dict(entries) for kind, entries in a.items()}
            for kind, entries in b.items():
                for key, entry in entries.items():
                    mine = both.setdefault(kind, {}).get(key)
                    rank = lambda one: (one.get("time", 0), text(one))
                    if mine is None or rank(entry) > rank(mine):
                        both[kind][key] = entry
            return both

        for one in self.old["merge"]:
            assert merge(one["a"], one["b"]) == merge(one["b"], one["a"]) == one["merged"]
        return self.old["merge"]

    # Links --------------------------------------------------------------------------------------------------------------

    def linking(self) -> dict:
        old = self.old["linking"]
        r = bytes.fromhex(old["r"])
        new, this = bytes.fromhex(old["newSecret"]), bytes.fromhex(old["oldSecret"])
        n, o = crypto_scalarmult_base(new), crypto_scalarmult_base(this)
        p = sha512(label("link request"), r, n)
        k = sha512(label("link"), crypto_scalarmult(this, n), r, o, n)
        code = base64.urlsafe_b64encode(r).decode().rstrip("=")
        digits = int.from_bytes(sha512(label("link digits"), r, n)[:8], "big") % 1_000_000
        for one in old["refused"]:
            if "part2" in one:
                part = bytes.fromhex(one["part2"])
                key = sha512(label("link"), crypto_scalarmult(new, part[:32]), r, part[:32], n)
                assert unseal(key[:32], key[32:56], part[32:]) is None, one["why"]
        return {**old, "code": f"#link={code}", "slot": sha512(label("link slot"), r)[:16].hex(),
                "part1": (n + seal(p[:32], p[32:56], old["name"].encode())).hex(), "digits": f"{digits:06}",
                "part2": (o + seal(k[:32], k[32:56], old["account"].encode())).hex()}

    # Exports ------------------------------------------------------------------------------------------------------------

    @staticmethod
    def export_key(passphrase: str, salt: bytes, iterations: int) -> bytes:
        text = "".join(unicodedata.normalize("NFKC", passphrase).split())
        return hashlib.pbkdf2_hmac("sha512", text.encode(), salt, iterations, 32)

    def export(self) -> dict:
        old = self.old["export"]
        salt = bytes.fromhex(old["salt"])
        key = self.export_key(old["passphrase"], salt, old["iterations"])
        assert key == self.export_key(old["same"], salt, old["iterations"])
        head = EXPORT + old["iterations"].to_bytes(4, "big") + salt
        return {**old, "file": (head + seal(key, counted(0), old["plain"].encode())).hex()}

    # Contents -----------------------------------------------------------------------------------------------------------

    def contents(self) -> dict:
        """What readers make of contents: `members` is what counts of `content`, all else is passed over."""
        message, other = derived("message", 64).hex(), derived("another message", 64).hex()
        file = {"name": "a/b.png", "type": "image/png", "size": 9, "file": derived("file", 16).hex(),
                "key": derived("key").hex()}
        pieces = {"pieces": [derived(f"piece {i}", 16).hex() for i in range(3)], "digest": derived("digest").hex()}
        reply = {"to": message, "text": "what was said"}
        good = [
            {"text": "hello ☂"}, {"text": "yes", "reply": reply},
            {"reaction": {"to": message, "emoji": "👍"}}, {"reaction": {"to": message, "emoji": "👩‍👩‍👧"}},
            {"reaction": {"to": message, "emoji": "🇩🇪"}}, {"reaction": {"to": message, "emoji": "❤️"}},
            {"reaction": {"to": message, "emoji": "3️⃣"}}, {"reaction": {"to": message, "emoji": ""}},
            {"edit": {"of": other, "text": "what I meant"}}, {"file": file}, {"text": "look", "file": file},
            {"file": {**file, "size": 25 << 20, **pieces}}, {"takenBack": message},
        ]
        bad = [
            {"reply": {"to": "00", "text": "x"}}, {"reply": {"to": message}}, {"reply": "x"},
            {"reaction": {"to": message, "emoji": "👍👍"}}, {"reaction": {"to": message, "emoji": "x"}},
            {"reaction": {"to": message, "emoji": "3"}}, {"reaction": {"to": message, "emoji": "👍 "}},
            {"reaction": {"to": message}}, {"reaction": {"to": message[:64], "emoji": "👍"}},
            {"edit": {"of": other}}, {"edit": {"of": other[:-2], "text": "x"}}, {"edit": {"of": other, "text": 1}},
            {"file": {**file, "file": "../secret"}}, {"file": {**file, **pieces, "pieces": []}},
            {"file": {**file, **pieces, "digest": "00"}}, {"file": {**file, **pieces, "size": (25 << 20) + 1}},
            {"file": {**file, "pieces": pieces["pieces"]}}, {"takenBack": message[:64]}, {"later": {"x": 1}},
        ]
        read = [{"content": self.text({"id": "0011223344556677", "later": [{}], **members}), "members": members}
                for members in good]
        read += [{"content": self.text({"id": "0011223344556677", **members}), "members": {}} for members in bad]
        long = {"to": message, "text": "é" * 101}
        read.append({"content": self.text({"id": "00", "text": "x", "reply": long}),
                     "members": {"text": "x", "reply": {"to": message, "text": "é" * 100}}})
        edits = [{"written": 1_000, "edited": edited, "at": at, "isAuthors": is_authors,
                  "counts": is_authors and edited <= at <= 1_000 + HOUR}
                 for edited, at, is_authors in [(0, 1_000, True), (0, 4_600, True), (0, 4_601, True), (0, 1_500, False),
                                                (1_500, 1_400, True), (1_500, 1_500, True), (1_500, 2_000, True)]]
        return {"read": read, "edits": edits, "files": [self.file("small", 9, 64), self.file("in pieces", 200, 64)]}

    @staticmethod
    def text(content: dict) -> str:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def file(self, name: str, size: int, longest: int) -> dict:
        """A file and what lies in the sender's directory, as for a service that takes `longest` bytes and a tag."""
        plain, key = derived(f"plain {name}", size), derived(f"key {name}")
        parts = [plain[at:at + longest] for at in range(0, size, longest)]
        names = [derived(f"{name} {i}", 16).hex() for i in range(len(parts))]
        about = {"name": name, "type": "text/plain", "size": size, "file": names[0], "key": key.hex()}
        if len(parts) > 1:
            about |= {"pieces": names, "digest": hashlib.sha256(plain).hexdigest()}
        boxes = [seal(key, counted(i), part) for i, part in enumerate(parts)]
        assert b"".join(unseal(key, counted(i), box) for i, box in enumerate(boxes)) == plain
        return {"about": about, "plain": plain.hex(), "boxes": [box.hex() for box in boxes]}

    def made(self) -> dict:
        return {"about": self.old["about"], "service": self.old["service"], "users": self.users(),
                "safetyNumbers": self.numbers(), "privateFile": self.private_file(), "merge": self.merged(),
                "contents": self.contents(), "linking": self.linking(), "export": self.export(),
                "siwe": self.old["siwe"]}


def main():
    old = json.loads(FILE.read_text())
    made = Vectors(old).made()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        return
    different = [name for name in made | old if made.get(name) != old.get(name)]
    if different:
        sys.exit(f"people.json differs in {', '.join(different)}")


main()

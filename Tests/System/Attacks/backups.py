"""Changes backups in every way that would do harm if they were restored: bits, names, times, files beside them."""

import os
import pathlib
import shutil
import sqlite3

from attack import Server, verdict

PLANTED = ["awd.sqlite3-wal", "awd.sqlite3-shm", "awd.lock", "apptimist.keys/x", "../outside", "\x1b[2J"]


class Target(Server):
    """A place for restorations, in which nothing is served."""

    def restore(self, *words: str) -> bool:
        return self.run("restore", *words).returncode == 0

    @property
    def is_untouched(self) -> bool:
        return not os.path.exists(self.data)


with Server("[log]\nlevel = \"error\"\n") as server:
    backup = os.path.join(server.folder, "awd.backup")
    assert server.run("backup", backup).returncode == 0
    good = pathlib.Path(backup).read_bytes()
    target = Target()
    changed = os.path.join(target.folder, "changed.backup")
    accepted = leftovers = 0

    def attempt(content: bytes | None = None):
        global accepted, leftovers
        if content is not None:
            pathlib.Path(changed).write_bytes(content)
        accepted += target.restore(changed)
        leftovers += not target.is_untouched
        shutil.rmtree(target.data, ignore_errors=True)

    # One bit here and there, and in each part of the end; in the keys, wherever they lie.
    keys = pathlib.Path(server.data, "apptimist.keys").read_bytes()
    places = [len(good) * number // 40 for number in range(40)] + [len(good) - 1 - number for number in range(0, 400, 20)]
    places += [good.find(keys[:16]) + 5] if keys[:16] in good else []
    for place in places:
        attempt(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1:])
    flipped, flips = accepted, len(places)
    attempt(good[:-1])
    attempt(good + b"\n")
    attempt(good[:4096])

    # Names and times, written with SQLite as far as the file is one.
    for name in PLANTED:
        pathlib.Path(changed).write_bytes(good)
        try:
            database = sqlite3.connect(changed)
            database.execute("INSERT INTO backup_files VALUES (?, ?)", (name, b"planted"))
            database.commit()
            database.close()
        except sqlite3.Error:
            pass
        attempt()
    for time in (-2**63, 2**63 - 1):
        pathlib.Path(changed).write_bytes(good)
        try:
            database = sqlite3.connect(changed)
            database.execute("UPDATE backup_origin SET made_at = ?", (time,))
            database.commit()
            database.close()
        except sqlite3.Error:
            continue
        attempt()
    # A log beside it, which SQLite would take for its own.
    pathlib.Path(changed + "-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    attempt(good)
    os.unlink(changed + "-journal")

    refused = accepted
    is_shown = target.run("restore", "--check", backup)
    showed = is_shown.returncode == 0 and b"apptimist.keys" in is_shown.stdout and target.is_untouched
    restored = target.restore(backup)
    same_keys = pathlib.Path(target.data, "apptimist.keys").read_bytes() == keys
    target.__exit__()
    verdict("backups", flips=(1, flips, None), flipped_accepted=(flipped, 0), accepted=(refused, 0), leftovers=(leftovers, 0),
            shown_by_check=showed, good_restored=restored, keys_restored=same_keys)

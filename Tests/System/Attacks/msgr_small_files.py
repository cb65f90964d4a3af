#!/usr/bin/python3
"""msgr_small_files.py AWD: two hundred free accounts of one site have a thousand files of one byte each beside messages, and upload
more. Bystanders' messages and uploads go as fast as before: no upload adds up all files."""

import base64
import itertools
import json
import os
import sqlite3
import time

from attack import CANARY, Canary, Server, attack_apart, verdict

ACCOUNTS, FILES, SECONDS = 200, 1000, 10
TOML = """[server]
services = ["msgr"]
[log]
level = "warning"
[msgr]
password_memory = "8KiB"
password_passes = 1
registrations_burst = 1000
registrations_per_day = 1000
[msgr.topics]
burst = 100000
"""


def plant(server, names):
    """Puts files into the database of a server that isn't running."""
    now = round(time.time() * 1000)
    with sqlite3.connect(os.path.join(server.data, "awd.sqlite3"), timeout=20) as opened:
        opened.executemany(
            "INSERT INTO msgr_topic_files (name, account, file_name, type, size, created_at, expires_at, is_whole) "
            "VALUES (?, ?, 'a', 'text/plain', 1, ?, ?, 1)",
            [(f"{number:028}.txt", names[number % len(names)], now, now + 86_400_000) for number in range(len(names) * FILES)])


def main():
    with Server(TOML) as server:
        def put(path, body, name, source, fields=None):
            password = base64.b64encode(f"{name}:a password".encode()).decode()
            header = {"Authorization": f"Basic {password}", **(fields or {})}
            return server.request("PUT", path, body, header, source=source)

        def register(name, source):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-00000001"}
            return json.loads(server.request("POST", "/register", json.dumps(fields).encode(), source=source).body)["Token"]

        names = [f"free{number}" for number in range(ACCOUNTS)]
        for number, name in enumerate(names):
            register(name, f"127.0.1.{number + 1}")
        token = register("bert", CANARY)
        server.stop()
        plant(server, names)
        server.start()
        turns = itertools.count()

        def upload():
            number = next(turns)
            put(f"/files-{number % ACCOUNTS}", b"x", names[number % ACCOUNTS], f"127.0.1.{number % ACCOUNTS + 1}", {"Filename": "a"})

        def go_on():
            fields = {"UserTo": "bert", "Message": "x"}
            sent = server.request("POST", "/message", json.dumps(fields).encode(), {"Authorization": f"Bearer {token}"}, source=CANARY)
            kept = put("/own", b"x", "bert", CANARY, {"Filename": "a"})
            return sent.status == 200 and "attachment" in json.loads(kept.body)

        go_on()
        with Canary(server, go_on) as canary:
            attack_apart([upload] * 6, SECONDS)
        verdict("msgr_small_files", canary)


if __name__ == "__main__":
    main()

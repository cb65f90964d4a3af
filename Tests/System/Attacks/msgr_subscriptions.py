#!/usr/bin/python3
"""msgr_subscriptions.py AWD: forty accounts of one site log in at ever new browsers, and name ever new addresses for pushes, as
fast as they can. A bystander's browser does so too, and keeps its own; the rows and the disk stay bounded by account."""

from Push.network import KEYS, prepare

import itertools
import json
import os
import sqlite3

from attack import Canary, Server, attack_apart, verdict

ACCOUNTS, DEVICES, SECONDS = 40, 20, 12
TOML = f"""[server]
services = ["msgr"]
[log]
level = "warning"
[msgr]
password_memory = "8KiB"
password_passes = 1
registrations_burst = 1000
devices = {DEVICES}
"""


def main():
    prepare("DNS:good.example")
    with Server(TOML) as server:
        def post(path, fields, source, token=None):
            header = {"Authorization": f"Bearer {token}"} if token else {}
            return server.request("POST", path, json.dumps(fields).encode(), header, source=source)

        def log_in(name, device, source, path="/login"):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{device:0>20}"}
            return json.loads(post(path, fields, source).body)["Token"]

        def subscribe(token, endpoint, source):
            return post("/subscribe", {"Endpoint": f"https://good.example/{endpoint}", **KEYS}, source, token).status

        bert = log_in("bert", "bert", "127.0.0.2", "/register")
        accounts = [(f"evil{number}", f"127.0.1.{number + 1}") for number in range(ACCOUNTS)]
        tokens = [log_in(name, name, source, "/register") for name, source in accounts]
        turns = itertools.count()

        def rename():
            number = next(turns)
            name, source = accounts[number % ACCOUNTS]
            subscribe(tokens[number % ACCOUNTS], f"{number}/" + "x" * 400, source)

        def move():
            number = next(turns)
            name, source = accounts[number % ACCOUNTS]
            subscribe(log_in(name, f"{number}", source), f"{number}", source)

        def go_on():
            return subscribe(bert, f"bert/{next(turns)}", "127.0.0.2") == 200

        before, disk = server.rss, server.disk
        with Canary(server, go_on) as canary:
            attack_apart([rename] * 4 + [move] * 4, SECONDS)
        with sqlite3.connect(os.path.join(server.data, "awd.sqlite3"), timeout=20) as opened:
            most = opened.execute(
                "SELECT max(n) FROM (SELECT count(*) AS n FROM msgr_devices GROUP BY username)").fetchone()[0]
            kept = opened.execute("SELECT count(*) FROM msgr_devices WHERE username = 'bert'").fetchone()[0]
        verdict("msgr_subscriptions", canary, devices=(1, most, DEVICES), bystander=kept == 1,
                grown_MiB=((server.rss - before) >> 20, 64), disk_MiB=((server.disk - disk) >> 20, 64))


if __name__ == "__main__":
    main()

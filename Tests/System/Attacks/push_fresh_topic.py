#!/usr/bin/python3
"""push_fresh_topic.py AWD: before Google has ever taken a push, fifty free accounts and one with fourteen devices name tokens
that aren't any. While nobody knows whether the tokens or the settings are wrong, an honest phone's first push comes all the same."""

import json
import os
import time

from attack import CANARY, Canary, Server, verdict
from Push.google import Google

ACCOUNTS, DEVICES = 50, 14


def main():
    google = Google()
    google.write_account()
    toml = ('[server]\nservices = ["msgr"]\n[log]\nlevel = "error"\n[msgr]\npush = "on"\npassword_memory = "8KiB"\n'
            "password_passes = 1\nregistrations_burst = 1000\nregistrations_per_day = 1000\n")
    with Server(toml + google.toml) as server:
        def post(path, fields, source, token=None):
            header = {"Authorization": f"Bearer {token}"} if token else {}
            response = server.request("POST", path, json.dumps(fields).encode(), header, source=source)
            assert response.status == 200, (path, response.status, response.body)
            return json.loads(response.body)

        def join(name, token, source, path="/register"):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"fcm:{token}"}
            return post(path, fields, source)["Token"]

        def bad() -> str:
            return f"bad{os.urandom(16).hex()}_{'t' * 60}"

        sender = post("/register", {"Username": "sender", "Password": "a password", "DeviceID": "stream:sender-0001"}, CANARY)["Token"]
        for number in range(ACCOUNTS):
            join(f"evil{number}", bad(), "127.0.1.3")
        join("greedy", bad(), "127.0.1.4")
        for _ in range(DEVICES - 1):
            join("greedy", bad(), "127.0.1.4", "/login")
        with Canary(server) as canary:
            for name in ["greedy"] + [f"evil{number}" for number in range(ACCOUNTS)]:
                post("/message", {"UserTo": name, "Message": "x"}, CANARY, sender)
            end = time.monotonic() + 10
            while not google.refused and time.monotonic() < end:
                time.sleep(0.05)
            join("bert", f"good_{'t' * 60}", CANARY)
            start = time.monotonic()
            post("/message", {"UserTo": "bert", "Message": "hello"}, CANARY, sender)
            while not google.arrived and time.monotonic() < start + 20:
                time.sleep(0.05)
            took = time.monotonic() - start
    verdict("push_fresh_topic", canary, came=bool(google.arrived), seconds=(round(took, 2), 5), refused=(1, google.refused, None))


main()

#!/usr/bin/python3
"""msgr_strangers.py AWD: 120 free accounts of one site write to Bert until his inbox is full of them, and go on; 40 more ask to
be his friends under names that stand before all others. Cleo, to whom Bert has written, is no friend of his: her messages stay
all the same. So does the message of Dora, a stranger of another site, and Dora's request is on the first page."""

import itertools
import json

from attack import CANARY, Canary, Server, attack, verdict

TOML = """
[server]
services = ["msgr"]
trusted_proxies = ["127.0.0.1"]
[msgr]
password_memory = "8KiB"
password_passes = 1
inbox_messages = 60
contacts = 30
registrations_per_minute = 100000
registrations_per_day = 100000
registrations_burst = 100000
"""
ACCOUNTS, ASKING, SECONDS = 120, 40, 10


def main():
    with Server(TOML) as server:
        def post(path, fields, token=None, site="198.51.100.1"):
            header = {"X-Forwarded-For": site, **({"Authorization": f"Bearer {token}"} if token else {})}
            return server.request("POST", path, json.dumps(fields).encode(), header, source="127.0.0.1")

        def join(name, site):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{abs(hash(name)):020}"}
            response = post("/register", fields, site=site)
            assert response.status == 200, (name, response.status, response.body)
            return json.loads(response.body)["Token"]

        bert, cleo, dora = join("bert", "198.51.100.1"), join("cleo", "203.0.113.1"), join("dora", "192.0.2.1")
        assert post("/message", {"UserTo": "cleo", "Message": "hello"}, bert).status == 200
        for number in range(10):
            assert post("/message", {"UserTo": "bert", "Message": f"kept {number}"}, cleo).status == 200
        assert post("/message", {"UserTo": "bert", "Message": "kept"}, dora).status == 200
        assert post("/add", {"AddUser": "bert"}, dora).status == 200
        free = [join(f"free {number}", f"2001:db8:7:{number:x}::1") for number in range(ACCOUNTS)]
        for number in range(ASKING):
            asking = join(f"! {number:02}", f"2001:db8:7:{number:x}::2")
            assert post("/add", {"AddUser": "bert"}, asking).status == 200
        numbers = itertools.count()

        def write():
            post("/message", {"UserTo": "bert", "Message": "x"}, free[next(numbers) % ACCOUNTS])

        def poll():
            return post("/inbox", {}, bert).status == 200

        with Canary(server, poll) as canary:
            attack([write] * 4, SECONDS)
        inbox = json.loads(post("/inbox", {}, bert).body)
        kept = [message["UserFrom"] for message in inbox if message["Message"].startswith("kept")]
        lists = json.loads(post("/friends", {}, bert).body)
    verdict("msgr_strangers", canary, inbox=(60, len(inbox), 60), written=(300, next(numbers), None),
            known=(10, kept.count("cleo"), None), stranger=(1, kept.count("dora"), None),
            request="dora" in lists["Incoming"], more=(1, lists.get("MoreIncoming", 0), None))


if __name__ == "__main__":
    main()

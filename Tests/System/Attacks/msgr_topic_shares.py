#!/usr/bin/python3
"""msgr_topic_shares.py AWD: sixty free accounts of one site make topics, subscribe to a topic that everyone reads, and keep files, each
as much as it may. Bystanders of other sites make topics, subscribe and keep files all the time."""

import base64
import itertools
import json

from attack import Canary, Server, attack_apart, verdict

ACCOUNTS, TOPICS, ROOM = 60, 1000, 20 << 20
TOML = f"""[server]
services = ["msgr"]
trusted_proxies = ["127.0.0.1"]
[log]
level = "warning"
[msgr]
password_memory = "8KiB"
password_passes = 1
registrations_burst = 100000
registrations_per_day = 100000
[msgr.topics]
topics = {TOPICS}
topics_per_account = 50
attachments = "{ROOM >> 20}MiB"
attachments_per_account = "1MiB"
burst = 100000
subscribe_burst = 100000
"""


def main():
    with Server(TOML) as server:
        def request(method, path, body, name, source, fields=None):
            password = base64.b64encode(f"{name}:a password".encode()).decode()
            header = {"Authorization": f"Basic {password}", "X-Forwarded-For": source, **(fields or {})}
            return server.request(method, path, body, header, source="127.0.0.1")

        def post(path, fields, source):
            return server.request("POST", path, json.dumps(fields).encode(), {"X-Forwarded-For": source}, source="127.0.0.1")

        def register(name, source):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-00000001"}
            assert post("/register", fields, source).status == 200
            return name

        def subscribe(name, source):
            fields = {"Username": name, "Password": "a password", "Topic": "news"}
            return post("/msgr/topics/subscribe", fields, source).status

        register("owner", "198.51.100.1")
        owner = {"Username": "owner", "Password": "a password", "Topic": "news", "Everyone": "read"}
        assert post("/msgr/topics/make", owner, "198.51.100.1").status == 200
        free = [(register(f"free{number}", f"192.0.2.{number + 1}"), f"192.0.2.{number + 1}") for number in range(ACCOUNTS)]
        turns, newcomers = itertools.count(), itertools.count()

        def take():
            number = next(turns)
            name, source = free[number % ACCOUNTS]
            request("PUT", f"/taken-{number}", b"x", name, source)
            request("PUT", f"/files-{name}", bytes(300_000), name, source, {"Filename": "file.bin"})
            subscribe(name, source)

        def go_on():
            """Each time a newcomer in another site."""
            number = next(newcomers)
            source = f"203.0.{number}.1"
            name = register(f"newcomer{number}", source)
            made = request("PUT", f"/new-{number}", b"x", name, source).status
            kept = request("PUT", f"/new-{number}", bytes(1000), name, source, {"Filename": "note.bin"})
            return made == 200 and "attachment" in json.loads(kept.body) and subscribe(name, source) == 200

        with Canary(server, go_on, interval=0.25) as canary:
            attack_apart([take] * 6, 15)
        made = sum(request("PUT", f"/after-{number}", b"x", *free[number % ACCOUNTS]).status == 200 for number in range(20))
        verdict("msgr_topic_shares", failures=(canary.failures, 0), p99_ms=(round(canary.p99 * 1000), 4 * 250), newcomers=(10, canary.calls, None),
                topics_after=(made, 0))


if __name__ == "__main__":
    main()

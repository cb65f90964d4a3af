#!/usr/bin/python3
"""msgr_stored_size.py AWD: free accounts of one site, made at forty of its addresses, fill inboxes and topics. The site comes to
its bound, a restart forgets nothing of it, and a bystander of another site goes on."""

import base64
import itertools
import json

from attack import Canary, Server, attack, verdict

BOUND = 8 << 20
TOML = f"""[server]
services = ["msgr"]
[log]
level = "warning"
[msgr]
password_memory = "8KiB"
password_passes = 1
messages_per_minute = 1000000
publish_burst = 1000000
stored_size_per_address = "{BOUND >> 20}MiB"
[msgr.topics]
burst = 1000000
"""


def main():
    with Server(TOML) as server:
        def post(path, fields, source, token=None):
            header = {"Authorization": f"Bearer {token}"} if token else {}
            return server.request("POST", path, json.dumps(fields).encode(), header, source=source)

        def register(name, source):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-00000001"}
            return json.loads(post("/register", fields, source).body)["Token"]

        tokens = {f"free{number}": register(f"free{number}", f"127.0.1.{number + 1}") for number in range(40)}
        bystander = register("bert", "127.0.2.1")
        numbers, statuses = itertools.count(), []

        def to_inboxes(name, token):
            def body():
                fields = {"UserTo": f"free{next(numbers) % 40}", "Message": "x" * 3000}
                statuses.append(post("/message", fields, "127.0.1.1", token).status)
            return body

        def to_topics(name):
            password = base64.b64encode(f"{name}:a password".encode()).decode()

            def body():
                response = server.request("POST", f"/topic-{name}-{next(numbers) % 50}", b"x" * 4000,
                                          {"Authorization": f"Basic {password}"}, source="127.0.1.2")
                statuses.append(response.status)
            return body

        def send():
            fields = {"UserTo": "bert", "Message": "hello"}
            return post("/message", fields, "127.0.2.1", bystander).status == 200

        before = server.disk
        names = list(tokens)
        with Canary(server, send) as canary:
            attack([to_inboxes(name, tokens[name]) for name in names[:4]] + [to_topics(name) for name in names[4:6]], 12)
        grown = server.disk - before
        server.stop()
        server.start()
        again = post("/message", {"UserTo": "free1", "Message": "x" * 3000}, "127.0.1.9", tokens["free7"]).status
        verdict("msgr_stored_size", canary, stored=(500, statuses.count(200), BOUND // 3000), refused=(1, statuses.count(429), None),
                others=set(statuses) <= {200, 429}, after_restart=(429, again, 429), disk_MiB=(grown >> 20, 4 * BOUND >> 20))


if __name__ == "__main__":
    main()

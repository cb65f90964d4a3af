"""Accounts of one address make tokens, publish as fast as they can in every form, publish with tokens that don't exist, name
each message anew, and have their accounts exported, all at once. A bystander's messages go as before, the memory stays
bounded, and what is stored is bounded by account."""

import itertools
import json

from attack import ATTACKER, CANARY, Canary, Server, attack_apart, verdict

TOML = '[server]\nservices = ["msgr"]\n[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\nregistrations_per_minute = 20\n'
ACCOUNTS, SECONDS = 10, 20
TEXT = "x" * 3500
FORM = b'--b\r\nContent-Disposition: form-data; name="message"\r\n\r\n%s\r\n--b--\r\n' % TEXT.encode()


def post(server, path, fields, token=None, source=ATTACKER, kind="application/json"):
    header = {"Content-Type": kind, **({"Authorization": f"Bearer {token}"} if token else {})}
    body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return server.request("POST", path, body, header, source=source)


def register(server, name, source=ATTACKER):
    fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-0001"}
    return json.loads(post(server, "/register", fields, source=source).body)["Token"]


def main():
    with Server(TOML) as server:
        bert = register(server, "bert", CANARY)
        owners = [register(server, f"evil{number}") for number in range(ACCOUNTS)]
        publishers, refused = [], 0
        for owner in owners:
            for number in range(22):
                made = post(server, "/tokens", {"Name": f"p{number}", "To": ["bert", "evil0", "evil1"]}, owner)
                if made.status == 200:
                    publishers.append(json.loads(made.body)["Token"])
                refused += made.status == 403
        numbers = itertools.count()

        def publish():
            number = next(numbers)
            token = publishers[number % len(publishers)]
            if number % 3 == 0:
                post(server, "/publish", {"message": TEXT, "title": "<b>", "priority": 10}, token)
            elif number % 3 == 1:
                post(server, "/publish", FORM, token, kind="multipart/form-data; boundary=b")
            else:
                alerts = [{"status": "firing", "labels": {"alertname": "x"}}] * 1000
                post(server, "/publish", {"status": "firing", "alerts": alerts}, token)

        def guess():
            server.request("POST", f"/message?token={next(numbers):064x}", b'{"message":"x"}')

        def send():
            number = next(numbers)
            post(server, "/message", {"UserTo": "evil0", "Message": TEXT, "ClientId": f"c{number}"}, owners[number % ACCOUNTS])

        def export():
            post(server, "/export", {}, owners[next(numbers) % ACCOUNTS])

        def read():
            owner = owners[next(numbers) % ACCOUNTS]
            post(server, "/history", {"With": "evil0", "Limit": 100}, owner)
            post(server, "/read", {"With": "evil0", "Id": "7" + "f" * 15}, owner)

        def talk():
            """Sends a message as Bert, to himself."""
            return post(server, "/message", {"UserTo": "bert", "Message": "hello"}, bert, CANARY).status == 200

        talk()
        before = server.rss
        with Canary(server, talk) as canary:
            attack_apart([publish] * 6 + [guess] * 4 + [send] * 6 + [export] * 4 + [read] * 4, SECONDS)
        # 20 publishers an account; an inbox and as many own messages, of 4 KiB each, and a log of the store's writes.
        verdict("msgr_publishers", canary, publishers=(20 * ACCOUNTS, len(publishers), 20 * ACCOUNTS),
                refused=(2 * ACCOUNTS, refused, None), grown_MiB=((server.rss - before) >> 20, 128),
                disk_MiB=(server.disk >> 20, 2 * (ACCOUNTS + 1) * 8 + 64))


if __name__ == "__main__":
    main()

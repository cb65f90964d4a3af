#!/usr/bin/python3
"""msgr_words.py AWD: one address without an account sends what takes long to read or can't be computed: delays and ranges whose
numbers have no end, header fields full of encoded words that are none, actions and forms of thousands of members. Others ask
for the server's health meanwhile, whose 99th percentile counts; the server stays the same process."""

import itertools
import json

from attack import ATTACKER, Canary, Server, attack_apart, verdict

SECONDS, CONNECTIONS = 8, 8
TOML = '[server]\nservices = ["msgr"]\n[msgr.topics]\naccess = "open"\n'


def main():
    with Server(TOML) as server:
        pid = server.process.pid
        kept = json.loads(server.request("PUT", "/files", b"\x00" * 1000, {"Filename": "f.bin"}, source=ATTACKER).body)
        path = "/" + kept["attachment"]["url"].split("/", 3)[3]

        def ask(method, path, body=b"", fields=None):
            return server.request(method, path, body, fields or {}, source=ATTACKER).status

        def publish(member, value):
            return ask("POST", "/", json.dumps({"topic": "words", "message": "x", member: value}).encode())

        # What once ended the program.
        endless = [publish("delay", "999999999w" * 15_252), publish("delay", "9223372036854775807w")]
        ranges = [ask("GET", path, fields={"Range": f"bytes={text}"}) for text in (
            "0-9223372036854775807", "0-9223372036854775806", "-9223372036854775807", "9223372036854775807-")]
        since = ask("GET", f"/words/json?poll=1&since={'999999999w' * 500}")

        words = (b"=?a?b?c" * 2000)[:7600].decode()
        names = ["".join(letters) for letters in itertools.islice(itertools.product("abcdefghijklmnopqrstuvwxyz012345", repeat=3), 30_000)]
        kinds = {
            "fields": [lambda: ask("GET", "/words/json?poll=1", fields={"X-Title": words, "X-Message": words})],
            "actions": [lambda: publish("actions", ",".join(f"{name}=" for name in names)), lambda: publish("actions", "x;" * 80_000)],
            "forms": [lambda: ask("POST", "/message?token=Aabcdefghijklmn", "&".join(names[:12_000]).encode(),
                                  {"Content-Type": "application/x-www-form-urlencoded"})],
        }
        figures, failures = {}, 0
        for kind, bodies in kinds.items():
            with Canary(server, interval=0.02) as canary:
                attack_apart([body for body in bodies for _ in range(CONNECTIONS // len(bodies))], SECONDS)
            figures[f"{kind}_p99_ms"] = (round(canary.p99 * 1000), 250)
            failures += canary.failures
        wrong = [status for status in endless if status != 200] + [status for status in [since] if status != 400]
        wrong += [status for status, expected in zip(ranges, (206, 206, 206, 416)) if status != expected]
        verdict("msgr_words", wrong_statuses=(len(wrong), 0), failures=(failures, 0),
                restarts=(int(server.process.poll() is not None or server.process.pid != pid), 0), **figures)


if __name__ == "__main__":
    main()

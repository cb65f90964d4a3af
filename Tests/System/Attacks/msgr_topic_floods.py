#!/usr/bin/python3
"""msgr_topic_floods.py AWD: one address floods what topics and Gotify's clients use, one kind of request after the other, by
pipelines over many connections: publishing, polls of a long topic, streams that are opened and left, checks and files, and
Gotify's paths with wrong and with good tokens. An account elsewhere publishes and polls by turns, and reads its messages as
Gotify's app does. Its 99th percentile counts for each kind."""

import base64
import itertools
import json

from attack import ATTACKER, CANARY, Canary, Server, attack_apart, verdict

SECONDS, CONNECTIONS, PIPELINE = 4, 16, 32
TOML = """[server]
services = ["msgr"]
[msgr]
password_memory = "8KiB"
password_passes = 1
registrations_burst = 1000
registrations_per_day = 1000
[msgr.topics]
access = "open"
"""


def main():
    with Server(TOML) as server:
        def basic(name):
            return {"Authorization": "Basic " + base64.b64encode(f"{name}:a password".encode()).decode()}

        def ask(method, path, name=None, body=b"", fields=None, source=CANARY):
            return server.request(method, path, body, {**(basic(name) if name else {}), **(fields or {})}, source=source)

        def register(name, source):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-00000001"}
            assert ask("POST", "/register", body=json.dumps(fields).encode(), source=source).status == 200

        register("anna", CANARY)
        register("evil", ATTACKER)
        client = json.loads(ask("POST", "/client", "anna", b'{"name":"phone"}').body)["token"]
        evil = json.loads(ask("POST", "/client", "evil", b'{"name":"phone"}', source=ATTACKER).body)["token"]
        application = json.loads(ask("POST", "/application", "evil", b'{"name":"app"}', source=ATTACKER).body)["token"]
        # As long as one may be made within the limits.
        for number in range(59):
            ask("PUT", "/long", body=b"x" * 60_000, source=ATTACKER)
        turns = itertools.count()

        def go_on():
            number = next(turns)
            # The rates of an account's publishing and reading bound how often.
            good = (200,) if number < 150 else (200, 429)
            if number % 3 == 0:
                return ask("PUT", "/annas", "anna", b"hello").status in good
            if number % 3 == 1:
                return ask("GET", "/annas/json?poll=1", "anna").status in good
            return ask("GET", "/message?limit=10", fields={"X-Gotify-Key": client}).status in good

        def flood(requests):
            """Sends pipelines of requests, and reads what comes."""
            texts = itertools.cycle(requests)
            numbers = itertools.count()

            def act():
                with server.connect(ATTACKER, 2) as connection:
                    for _ in range(50):
                        pipeline = b"".join(next(texts)(next(numbers)) for _ in range(PIPELINE))
                        connection.sendall(pipeline)
                        connection.recv(1 << 18)
            return [act] * CONNECTIONS

        def request(method, path, body=b"", fields=""):
            head = f"{method} {path} HTTP/1.1\r\nHost: h\r\n{fields}" + (f"Content-Length: {len(body)}\r\n" if body else "")
            return lambda number: (head.replace("{n}", str(number)) + "\r\n").encode() + body

        wrong = "".join(f"{name}: {value}\r\n" for name, value in basic("evil").items()).replace("\r\n", "x\r\n")
        def leave():
            with server.connect(ATTACKER, 2) as connection:
                connection.sendall(request("GET", "/long/json?since=all")(0))
                connection.recv(100)

        kinds = {
            "publish": flood([
                request("PUT", "/flood", b"x" * 2000), request("PUT", "/new-{n}", b"x"), request("GET", "/flood/publish?m=x"),
                request("POST", "/", b'{"topic":"flood","message":"x","tags":["a","b"]}'),
                request("PUT", "/flood", b"x" * 20_000, "Filename: f.bin\r\n")]),
            "poll": flood([
                request("GET", "/long/json?poll=1"), request("GET", "/long,flood,a,b,c/json?poll=1&since=all&tags=x"),
                request("GET", "/long/raw?poll=1&since=1h"), request("GET", "/flood/json?poll=1&id=abcdefghijkl")]),
            "streams": [leave] * CONNECTIONS * 2,
            "checks": flood([
                request("GET", "/long/auth"), request("GET", "/file/abcdefghijklmnopqrstuvwxyzabcdef.txt"),
                request("GET", "/v1/account"), request("GET", "/long/auth", fields=wrong)]),
            "gotify": flood([
                request("POST", "/message?token=A{n}bcdefghijklm", b'{"message":"x"}'), request("GET", "/client", fields=wrong),
                request("POST", f"/message?token={application}", b'{"message":"x","priority":5}'),
                request("GET", "/message?limit=200", fields=f"X-Gotify-Key: {evil}\r\n"),
                request("GET", "/application", fields=f"X-Gotify-Key: {evil}\r\n"),
                request("GET", "/current/user", fields=f"X-Gotify-Key: {evil}\r\n")]),
        }
        figures, failures, problems = {}, 0, []
        for kind, bodies in kinds.items():
            with Canary(server, go_on, interval=0.05) as canary:
                attack_apart(bodies, SECONDS)
            figures[f"{kind}_p99_ms"] = (round(canary.p99 * 1000), 250)
            failures += canary.failures
            problems += [canary.problem] if canary.problem else []
        if problems:
            print(problems)
        verdict("msgr_topic_floods", failures=(failures, 0), **figures, grown_MiB=(server.rss >> 20, 512))


if __name__ == "__main__":
    main()

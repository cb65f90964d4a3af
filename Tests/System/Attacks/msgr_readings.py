#!/usr/bin/python3
"""msgr_readings.py AWD: one account asks for all its long messages over a hundred connections, and takes none of the bytes: by
polls of a topic, by Gotify's list, and by Msgr's inbox and history; then sixty connections take all they get. A bystander
elsewhere polls its own topic. What the server holds more, and the bystander's 99th percentile, count for each kind."""

import base64
import json
import socket
import threading
import time

from attack import ATTACKER, CANARY, Canary, Server, verdict

IDLE, GREEDY, SECONDS = 100, 60, 5
MESSAGES, LENGTH = 200, 60_000
TOML = f"""[server]
services = ["msgr"]
[msgr]
password_memory = "8KiB"
password_passes = 1
publish_burst = {2 * MESSAGES}
messages_per_minute = {4 * MESSAGES}
[msgr.topics]
burst = {2 * MESSAGES}
"""


def main():
    with Server(TOML) as server:
        def ask(method, path, body=b"", fields=None, source=ATTACKER):
            response = server.request(method, path, body, fields or {}, source=source)
            assert response.status == 200, (path, response.status, response.body[:200])
            return response.body

        def register(name, source):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-00000001"}
            token = json.loads(ask("POST", "/register", json.dumps(fields).encode(), source=source))["Token"]
            return token, {"Authorization": "Basic " + base64.b64encode(f"{name}:a password".encode()).decode()}

        token, evil = register("evil", ATTACKER)
        _, anna = register("anna", CANARY)
        client = json.loads(ask("POST", "/client", b'{"name":"phone"}', evil))["token"]
        application = json.loads(ask("POST", "/application", b'{"name":"app"}', evil))["token"]
        for _ in range(MESSAGES):
            ask("PUT", "/long", b"x" * LENGTH, evil)
            ask("POST", f"/message?token={application}", json.dumps({"message": "x" * LENGTH}).encode())
        ask("PUT", "/annas", b"hello", anna, CANARY)

        def request(method, path, fields, body=b""):
            lines = [f"{method} {path} HTTP/1.1", "Host: h", *(f"{name}: {value}" for name, value in fields.items())]
            if body:
                lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
            return "\r\n".join(lines + ["", ""]).encode() + body

        bearer = {"Authorization": f"Bearer {token}"}
        kinds = {
            "poll": request("GET", "/long/json?poll=1", evil),
            "gotify": request("GET", "/message?limit=200", {"X-Gotify-Key": client}),
            "inbox": request("POST", "/msgr/inbox", bearer, b"{}"),
            "history": request("POST", "/msgr/history", bearer, json.dumps({"With": "evil/app", "Limit": 100}).encode()),
        }

        def connect(text, size):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
            connection.bind((ATTACKER, 0))
            connection.settimeout(2)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(text)
            return connection

        def devour(text, end):
            while time.monotonic() < end:
                try:
                    with connect(text, 1 << 20) as connection:
                        while time.monotonic() < end and connection.recv(1 << 20):
                            pass
                except OSError:
                    pass

        figures, failures, most = {}, 0, 0
        before = server.rss
        for kind, text in kinds.items():
            with Canary(server, lambda: server.request("GET", "/annas/json?poll=1&since=none", fields=anna, source=CANARY).status in (200, 429),
                        interval=0.05) as canary:
                idle = [connect(text, 2048) for _ in range(IDLE)]
                end = time.monotonic() + SECONDS
                while time.monotonic() < end:
                    most = max(most, server.rss)
                    time.sleep(0.1)
                for connection in idle:
                    connection.close()
                end = time.monotonic() + SECONDS
                threads = [threading.Thread(target=devour, args=(text, end)) for _ in range(GREEDY)]
                for thread in threads:
                    thread.start()
                while time.monotonic() < end:
                    most = max(most, server.rss)
                    time.sleep(0.1)
                for thread in threads:
                    thread.join()
            figures[f"{kind}_p99_ms"] = (round(canary.p99 * 1000), 500)
            failures += canary.failures
        verdict("msgr_readings", failures=(failures, 0), grown_MiB=(most - before >> 20, 200), **figures)


if __name__ == "__main__":
    main()

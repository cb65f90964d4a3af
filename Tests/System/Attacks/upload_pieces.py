#!/usr/bin/python3
"""upload_pieces.py AWD: one address sends uploads in pieces of one byte, while the server still looks at the password of each: what
waits of them is as much as it counts, and is taken without keeping others waiting."""

import base64
import json
import threading
import time

from attack import ATTACKER, Canary, Server, verdict

CONNECTIONS, PIECES = 8, 255_000
TOML = """[server]
services = ["msgr"]
[msgr]
password_memory = "64MiB"
password_passes = 2
"""


def main():
    with Server(TOML) as server:
        for number in range(CONNECTIONS):
            fields = {"Username": f"evil{number}", "Password": "a password", "DeviceID": f"stream:evil{number}-00000001"}
            assert server.request("POST", "/register", json.dumps(fields).encode(), timeout=30).status == 200
        # Nothing of the passwords is known from memory then.
        server.stop()
        server.start()
        before = most = server.rss
        body = b"1\r\nx\r\n" * PIECES + b"0\r\n\r\n"
        answers = []

        def send(number):
            credentials = base64.b64encode(f"evil{number}:a password".encode()).decode()
            head = (f"PUT /files{number} HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {credentials}\r\n"
                    "Filename: a.bin\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
            try:
                with server.connect(ATTACKER, 60) as connection:
                    connection.sendall(head + body)
                    answers.append(connection.recv(100)[:12])
            except OSError as error:
                answers.append(type(error).__name__)

        with Canary(server, interval=0.02) as canary:
            threads = [threading.Thread(target=send, args=(number,)) for number in range(CONNECTIONS)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                most = max(most, server.rss)
                time.sleep(0.02)
        print(answers)
        verdict("upload_pieces", failures=(canary.failures, 0), p99_ms=(round(canary.p99 * 1000), 250),
                longest_ms=(round(max(canary.times) * 1000), 1000), grown_MiB=(most - before >> 20, 400))


if __name__ == "__main__":
    main()

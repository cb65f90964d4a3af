#!/usr/bin/python3
"""msgr_streams.py AWD: one account opens as many streams as it can from 40 addresses, sends itself messages all the time,
and on some streams asks without reading the replies. Another user's messages must be taken as fast as before, the
account has 64 streams, and the memory stays bounded."""

import base64
import json
import multiprocessing
import os
import resource
import socket
import sys
import threading
import time

from attack import CANARY, Canary, Server, verdict

ADDRESSES, WANTED, SECONDS = 40, 5000, 16
FAST = 'password_memory = "8KiB"\npassword_passes = 1\n'
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def post(server, path, fields, source, token=None):
    header = {"Authorization": f"Bearer {token}"} if token else {}
    return server.request("POST", path, json.dumps(fields).encode(), header, source=source)


def register(server, name, source):
    fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-0001"}
    return json.loads(post(server, "/register", fields, source).body)["Token"]


def open_stream(server, token, source):
    """Opens a stream, and returns its socket and the status of the handshake."""
    stream = server.connect(source)
    key = base64.b64encode(os.urandom(16)).decode()
    stream.sendall(
        f"GET /stream HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return stream, int(stream.recv(4096).split()[1])


def frame(text):
    """A text message as a client's frame, masked with zeros."""
    payload = text.encode()
    return b"\x81" + bytes([0x80 | 126]) + len(payload).to_bytes(2, "big") + bytes(4) + payload


def do_the_worst(server, token, end, opened):
    """Attacks until a moment; in a process of its own, so that the canary doesn't wait for the attackers' Python."""
    os.nice(19)
    sources = [f"127.0.0.{3 + number}" for number in range(ADDRESSES)]
    streams = []

    def open_many(part):
        for number in range(part, WANTED, 2):
            if time.monotonic() > end:
                return
            try:
                stream, status = open_stream(server, token, sources[number % ADDRESSES])
                streams.append(stream)
                opened.value += status == 101
            except (OSError, IndexError, ValueError):
                pass

    def send_all_the_time():
        while time.monotonic() < end:
            try:
                post(server, "/message", {"UserTo": "mallory", "Message": "x" * 1000}, "127.0.0.3", token)
            except OSError:
                pass
            time.sleep(0.1)

    def ask_without_reading(source):
        """Sends what is answered with an error, and leaves the answers."""
        piece = b"".join(frame(json.dumps({"UserTo": "nobody", "Message": "y" * 3000})) for _ in range(40))
        while time.monotonic() < end:
            try:
                stream, _ = open_stream(server, token, source)
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                stream.settimeout(1)
                streams.append(stream)
                while time.monotonic() < end:
                    try:
                        stream.send(piece)
                    except TimeoutError:
                        pass
            except (OSError, IndexError, ValueError):
                time.sleep(0.1)

    attacks = [threading.Thread(target=open_many, args=(part,), daemon=True) for part in range(2)]
    attacks.append(threading.Thread(target=send_all_the_time, daemon=True))
    attacks += [threading.Thread(target=ask_without_reading, args=(source,), daemon=True) for source in sources[:30]]
    for attack in attacks:
        attack.start()
    for attack in attacks:
        attack.join()


def main():
    with Server('[server]\nservices = ["msgr"]\n[log]\nlevel = "warning"\n[msgr]\n' + FAST) as server:
        attacker, bystander = register(server, "mallory", "127.0.0.3"), register(server, "bert", CANARY)

        def send():
            response = post(server, "/message", {"UserTo": "bert", "Message": "hello"}, CANARY, bystander)
            return response.status == 200

        context = multiprocessing.get_context("fork")
        end, opened, before = time.monotonic() + SECONDS, context.Value("i", 0), server.rss
        attackers = context.Process(target=do_the_worst, args=(server, attacker, end, opened), daemon=True)
        most = grown = 0
        with Canary(server, send) as canary:
            attackers.start()
            while time.monotonic() < end:
                most = max(most, server.metric("awd_msgr_streams"))
                grown = max(grown, server.rss - before)
                time.sleep(0.5)
        attackers.kill()
        verdict("msgr_streams", canary, tried=(1, opened.value, None), streams=(most, 64), grown_MiB=(grown >> 20, 160))


if __name__ == "__main__":
    main()

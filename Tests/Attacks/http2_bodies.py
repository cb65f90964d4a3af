"""Bodies that are announced and never come, and others that trickle, over HTTP/2: others' bodies are taken."""

import threading
import time

from HTTP2.peer import DATA, Peer, SecureServer, frame, head, literal
from attack import CANARY, Canary, verdict

PATH = "/api/v1/verifyXMLDSig"

with SecureServer() as server:
    before = most = server.rss
    is_over = threading.Event()
    peers = []

    def begin(length, piece):
        fields = literal("content-type", "application/xml") + literal("content-length", str(length))
        peer = Peer(server)
        for _ in range(50):
            peer.send(peer.request(head(PATH, "POST", fields), hasBody=True))
            for start in range(0, len(piece), 16384):
                peer.send(frame(DATA, piece[start:start + 16384], peer.stream))
        peers.append(peer)

    def trickle():
        while not is_over.wait(1):
            for peer in peers:
                for stream in range(1, 101, 2):
                    try:
                        peer.send(frame(DATA, b"x" * 700, stream))
                    except OSError:
                        break

    def call():
        response = server.request("POST", PATH, b"<a/>" + b" " * 40000, {"Content-Type": "application/xml"}, CANARY)
        if response.status in (429, 503):
            raise ConnectionError(f"status {response.status}")

    threading.Thread(target=trickle, daemon=True).start()
    with Canary(server, call) as canary:
        end = time.monotonic() + 14
        while time.monotonic() < end:
            if len(peers) < 60:
                try:
                    begin(8 << 20, b"" if len(peers) < 4 else b"x" * 16000)
                except OSError:
                    pass
            else:
                time.sleep(0.2)
            most = max(most, server.rss)
    is_over.set()
    verdict("http2_bodies", canary, connections=(60, len(peers), None), grown_MiB=((most - before) >> 20, 160))

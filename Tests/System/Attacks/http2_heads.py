"""Requests with heads of 16 KB that HPACK makes of a few bytes, a hundred on each of two thousand connections, whose answers aren't
taken."""

import time

from HTTP2.peer import Peer, SecureServer, head, literal, number
from attack import Canary, attack, verdict

# An entry of the server's table, which each request names four times.
ENTRY = literal("x", "y" * 3900, indexed=True)
FOUR = number(62, 7, 0x80) * 4
CONNECTIONS = 2000
peers = []

with SecureServer() as server:
    def begin():
        if len(peers) >= CONNECTIONS:
            return time.sleep(0.1)
        peer = Peer(server, window=0)
        peers.append(peer)
        # To the first path there is an answer with a body, which the window has no room for.
        peer.send(peer.request(head("/nowhere", fields=ENTRY)))
        peer.send(b"".join(peer.request(head("/nowhere", fields=FOUR)) for _ in range(99)))

    before, most = server.rss, 0
    with Canary(server) as canary:
        end = time.monotonic() + 12
        for _ in range(4):
            attack([begin] * 4, 3)
            most = max(most, server.rss)
    verdict("http2_heads", canary, connections=(100, len(peers), None), grown_MiB=((most - before) >> 20, 192))

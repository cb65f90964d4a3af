"""Large files asked for on many HTTP/2 connections, of which some open no window, and others 8 KB every few seconds."""

import struct
import threading
import time

from HTTP2.peer import WINDOW, Peer, SecureServer, frame, head
from attack import Canary, verdict

TOML = """
[tokenscript]
repository = "repository"
signature = "off"
trust = "off"
"""
ADDRESS = f"0x{7:040x}"
FILE = (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin">'
        f'<ts:address network="1">{ADDRESS}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/></ts:origins>'
        f'<!-- {"x" * (6 << 20)} --></ts:token>').encode()
CONNECTIONS, REQUESTS = 120, 40

with SecureServer(TOML, files={"repository/large.tsml": FILE}) as server:
    assert len(server.get(f"/{ADDRESS}").body) == len(FILE)
    before, most, begun = server.rss, 0, 0
    is_over = threading.Event()
    peers = []

    def feed():
        while not is_over.wait(3):
            for peer in peers[CONNECTIONS // 2:]:
                try:
                    peer.open_window(8192, 1)
                    peer.open_window(8192)
                    peer.isOver()
                except OSError:
                    pass

    threading.Thread(target=feed, daemon=True).start()
    with Canary(server) as canary:
        end = time.monotonic() + 22
        while time.monotonic() < end:
            if len(peers) < CONNECTIONS:
                try:
                    peer = Peer(server, window=0)
                    peer.send(b"".join(peer.request(head(f"/{ADDRESS}")) for _ in range(REQUESTS)))
                    peers.append(peer)
                except OSError:
                    pass
            else:
                time.sleep(0.2)
            most = max(most, server.rss)
    is_over.set()
    idle = sum(peer.isOver() for peer in peers[:CONNECTIONS // 2])
    # Ten of these files are an address's share of the memory; the other requests were refused, and their connections rest.
    verdict("http2_windows", canary, connections=(CONNECTIONS, len(peers), None), idle_ones_ended=(10, idle, None),
            grown_MiB=((most - before) >> 20, 96))

"""Large files asked for on many HTTP/2 connections, of which some open no window, and others 8 KB every few seconds."""

import struct
import threading

from HTTP2.peer import WINDOW, Peer, SecureServer, frame, gather, head
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
    before = server.rss
    is_over = threading.Event()
    peers = []

    def begin():
        peer = Peer(server, window=0)
        peer.send(b"".join(peer.request(head(f"/{ADDRESS}")) for _ in range(REQUESTS)))
        return peer

    def feed():
        while not is_over.wait(3):
            for peer in peers[CONNECTIONS // 2:]:
                try:
                    peer.open_window(8192, 1)
                    peer.open_window(8192)
                    peer.is_over()
                except OSError:
                    pass

    threading.Thread(target=feed, daemon=True).start()
    with Canary(server) as canary:
        most = gather(server, begin, peers, CONNECTIONS, 22)
    is_over.set()
    idle = sum(peer.is_over() for peer in peers[:CONNECTIONS // 2])
    # Ten of these files are an address's share of the memory; the other requests were refused, and their connections rest.
    verdict("http2_windows", canary, connections=(CONNECTIONS, len(peers), None), idle_ones_ended=(10, idle, None),
            grown_MiB=((most - before) >> 20, 96))

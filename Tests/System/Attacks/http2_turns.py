"""Fifty HTTP/2 connections whose few bytes make heads of 16 KB, ninety at a time: the loop's turns stay short."""

import multiprocessing
import os
import threading
import time

from HTTP2.peer import Peer, SecureServer, head, literal, number
from attack import Canary, verdict

SECONDS = 10
ENTRY = literal("x", "y" * 3900, indexed=True)
FOUR = number(62, 7, 0x80) * 4


def do_the_worst(server):
    """Attacks in a process of its own, so that the canary doesn't wait for the attackers' Python."""
    os.nice(19)

    def one():
        while True:
            try:
                with Peer(server, window=1 << 30) as peer:
                    peer.open_window(1 << 30)
                    peer.send(peer.request(head("/healthz", fields=ENTRY)))
                    while not peer.is_over():
                        peer.send(b"".join(peer.request(head("/healthz", "HEAD", FOUR)) for _ in range(90)))
                        time.sleep(0.02)
            except OSError:
                time.sleep(0.05)

    for _ in range(50):
        threading.Thread(target=one, daemon=True).start()
    time.sleep(60)


with SecureServer() as server:
    before, used = server.rss, server.cpu
    attackers = multiprocessing.get_context("fork").Process(target=do_the_worst, args=(server,), daemon=True)
    with Canary(server) as canary:
        attackers.start()
        time.sleep(SECONDS)
    attackers.kill()
    verdict("http2_turns", canary, cpu_s=(1, server.cpu - used, None),
            longest_turn_seconds=(server.metric("awd_loop_turn_seconds_max"), 0.25), grown_MiB=((server.rss - before) >> 20, 64))

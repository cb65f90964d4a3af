#!/usr/bin/python3
"""apptimist_underway.py AWD: many sessions of one address send posts of a megabyte to forums whose secrets the service has, and files
behind them: what the store has yet to take is charged to the address. A bystander elsewhere writes a file again and again."""

import os
import threading
import time

from Apptimist.device import CONFIGURATION, Device, Service, User, wire, writer
from attack import ATTACKER, CANARY, Canary, Server, verdict

ACCOUNTS, SESSIONS, READERS, SECONDS = 40, 12, 15, 20


def main():
    with Server(CONFIGURATION) as server:
        service = Service(server)
        readers = []
        for number in range(READERS):
            user = User(f"reader{number}")
            readers.append(user.key)
            with Device(service, user, ATTACKER, timeout=60) as device:
                device.join()
        content = os.urandom(1_000_000)
        sessions = []
        for number in range(ACCOUNTS):
            user = User(f"evil{number}")
            device = Device(service, user, ATTACKER, timeout=60).join()
            forum = device.make_forum(readers, escrow=True).key
            data = wire.box(content, service.nonce, wire.shared_key(forum, user.secret))
            for count in range(SESSIONS):
                if count:
                    device = Device(service, user, ATTACKER, timeout=60)
                    device.login()
                    device.barrier()
                post = wire.encode("message", time=number * 100 + count + 1, recipientPubEncrKey=forum, toPubEncrKey=forum,
                                   fromPubEncrKey=user.key)
                file = wire.encode("write", pubEncrKey=user.key, filename=f"f{count % 4}")
                sessions.append((device, b"".join(device.frame(device.channel.seal(header, data)) for header in (post, file))))
        before = most = server.rss

        def send(device, frames):
            try:
                device.socket.sendall(frames)
            except OSError:
                pass

        with Canary(server, writer(service, CANARY), interval=0.05) as canary:
            for session in sessions:
                threading.Thread(target=send, args=session, daemon=True).start()
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                most = max(most, server.rss)
                time.sleep(0.05)
        if canary.problem:
            print(canary.problem)
        verdict("apptimist_underway", calls=canary.calls, failures=(canary.failures, 0), p99_ms=(round(canary.p99 * 1000), 500),
                grown_MiB=(most - before >> 20, 400))


if __name__ == "__main__":
    main()

"""WebSockets that never read, but send pongs that nobody asked for, at Msgr and at Apptimist: they are bounded, and ended."""

import json
import os
import resource
import socket
import struct
import threading
import time

from Apptimist.device import Device, Service, User
from attack import ATTACKER, CANARY, Canary, Server, verdict
import msgr_streams as msgr

TOML = """
[server]
limits = { connections = 4000, connections_per_address = 2000 }
[log]
level = "warning"
[msgr]
password_memory = "8KiB"
password_passes = 1
stream_ping = "3s"
[apptimist]
ping_interval = "3s"
unauthenticated_sessions_per_address = 100
login_timeout = "10m"
"""
PONG = b"\x8a\x80\0\0\0\0"
WANTED, MESSAGES = 600, 40


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server(TOML) as server:
        token, bystander = msgr.register(server, "mallory", ATTACKER), msgr.register(server, "bert", CANARY)
        service = Service(server)
        is_over = threading.Event()
        streams, devices = [], []

        def open_all():
            for number in range(WANTED):
                try:
                    streams.append(msgr.open_stream(server, token, ATTACKER)[0])
                except (OSError, IndexError, ValueError):
                    pass
                try:
                    devices.append(Device(service, User(), ATTACKER, timeout=1).socket)
                except OSError:
                    pass
                if is_over.is_set():
                    return

        def pong():
            while not is_over.wait(0.5):
                for stream in streams + devices:
                    try:
                        stream.send(PONG, socket.MSG_DONTWAIT)
                    except OSError:
                        pass

        def ended(sockets):
            """Those whose connections were ended, by what comes behind all that was sent before."""
            count = 0
            for stream in sockets:
                try:
                    while stream.recv(1 << 20, socket.MSG_DONTWAIT):
                        pass
                    count += 1
                except BlockingIOError:
                    pass
                except OSError:
                    count += 1
            return count

        def send():
            fields = {"UserTo": "mallory", "Message": "x" * 1500}
            return msgr.post(server, "/message", fields, CANARY, bystander).status == 200

        before, most, open_streams = server.rss, 0, 0
        for body in (open_all, pong):
            threading.Thread(target=body, daemon=True).start()
        with Canary(server, send) as canary:
            end = time.monotonic() + 20
            while time.monotonic() < end:
                most = max(most, server.rss)
                open_streams = max(open_streams, server.metric("awd_msgr_streams"))
                time.sleep(0.5)
        is_over.set()
        left = len(streams) + len(devices) - ended(streams) - ended(devices)
        verdict("unread_streams", canary, tried=(WANTED, len(streams) + len(devices), None), streams=(open_streams, 64), left=(left, 0),
                grown_MiB=((most - before) >> 20, 64))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""newcomers.py AWD: every network of one site holds a place, of connections, of sessions before and after login, and of streams,
with small capacities. A newcomer from elsewhere is served all the same, another network of the site isn't at others' expense,
and a household with three places loses none."""

import base64
import json
import os
import socket
import sys

from attack import Server, verdict
from Apptimist.device import Device, Service, User

PLACES, HOUSEHOLD = 12, 3
SITE, HOME, ELSEWHERE = "2001:db8:1:{:x}::1", "2001:db8:2::1", "2001:db8:3::1"
FAST = 'password_memory = "8KiB"\npassword_passes = 1\nregistrations_per_day = 1000\n'
CONNECTIONS = f"[server]\nlimits = {{ connections = {PLACES} }}\n"
SERVICES = f"""[server]
services = ["msgr", "apptimist"]
trusted_proxies = ["127.0.0.0/8"]
[msgr]
streams = {PLACES}
{FAST}[apptimist]
sessions = {PLACES}
unauthenticated_sessions = {PLACES}
"""


def is_open(connection: socket.socket) -> bool:
    """Whether the server hasn't ended a connection, in what was received so far."""
    connection.settimeout(0.2)
    try:
        while True:
            piece = connection.recv(4096)
            # A close frame begins so.
            if not piece or piece.startswith(b"\x88"):
                return False
    except TimeoutError:
        return True
    except OSError:
        return False


def connections() -> dict:
    """Kept connections without a proxy: a site is a /24 of loopback."""
    with Server(CONNECTIONS) as server:

        def keep(source):
            connection = server.connect(source)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n")
            connection.recv(4096)
            return connection

        household = [keep("127.0.2.1") for _ in range(HOUSEHOLD)]
        flood = [keep(f"127.0.1.{number + 1}") for number in range(PLACES - HOUSEHOLD)]
        more = [keep_quietly(lambda number=number: keep(f"127.0.1.{number + 100}")) for number in range(10)]
        newcomer = server.request("GET", "/healthz", source="127.0.3.1").status
        return {"connections_newcomer": newcomer == 200,
                "connections_household": (HOUSEHOLD, sum(map(is_open, household)), HOUSEHOLD),
                "connections_tried": (PLACES, HOUSEHOLD + len(flood) + len(more), None)}


def keep_quietly(make):
    try:
        return make()
    except (OSError, IndexError):
        return None


class Client(Device):
    """A device behind a proxy that names its address."""

    def __init__(self, service, user, address):
        self.upgrade = f"X-Forwarded-For: {address}\r\n"
        super().__init__(service, user, "127.0.0.1")


def sessions(server: Server, is_joined: bool) -> dict:
    """Sessions of Apptimist, before or after login."""
    service, name = Service(server), "joined" if is_joined else "joining"

    def open_session(address):
        device = Client(service, User(), address)
        if is_joined:
            device.join()
        return device

    household = [open_session(HOME) for _ in range(HOUSEHOLD)]
    flood = [keep_quietly(lambda number=number: open_session(SITE.format(number))) for number in range(PLACES + 5)]
    newcomer = keep_quietly(lambda: open_session(ELSEWHERE))
    figures = {f"{name}_newcomer": newcomer is not None and is_open(newcomer.socket),
               f"{name}_household": (HOUSEHOLD, sum(is_open(device.socket) for device in household), HOUSEHOLD)}
    for device in [*household, *flood, newcomer]:
        if device:
            device.close()
    return figures


def streams(server: Server) -> dict:
    """Streams of Msgr, each of an account of its own."""

    def open_stream(address, name):
        fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-0001"}
        forwarded = {"X-Forwarded-For": address}
        answer = server.request("POST", "/register", json.dumps(fields).encode(), forwarded, source="127.0.0.1")
        token = json.loads(answer.body)["Token"]
        stream = server.connect("127.0.0.1")
        key = base64.b64encode(os.urandom(16)).decode()
        stream.sendall(
            "GET /stream HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\nAuthorization: Bearer {token}\r\nX-Forwarded-For: {address}\r\n\r\n".encode())
        return stream if b" 101 " in stream.recv(4096) else None

    household = [open_stream(HOME, f"home{number}") for number in range(HOUSEHOLD)]
    for number in range(PLACES + 5):
        keep_quietly(lambda: open_streams.append(open_stream(SITE.format(number), f"flood{number}")))
    newcomer = open_stream(ELSEWHERE, "newcomer")
    return {"streams_newcomer": newcomer is not None and is_open(newcomer),
            "streams_household": (HOUSEHOLD, sum(is_open(stream) for stream in household if stream), HOUSEHOLD)}


# Held so that they stay open.
open_streams: list[socket.socket | None] = []


def main():
    figures = connections()
    with Server(SERVICES) as server:
        figures |= sessions(server, is_joined=False) | sessions(server, is_joined=True) | streams(server)
    verdict("newcomers", **figures)


if __name__ == "__main__":
    main()

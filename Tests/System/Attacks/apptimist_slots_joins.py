"""Sixty networks fill the slots by which devices are linked, while two hundred accounts ask without end to join a forum for
who holds a token, whose chain's endpoint hangs.
"""

import itertools
import os
import socket

from attack import ATTACKER, Canary, Server, attack_apart, verdict
from Apptimist.device import CONFIGURATION, Service, User, count
from Apptimist.device2 import Device2

TOKEN = "0x" + "ab" * 20


def link(server: Server, source: str, slot: str, method: str = "PUT") -> int:
    body = os.urandom(4096) if method == "PUT" else b""
    return server.request(method, f"/siren/link/{slot}/1", body, source=source).status


def bystander(server: Server):
    """Leaves a part for another device, which gets it with the next call; each time in another network, as one has twenty
    slots in ten minutes."""
    numbers, left = itertools.count(1), []

    def call():
        if left:
            return link(server, *left.pop(), "GET") == 200
        left.append((f"127.0.7.{next(numbers)}", os.urandom(16).hex()))
        return link(server, *left[0]) == 201
    return call


# An endpoint that takes connections and never answers: whoever proved no address must not make the service ask it.
endpoint = socket.create_server(("127.0.0.1", 0), backlog=1024)
chains = f'[chains]\n1 = "http://127.0.0.1:{endpoint.getsockname()[1]}"\n'
with Server(CONFIGURATION + chains) as server:
    service = Service(server)
    owner = Device2(service, User("owner"), ATTACKER).join()
    forum = owner.make_forum([owner.user.key])
    gated = owner.request("write", f"eip155:1/erc20:{TOKEN} 1".encode(), pubEncrKey=forum.key, filename="gate").error
    members = [Device2(service, User("member"), f"127.0.9.{number + 1}").join() for number in range(200)]
    turns = itertools.count()

    def fill():
        number = next(turns)
        link(server, f"127.0.8.{number % 60 + 1}", os.urandom(16).hex())

    def garbage() -> list[int]:
        """Asks for what is no place, and leaves nothing or too much at one that is."""
        slot = "0" * 32
        paths = ("x/1", f"{slot}/3", f"{slot}/01", "A" * 32 + "/1", f"{slot[1:]}%00/1", f"{slot}/1/1", f"{slot}0/1")
        return [server.request("PUT", f"/siren/link/{path}", b"x").status for path in paths] + [
            server.request("PUT", f"/siren/link/{slot}/1", body).status for body in (b"", bytes(4097))]

    def join(members):
        def call():
            for device in members:
                for _ in range(20):
                    device.ask("join", forum=forum.key)
            for device in members:
                for _ in range(20):
                    device.answer()
        return call

    malformed = garbage()
    greedy = [link(server, "127.0.6.1", os.urandom(16).hex()) for _ in range(25)]
    before, disk = server.rss, server.disk
    with Canary(server, bystander(server)) as canary:
        attack_apart([fill, fill, fill, garbage, *(join(members[start::4]) for start in range(4))], 15)
    endpoint.setblocking(False)
    try:
        asked = bool(endpoint.accept())
    except BlockingIOError:
        asked = False
    slots = count(server, "SELECT count(DISTINCT slot) FROM apptimist_links")
    most = count(server, "SELECT max(n) FROM (SELECT count(DISTINCT slot) AS n FROM apptimist_links GROUP BY network)")
    verdict("apptimist_slots_joins", canary, gate=gated == 0,
            malformed_refused=malformed == [404] * 7 + [400, 413], slots=(100, slots, 1000), of_a_network=(1, most, 20),
            refused=greedy == [201] * 20 + [429] * 5, endpoint_not_asked=not asked,
            memory_MiB=(round((server.rss - before) / 2**20), 64), disk_MiB=(round((server.disk - disk) / 2**20), 64))

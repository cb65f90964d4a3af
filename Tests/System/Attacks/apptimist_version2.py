"""One address does with version 2 what costs the server most: handshakes without a login, logins by ever new keys and
devices, one message over and over, posts that the server opens and seals anew, a stream that is not read and never
acknowledged, and pages of long lists.
"""

import itertools
import pathlib

from attack import ATTACKER, CANARY, Canary, Server, attack_apart, verdict
from Apptimist.device import CONFIGURATION, Service, User, count
from Apptimist.device2 import Device2

READERS = 200


def bystander(service: Service):
    """Logs in over a new connection, and sends a message to itself."""
    user, times = User("bystander"), itertools.count(1)
    with Device2(service, user, CANARY) as device:
        device.join()

    def call():
        with Device2(service, user, CANARY, timeout=5) as device:
            if device.login(max=1).error:
                return False
            return device.request("message", bytes(100), **device.message_fields(user.key, next(times))).error == 0
    return call


def peak(server: Server) -> int:
    """The most memory that the program has taken, in bytes."""
    lines = pathlib.Path("/proc", str(server.pid), "status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


with Server(CONFIGURATION) as server:
    service = Service(server)
    own = Device2(service, User("attacker"), ATTACKER).join()
    closed = [Device2(service, User("reader"), ATTACKER).join(flags=1) for _ in range(READERS)]
    forum = own.make_forum([reader.user.key for reader in closed])
    post = own.sealed(b"x" * 1000, forum.key, 1, kind=2)
    held: list[Device2] = []
    times = itertools.count(2)

    def handshake():
        held.append(Device2(service, User(), ATTACKER))
        if len(held) > 300:
            held.pop(0).close()

    def login():
        with Device2(service, User(), ATTACKER) as device:
            device.join()

    def device_of_one_user():
        with Device2(service, own.user, ATTACKER) as device:
            device.login(after=0)
            device.ask("ack", is_answered=False, position=0)

    def session(body):
        """Does something over and over in a session of its own."""
        sessions: list[Device2] = []

        def call():
            if not sessions:
                device = Device2(service, own.user, ATTACKER)
                device.login(max=1)
                sessions.append(device)
            try:
                body(sessions[0])
            except OSError:
                sessions.pop().close()
                raise
        return call

    def again(device: Device2):
        for _ in range(20):
            device.ask("message", post, **device.message_fields(forum.key, 1))
        for _ in range(20):
            device.answer()

    def seal(device: Device2):
        time = next(times)
        device.request("message", device.sealed(b"y" * 1000, forum.key, time, kind=2),
                       **device.message_fields(forum.key, time))

    def wrong(device: Device2):
        for _ in range(20):
            device.ask("message", post[:-1] + b"x", **device.message_fields(forum.key, 1))
        for _ in range(20):
            device.answer()

    def unread(device: Device2):
        # Its stream is what the others send to the reader; nothing of it is read here.
        device.ask("message", bytes(10_000), is_answered=False, **device.message_fields(device.user.key, next(times)))

    def pages(device: Device2):
        for text in ("reader", "*"):
            device.request("searchByName", name=text, max=1)
        device.request("vouchers", subjectPubEncrKey=device.user.key, max=1)

    own.request("message", post, **own.message_fields(forum.key, 1))
    before, disk = server.rss, server.disk
    with Canary(server, bystander(service)) as canary:
        attack_apart([handshake, login, device_of_one_user, *map(session, (again, seal, wrong, unread, pages))], 18)
    rows = "SELECT max(n) FROM (SELECT count(*) AS n FROM apptimist_devices GROUP BY owner)"
    twice = "SELECT count(*) FROM (SELECT 1 FROM apptimist_entries WHERE kind = 0 GROUP BY owner, message_id HAVING count(*) > 1)"
    verdict("apptimist_version2", canary, memory_MiB=(round((peak(server) - before) / 2**20), 64),
            disk_MiB=(round((server.disk - disk) / 2**20), 512), devices_of_a_user=(1, count(server, rows), 64),
            queued_twice=(count(server, twice), 0))

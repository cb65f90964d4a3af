"""Full mailboxes that hold two messages of each of 5,000 senders: every message more looks for the one to go."""

import os

from attack import ATTACKER, CANARY, Canary, Server, attack, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User, database, plant_users, writer

MAILBOXES, SENDERS = 24, 5_000


def fill(server, users: list[int]):
    with database(server) as opened:
        header, rows, shares, known = bytes(106), [], [], []
        last = (opened.execute("SELECT max(id) FROM apptimist_contents").fetchone()[0] or 0)
        opened.execute("INSERT INTO apptimist_contents VALUES (?, ?, 1, x'', ?, x'00')",
                       (last + 1, len(users) * SENDERS * 2, header))
        opened.execute("UPDATE apptimist_settled SET before = ?", (last + 2,))
        for user in users:
            for position in range(1, 2 * SENDERS + 1):
                message = os.urandom(64)
                rows.append((user, position, 0, 10**6 + position % SENDERS, 107, last + 1, message))
                known.append((user, message[:16], position))
            shares += [(user, 10**6 + sender, 2, 214, sender or SENDERS) for sender in range(SENDERS)]
        opened.executemany("INSERT INTO apptimist_entries (owner, position, kind, sender, size, content, message_id) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        opened.executemany("INSERT INTO apptimist_message_ids (owner, message_id, position) VALUES (?, ?, ?)", known)
        opened.executemany("INSERT INTO apptimist_shares VALUES (?, ?, ?, ?, ?)", shares)
        opened.executemany("UPDATE apptimist_queues SET last_position = ?, entries = ?, bytes = ? WHERE owner = ?",
                           [(2 * SENDERS, 2 * SENDERS, 2 * SENDERS * 107, user) for user in users])


with Server(CONFIGURATION) as server:
    server.stop()
    keys = plant_users(server, MAILBOXES)
    with database(server) as opened:
        users = [row[0] for row in opened.execute("SELECT owner FROM apptimist_queues ORDER BY owner")]
    fill(server, users[-MAILBOXES:])
    server.start()
    service = Service(server)
    devices = [Device(service, User("attacker"), ATTACKER).join() for _ in range(2)]
    posts = [0]

    def post(device: Device):
        def body():
            for key in keys:
                device.post(key, b"x")
            device.barrier()
            posts[0] += len(keys)
        return body

    with Canary(server, writer(service, CANARY)) as canary:
        attack([post(device) for device in devices], 10)
    verdict("apptimist_senders", canary, posts=(5_000, posts[0], None))

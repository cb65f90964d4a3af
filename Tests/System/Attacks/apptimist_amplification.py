"""A forum whose secret the service has, and 1,000 subscribers who never agreed: each byte is stored a thousand times."""

import os
import time

from attack import ATTACKER, CANARY, Canary, Server, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User, plant_users, writer

with Server(CONFIGURATION) as server:
    server.stop()
    readers = plant_users(server, 1_000)
    server.start()
    service = Service(server)
    device = Device(service, User("author"), ATTACKER, timeout=30).join()
    forum = device.make_forum(readers, escrow=True)
    before, sent = server.disk, 0
    with Canary(server, writer(service, CANARY)) as canary:
        end = time.monotonic() + 12
        while time.monotonic() < end:
            for _ in range(4):
                device.post(forum.key, os.urandom(32 << 10))
                sent += 32 << 10
            device.barrier()
    # The quota of an hour, and as much again for the log and the database's pages.
    verdict("apptimist_amplification", canary, sent_MiB=(1, round(sent / 2**20, 1), None),
            disk_MiB=(round((server.disk - before) / 2**20), 512))

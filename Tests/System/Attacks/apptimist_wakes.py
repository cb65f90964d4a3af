"""A post to a forum with 10,000 readers, all of whom sleep and are to be woken by a push; then more posts, which wake nobody."""

import os
import time

from attack import ATTACKER, CANARY, Canary, Server, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User, database, plant_users, writer

READERS = 10_000


def plant_addresses(server):
    """Binds an address of FCM to a device of each user, in the database of a server that isn't running."""
    now = round(time.time() * 1000)
    with database(server) as opened:
        rows = [(owner, os.urandom(16)) for owner, in opened.execute("SELECT id FROM apptimist_users")]
        opened.executemany(
            "INSERT INTO apptimist_addresses (owner, device, outbox, kind, address, tag, flags, keys, bound_at, shown_at, noted_at) "
            "VALUES (?, ?, ?, 2, ?, ?, 0, x'', ?, ?, ?)",
            [(owner, device, owner.to_bytes(8, "big") + device, b"token:" + device.hex().encode(), device[:8], now, now, now)
             for owner, device in rows])


with Server(CONFIGURATION + f'push = "log"\nreserved_keys = {READERS}\nforum_posts_size = "1TiB"\n') as server:
    server.stop()
    readers = plant_users(server, READERS)
    plant_addresses(server)
    server.start()
    service = Service(server)
    device = Device(service, User("author"), ATTACKER, timeout=60).join()
    forum = device.make_forum(readers)
    mails = writer(service, CANARY)
    mails()
    before = server.rss
    with Canary(server, mails) as canary:
        time.sleep(1)
        start = time.monotonic()
        device.post(forum.key, os.urandom(200))
        device.barrier()
        posted = time.monotonic() - start
        queued = server.metric("awd_apptimist_wakes_total")
        while server.metric("awd_push_outbox") > 0 and time.monotonic() < start + 25:
            time.sleep(0.2)
        pushed = time.monotonic() - start
        # All in the same burst.
        start = time.monotonic()
        for _ in range(5):
            device.post(forum.key, os.urandom(200))
            device.barrier()
        later = (time.monotonic() - start) / 5
    verdict("apptimist_wakes", canary, queued=(READERS, round(queued), READERS),
            woken=(READERS, round(server.metric("awd_apptimist_wakes_total")), READERS),
            posted_s=(round(posted, 2), 5), pushed_s=(round(pushed, 2), 20), later_post_s=(round(later, 2), 5),
            grown_MiB=(round((server.rss - before) / 2**20), 64))

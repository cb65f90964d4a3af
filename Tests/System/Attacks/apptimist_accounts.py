"""One address with a hundred accounts searches by patterns and writes files: others search, and the disk has a bound."""

import os
import threading
import time

from Apptimist.device import CONFIGURATION, Device, Service, User, database, plant_users, wire
from attack import ATTACKER, CANARY, Canary, Server, verdict

ACCOUNTS = 100
QUOTA = 16 << 20

with Server(CONFIGURATION + f'messages_size_per_address = "{QUOTA >> 20}MiB"\n') as server:
    server.stop()
    plant_users(server, 20_000)
    with database(server) as opened:
        opened.execute("UPDATE apptimist_users SET search_name = CAST(? AS BLOB)", ("a" * 60,))
    server.start()
    service = Service(server)
    devices = [Device(service, User("attacker"), ATTACKER).join() for _ in range(ACCOUNTS)]
    bystander = Device(service, User("bystander"), CANARY, timeout=5).join()

    def call():
        bystander.send("searchByName", name="*der", maxUsers=5)
        bystander.answer("user")

    def write(part):
        for device in part:
            content = wire.box(os.urandom(900_000), service.nonce, wire.shared_key(service.key, device.user.secret))
            for number in range(3):
                try:
                    device.send("write", content, pubEncrKey=device.user.key, filename=f"f{number}")
                except OSError:
                    break

    before = server.disk
    for device in devices[:ACCOUNTS // 2]:
        for _ in range(40):
            device.send("searchByName", name="*ab", maxUsers=0)
    with Canary(server, call) as canary:
        threads = [threading.Thread(target=write, args=(devices[start::4],), daemon=True) for start in range(ACCOUNTS // 2, ACCOUNTS // 2 + 4)]
        for thread in threads:
            thread.start()
        time.sleep(12)
    verdict("apptimist_accounts", canary, disk_MiB=((server.disk - before) >> 20, 3 * QUOTA >> 20))

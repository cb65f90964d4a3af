"""Sixty sessions of one account ask for files of 900 KB again and again, and read no answer."""

import os
import threading
import time

from Apptimist.device import CONFIGURATION, Device, Service, User, writer
from attack import ATTACKER, CANARY, Canary, Server, verdict

with Server(CONFIGURATION) as server:
    service = Service(server)
    call = writer(service, CANARY)
    owner = User("attacker")
    devices = [Device(service, owner, ATTACKER).join()]
    assert devices[0].write(owner.key, "large", os.urandom(900_000)) == 0
    for _ in range(59):
        device = Device(service, owner, ATTACKER)
        device.login()
        device.barrier()
        devices.append(device)
    before = most = server.rss

    def ask(device):
        device.socket.settimeout(1)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                for _ in range(50):
                    device.send("read", pubEncrKey=owner.key, filename="large")
            except TimeoutError:
                pass
            except OSError:
                return

    for device in devices:
        threading.Thread(target=ask, args=(device,), daemon=True).start()
    with Canary(server, call) as canary:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            most = max(most, server.rss)
            time.sleep(0.1)
    verdict("apptimist_unread", canary, sessions=(60, len(devices), None), grown_MiB=((most - before) >> 20, 128))

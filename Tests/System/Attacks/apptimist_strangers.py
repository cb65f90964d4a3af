"""Six hundred sockets of one address fill Apptimist with all but the end of a message of 1 MiB, and nobody logs in."""

import time

from attack import ATTACKER, CANARY, Canary, Server, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User

MESSAGE = bytes(1 << 20)


def bystander(service: Service):
    """Logs in over a new connection, and sends a message of 64 KiB that another session gets."""
    reader = Device(service, User("reader"), CANARY).join()

    def call():
        with Device(service, User("bystander"), CANARY, timeout=5) as device:
            device.join()
            device.post(reader.user.key, bytes(65536))
            device.barrier()
        reader.answer("message")
    return call


def stranger(service: Service):
    device = Device(service, User(), ATTACKER)
    device.socket.settimeout(0.2)
    try:
        device.socket.sendall(Device.frame(MESSAGE[:-1], length=len(MESSAGE)))
    except OSError:
        pass
    return device


with Server(CONFIGURATION) as server:
    service = Service(server)
    call = bystander(service)
    call()
    before, most, held = server.rss, 0, []
    with Canary(server, call) as canary:
        end = time.monotonic() + 12
        while time.monotonic() < end:
            try:
                held.append(stranger(service))
            except OSError:
                time.sleep(0.01)
            if len(held) > 600:
                held.pop(0).close()
            most = max(most, server.rss)
    verdict("apptimist_strangers", canary, memory_MiB=(round((most - before) / 2**20), 64), sockets=(100, len(held), None))

"""One address fills the mailboxes of its own free accounts: its site comes to a bound, and others go on."""

import itertools

from attack import ATTACKER, Canary, Server, attack, verdict
from Apptimist.device import CONFIGURATION, Service, User, writer
from Apptimist.device2 import Device2

BOUND = 24 << 20

with Server(CONFIGURATION + f'stored_size_per_address = "{BOUND >> 20}MiB"\n') as server:
    service = Service(server)
    devices = [Device2(service, User("attacker"), ATTACKER).join() for _ in range(2)]
    numbers, outcomes = itertools.count(1), []

    def fill(device: Device2):
        def body():
            to, number = device.user.key, next(numbers)
            data = bytes(1_000_000)
            outcomes.append(device.request("message", data, **device.message_fields(to, number)).error)
        return body

    before = server.disk
    with Canary(server, writer(service, "127.0.1.2")) as canary:
        attack([fill(device) for device in devices], 10)
    verdict("apptimist_stored_size", canary, taken=(10, outcomes.count(0), BOUND // 1_000_000),
            refused=(1, outcomes.count(5), None), others=set(outcomes) <= {0, 5},
            disk_MiB=((server.disk - before) >> 20, 4 * BOUND >> 20))

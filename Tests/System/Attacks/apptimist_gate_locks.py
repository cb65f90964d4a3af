"""An author keeps the readers of thirty gated forums locked: the readers of others' forums are checked all the same."""

import time

from attack import ATTACKER, CANARY, Canary, Server, verdict
from Apptimist.device import CONFIGURATION, Service, User, writer
from Apptimist.device2 import Device2

GATE = b"eip155:1/erc20:0x" + b"ab" * 20 + b" 1"
FORUMS = 30


def gated(device: Device2, reader: bytes) -> tuple[User, list[int]]:
    forum = device.make_forum([reader])
    return forum, [device.request("write", GATE, pubEncrKey=forum.key, filename="gate").error]


with Server(CONFIGURATION + 'gate_interval = "1s"\n[chains]\n1 = "http://127.0.0.1:9"\n') as server:
    service = Service(server)
    attacker = Device2(service, User("attacker"), ATTACKER).join()
    owner = Device2(service, User("owner"), "127.0.1.2").join()
    reader = Device2(service, User("reader"), "127.0.1.2").join()
    errors = []
    for _ in range(FORUMS):
        forum, outcome = gated(attacker, reader.user.key)
        errors += outcome + [attacker.request("lock", pubEncrKey=forum.key, filename="subscribers").error]
    start = time.monotonic()
    forum, outcome = gated(owner, reader.user.key)
    # Nobody has proved an address: the reader goes without a question to the chain.
    with Canary(server, writer(service, CANARY)) as canary:
        while time.monotonic() < start + 20:
            readers = owner.request("read", pubEncrKey=forum.key, filename="subscribers")
            if not readers.error and not readers.data:
                break
            time.sleep(0.2)
    too_many = [gated(attacker, reader.user.key)[1][0] for _ in range(3)]
    verdict("apptimist_gate_locks", canary, locked=not any(errors + outcome), checked_in_s=(time.monotonic() - start, 12),
            bounded=too_many[-1] == 5)

"""One account makes forums and deletes them: the keys stay taken."""

from attack import ATTACKER, CANARY, Canary, Server, attack, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User, count, writer

with Server(CONFIGURATION) as server:
    service = Service(server)
    device, made = Device(service, User("author"), ATTACKER).join(), [0]

    def make():
        for _ in range(50):
            forum = User("forum")
            device.new(forum)
            device.send("del", pubEncrKey=forum.key)
        device.barrier()
        made[0] += 50

    with Canary(server, writer(service, CANARY)) as canary:
        attack([make], 10)
    verdict("apptimist_tombstones", canary, asked_for=(1_500, made[0], None),
            rows=(count(server, "SELECT count(*) FROM apptimist_users"), 1_000 + 2))

"""One address opens connections with fresh keys in a row: without a login, and with that of one account."""

from attack import ATTACKER, CANARY, Canary, Server, attack, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User, count, writer

with Server(CONFIGURATION) as server:
    service = Service(server)
    rows = "SELECT count(*) FROM apptimist_ephemeral_keys"
    own, strangers = User("attacker"), [0, 0]

    def without_login():
        with Device(service, own, ATTACKER) as device:
            device.new()
            # An answer that never comes would be awaited: the handshake and the first header are all that it takes.
        strangers[0] += 1

    def with_login():
        with Device(service, own, ATTACKER) as device:
            device.join()
        strangers[1] += 1

    with Canary(server, writer(service, CANARY)) as canary:
        attack([without_login] * 4, 6)
        stored = count(server, rows)
        attack([with_login] * 4, 6)
    # A tenth of the keys that one account may have, so that it doesn't take an hour.
    verdict("apptimist_handshakes", canary, without_login=(100, strangers[0], None), rows_without_login=(stored, 2),
            logins=(100, strangers[1], None), rows_of_one_account=(count(server, rows), 4096 + 2))

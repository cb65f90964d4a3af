"""An account vouches for two thousand others, and accounts are made under names that look like others or like nothing."""

from attack import ATTACKER, CANARY, Canary, Server, attack, verdict
from Apptimist.device import CONFIGURATION, Service, User, count, plant_users, writer
from Apptimist.device2 import Device2, wire

NAMES = ["anna\N{VARIATION SELECTOR-16}", "anna\N{ZERO WIDTH JOINER}", "\N{HANGUL FILLER}", "anna ", " anna",
         "\N{BRAILLE PATTERN BLANK}", "an\N{COMBINING GRAPHEME JOINER}na", "an\N{NO-BREAK SPACE}na", "\U000E0061"]

with Server(CONFIGURATION + 'refusal_min = "0s"\nrefusal_max = "0s"\n') as server:
    server.stop()
    keys = plant_users(server, 2_000)
    server.start()
    service = Service(server)
    greedy = Device2(service, User("greedy"), ATTACKER).join()
    outcomes = []

    def vouch():
        if len(outcomes) < len(keys):
            key = keys[len(outcomes)]
            signed = wire.label("vouch") + service.key + greedy.user.key + key
            signature = wire.sign(signed, greedy.user.seed)
            outcomes.append(greedy.request("vouch", subjectPubEncrKey=key, signature=signature).error)

    with Canary(server, writer(service, CANARY)) as canary:
        attack([vouch], 12)
    names = [Device2(service, User(name), ATTACKER).new() for name in NAMES]
    good = [Device2(service, User(name), ATTACKER).new() for name in ("Änna Maria", "安娜", "anna")]
    rows = count(server, "SELECT count(*) FROM apptimist_vouchers")
    verdict("apptimist_vouches", canary, vouchers=(rows, 1_000), tried=(1_001, len(outcomes), None),
            refused=outcomes[-1] == 5, names_refused=names == [4] * len(NAMES), names_taken=not any(good))

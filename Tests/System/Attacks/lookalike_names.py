#!/usr/bin/python3
"""lookalike_names.py AWD: strangers register names that look like "Bank" on both services' wires, with characters that nobody
sees and blanks that nobody counts. None is taken; names of other scripts and with marks that are seen are."""

import json
import time

from attack import Canary, Server, verdict
from Apptimist.device import Service, User
from Apptimist.device2 import Device2

TOML = """[server]
services = ["msgr", "apptimist"]
[log]
level = "warning"
[msgr]
password_memory = "8KiB"
password_passes = 1
registrations_burst = 1000
registrations_per_day = 1000
[apptimist]
refusal_min = "0s"
refusal_max = "0s"
"""
# A variation selector, two Hangul fillers, the combining grapheme joiner, a no-break space, the blank of Braille, blanks at the
# ends, two and an unusual one, a tag, joiners, marks of direction, a soft hyphen, and nothing that is seen at all.
ALIKE = [
    "Bank\ufe0f", "Ba\u3164nk", "\u115fBank", "Ba\u034fnk", "Ba\u00a0nk", "Bank\u2800", " Bank", "Bank ", "Ba  nk", "Ba\u2003nk",
    "Bank\U000e0041", "Ba\u200bnk", "Ba\u200dnk", "\u202eBank", "Bank\u200e", "Ba\u00adnk", "Bank\ufeff", "\u3164", "\u2800\u2800"]
GOOD = ["Bank", "Änne", "Банк", "銀行", "Ana María", "नमस्ते"]


def main():
    with Server(TOML) as server:
        service = Service(server)

        def msgr(name: str, source: str = "127.0.1.3") -> bool:
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{time.monotonic_ns():020}"}
            return server.request("POST", "/register", json.dumps(fields).encode(), source=source).status == 200

        def second(name: str) -> bool:
            with Device2(service, User(name), "127.0.1.3") as device:
                return device.new() == 0

        with Canary(server) as canary:
            alike = {wire.__name__: [name for name in ALIKE if wire(name)] for wire in (msgr, second)}
            good = {wire.__name__: [name for name in GOOD if not wire(name)] for wire in (msgr, second)}
        verdict("lookalike_names", canary, msgr=(len(alike["msgr"]), 0), apptimist=(len(alike["second"]), 0),
                refused_for_nothing=(len(good["msgr"]) + len(good["second"]), 0))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""msgr_names.py AWD: two addresses ask without pause which names are taken, without an invitation where none is needed, and
with a good one. They learn as many as they may make accounts, five a minute each, and a bystander registers meanwhile."""

import json
import threading

from attack import CANARY, Canary, Server, attack, verdict

TOML = '[server]\nservices = ["msgr"]\n[log]\nlevel = "warning"\n[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\nregistrations_burst = 5\n'
SOURCES, SECONDS = ["127.0.0.3", "127.0.0.4"], 5


def learn(signup: str) -> tuple[int, int, int, Canary]:
    """Returns the answers that told something, those in all, and the bystander's status."""
    with Server(TOML + f'signup = "{signup}"\n') as server:
        invitation = server.run("invite", "new", "--service", "msgr", "--uses", "1000").stdout.decode().split()[0]
        told, asked, lock = [0], [0], threading.Lock()

        def register(name, source):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-00000001",
                      "Invitation": invitation}
            return server.request("POST", "/register", json.dumps(fields).encode(), source=source).status

        def log_in():
            fields = {"Username": "anna", "Password": "a password", "DeviceID": "stream:anna-00000001"}
            return server.request("POST", "/login", json.dumps(fields).encode(), source=CANARY).status == 200

        assert register("anna", CANARY) == 200

        def guess(source):
            status = register("anna", source)
            with lock:
                told[0] += status in (200, 403)
                asked[0] += 1

        with Canary(server, log_in) as canary:
            attack([lambda source=source: guess(source) for source in SOURCES * 4], SECONDS)
        return told[0], asked[0], register("bert", CANARY), canary


def main():
    open_told, open_asked, open_other, _ = learn("open")
    told, asked, other, canary = learn("invite")
    most = 5 * len(SOURCES)
    verdict("msgr_names", canary, told=(open_told, most), asked=(1000, open_asked, None), told_with_invitation=(told, most),
            asked_with_invitation=(1000, asked, None), bystander=(open_other == other == 200))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""msgr_invitations.py AWD: all networks of a /48, and hundreds of addresses of other sites, guess invitations of Msgr without pause,
one of them beside names that are taken. Bystanders who were invited sign up all the time, each elsewhere, and each invitation is
good once."""

import itertools
import json
import secrets

from attack import Canary, Server, attack_apart, verdict

INVITED, SECONDS = 60, 12
TOML = """
[server]
services = ["msgr"]
trusted_proxies = ["127.0.0.1"]
[log]
level = "warning"
[msgr]
signup = "invite"
password_memory = "1MiB"
password_passes = 1
"""


def main():
    with Server(TOML) as server:
        made = server.run("invite", "new", "--json", "--service", "msgr", "--uses", str(INVITED))
        assert made.returncode == 0, made.stderr
        invitation = json.loads(made.stdout)["token"]
        once = json.loads(server.run("invite", "new", "--json", "--service", "msgr").stdout)["token"]

        def register(name, source, token):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{abs(hash(name)):020}", "Invitation": token}
            return server.request("POST", "/register", json.dumps(fields).encode(), {"X-Forwarded-For": source},
                                  source="127.0.0.1").status

        turns, newcomers = itertools.count(), itertools.count()

        def guess():
            number = next(turns)
            source = f"2001:db8:7:{number % 65536:x}::1" if number % 2 else f"10.{number % 40}.{number // 40 % 10}.1"
            register("newcomer 0" if number % 3 else f"guess {number}", source, secrets.token_hex(16))

        def sign_up():
            number = next(newcomers)
            return register(f"newcomer {number}", f"172.16.{number}.1", invitation) == 200

        uses = [register(f"once {number}", f"192.0.2.{number}", once) for number in range(4)]
        one = [register(f"one {number}", "198.51.100.1", secrets.token_hex(16)) for number in range(30)]
        before = server.rss
        with Canary(server, sign_up, interval=0.25) as canary:
            attack_apart([guess] * 12, SECONDS)
        verdict("msgr_invitations", canary, used_once=uses == [200, 403, 403, 403], made_by_guesses=one.count(200) == 0,
                bounded=one[-1] == 429, signed_up=(20, canary.calls, INVITED), grown_MiB=((server.rss - before) >> 20, 64))


if __name__ == "__main__":
    main()

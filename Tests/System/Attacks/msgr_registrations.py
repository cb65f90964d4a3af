#!/usr/bin/python3
"""msgr_registrations.py AWD: one address makes accounts without pause and guesses passwords, and 200 more make accounts as
fast as each may. Users whose passwords aren't remembered log in all the same: logins come before registrations, and an
address makes five accounts a minute."""

import itertools
import json
import multiprocessing
import os

from attack import CANARY, Canary, Server, attack, verdict

# A check takes about 20 ms of a core; nothing is remembered, so that each login of the bystander is a check.
TOML = """
[server]
services = ["msgr"]
[log]
level = "warning"
[msgr]
password_memory = "16MiB"
password_passes = 2
password_cache = "0s"
registrations_burst = 5
"""
SECONDS = 12


def post(server, path, fields, source):
    return server.request("POST", path, json.dumps(fields).encode(), source=source)


def main():
    with Server(TOML) as server:
        numbers = itertools.count()
        context = multiprocessing.get_context("fork")
        made = context.Value("i", 0)

        def register(name, source):
            fields = {"Username": name, "Password": "correct horse", "DeviceID": f"stream:{name}-0001"}
            return post(server, "/register", fields, source).status

        def make_accounts_from_one():
            if register(f"greedy{next(numbers)}", "127.0.0.3") == 200:
                with made.get_lock():
                    made.value += 1

        def make_accounts_from_many():
            number = next(numbers)
            register(f"many{number}", f"127.0.1.{1 + number % 200}")

        def guess():
            post(server, "/contacts", {"Username": f"user{next(numbers)}", "Password": "x"}, "127.0.0.3")

        def log_in():
            fields = {"Username": "bert", "Password": "correct horse", "DeviceID": "stream:bert-0001"}
            return post(server, "/login", fields, CANARY).status == 200

        def do_the_worst():
            """Attacks in a process of its own, so that the canary doesn't wait for the attackers' Python."""
            os.nice(19)
            attack([make_accounts_from_one] * 2 + [make_accounts_from_many] * 40 + [guess] * 4, SECONDS)

        assert register("bert", CANARY) == 200
        attackers = context.Process(target=do_the_worst, daemon=True)
        with Canary(server, log_in, interval=0.25) as canary:
            attackers.start()
            attackers.join(SECONDS)
        attackers.kill()
        verdict("msgr_registrations", canary, made_by_one=(made.value, 6))


if __name__ == "__main__":
    main()

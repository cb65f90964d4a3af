#!/usr/bin/python3
"""failover.py AWD: ends the primary server below two nodes of the program AWD as if the power had gone, and promotes its standby.

The standby is a synchronous one. Clients write all the time and try again what is refused. Nothing acknowledged may be
missing, and the nodes must find the new primary by themselves, by the URL that names both servers.

FAILOVERS (3) sets the number of rounds, AWD_TEST_SEED the seed of what is random.
"""

import asyncio
import os
import random

from load import Load, complete
from nodes import Broken, Node, PostgreSQL, main, programs, run as run_program, owner, start_all, temporary_folder, wait_until

SEED = int(os.environ.get("AWD_TEST_SEED", random.getrandbits(32)))
ROUNDS = int(os.environ.get("FAILOVERS", 3))
LOAD_BEFORE, LOAD_AFTER = 6, 10
# Seconds until somebody promotes the standby: requests that wait for it, and such that are refused.
DELAYS = [0, 2, 8]
# Nothing may wait longer for the new primary than until it is there, and some seconds.
LONGEST = 5


def pair(folder, number: int) -> tuple[PostgreSQL, PostgreSQL]:
    """A primary, and a standby that has to have what is acknowledged."""
    primary = PostgreSQL(folder, f"a{number}")
    primary.make()
    primary.start()
    standby = PostgreSQL(folder, f"b{number}")
    standby.copy(primary, "standby")
    standby.start()
    primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    primary.query("SELECT pg_reload_conf()")
    wait_until(lambda: primary.query("SELECT sync_state FROM pg_stat_replication") == "sync", "the synchronous standby")
    return primary, standby


async def round_of(program: str, folder, number: int) -> str:
    primary, standby = pair(folder, number)
    primary.make_database("n")
    url = f"postgresql://awd@/n?host={primary.folder},{standby.folder}&target_session_attrs=read-write"
    nodes = [Node(program, folder, url, f"n{number}{letter}", data=f"data{number}") for letter in "xy"]
    start_all(nodes)
    load = Load([node.url for node in nodes], SEED + number, pause=0.02)
    await load.begin()
    await load.wait(LOAD_BEFORE)
    before = load.acknowledged.count
    await asyncio.to_thread(primary.end)
    delay = DELAYS[number % len(DELAYS)]
    await load.wait(delay)
    # The copy was made before the primary had a standby named, and so the standby waits for none.
    await asyncio.to_thread(run_program, ["setpriv", *owner(), programs() / "pg_ctl", "promote", "-s", "-D", standby.data])
    await load.wait(LOAD_AFTER)
    if load.acknowledged.count == before:
        raise Broken(f"nothing was acknowledged in the {LOAD_AFTER} s after the promotion:\n{nodes[0].said()}")
    await load.end()
    if standby.query("SELECT pg_is_in_recovery()") != "f":
        raise Broken("the standby isn't the primary")
    if load.acknowledged.longest > delay + LONGEST:
        raise Broken(f"nothing was acknowledged for {load.acknowledged.longest:.1f} s, {delay} s of it without a primary")
    for node in nodes:
        node.stop()
    standby.end()
    return f"{load.figures()}, promoted after {delay} s"


async def run(program: str):
    folder = temporary_folder()
    for number in range(ROUNDS):
        print(f"failover {number + 1}/{ROUNDS}: {await round_of(program, folder, number)}, seed {SEED}", flush=True)


def test(program: str):
    complete(run(program))


if __name__ == "__main__":
    main(test)

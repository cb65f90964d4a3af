#!/usr/bin/python3
"""failover.py AWD: ends the primary server below two nodes of the program AWD as if the power had gone, and promotes its standby.

The standby is a synchronous one. Clients write all the time and try again what is refused. Nothing acknowledged may be
missing, the nodes must find the new primary by themselves, by the URL that names both servers, and all must be as quick as
before.

Then one takes over that is asynchronous and lacks the last messages. What comes after that gets their positions again, and must
come to a device with its old place, and to one whose session was open all the time.

FAILOVERS (3) sets the number of rounds, AWD_TEST_SEED the seed of what is random.
"""

import asyncio
import itertools
import os
import random

from load import FAILURES, Identity, Load, Service, ask, complete
from apptimist2_device import Device2
from nodes import Broken, Node, PostgreSQL, main, start_all, temporary_folder, wait_until
from pace import LOGGED, Pace

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
    nodes = [Node(program, folder, url, f"n{number}{letter}", data=f"data{number}", services=LOGGED)
             for letter in "xy"]
    start_all(nodes)
    pace = Pace(nodes)
    await pace.prepare()
    load = Load([node.url for node in nodes], SEED + number, pause=0.02)
    await load.begin()
    await load.wait(LOAD_BEFORE)
    before = load.acknowledged.count
    await asyncio.to_thread(primary.end)
    delay = DELAYS[number % len(DELAYS)]
    await load.wait(delay)
    # The copy was made before the primary had a standby named, and so the standby waits for none.
    await asyncio.to_thread(standby.promote)
    quick = await pace.check("the promotion")
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
    return f"{load.figures()}, promoted after {delay} s, all quick {quick:.1f} s later"


class Sender:
    """A device that sends until it is acknowledged, over whatever node takes it."""

    def __init__(self, nodes: list[Node], service: Service):
        self.nodes, self.service = itertools.cycle(nodes), service
        self.user, self.times, self.device = Identity("sender"), itertools.count(1), None

    async def send(self, to: bytes, count: int) -> set[int]:
        times = set()
        for _ in range(count):
            moment = next(self.times)
            while True:
                try:
                    if self.device is None:
                        self.device = await connect(next(self.nodes), self.service)
                        await self.device.new(self.user)
                        await self.device.login(self.user)
                    if (await self.device.message(to, self.device.sealed(b"text", to, moment), moment)).error == 0:
                        break
                except FAILURES:
                    self.device = None
                await asyncio.sleep(0.1)
            times.add(moment)
        return times


async def connect(node: Node, service: Service) -> Device2:
    service.url = "ws" + node.url.removeprefix("http") + "/siren"
    return await Device2.connect(service)


async def received(device: Device2, times: set[int], what: str):
    """All of what was sent at these times must come, and soon."""
    missing = set(times)
    try:
        while missing:
            missing.discard((await device.stream(10)).time)
    except FAILURES as failure:
        raise Broken(f"{what} misses {len(missing)} of {len(times)} acknowledged messages: {failure!r}") from None


async def lost_positions(program: str, folder) -> str:
    primary, standby = PostgreSQL(folder, "lost-a"), PostgreSQL(folder, "lost-b")
    primary.make()
    primary.start()
    standby.copy(primary, "standby")
    standby.start()
    primary.make_database("n")
    url = f"postgresql://awd@/n?host={primary.folder},{standby.folder}&target_session_attrs=read-write"
    nodes = [Node(program, folder, url, f"lost-{letter}", data="lost") for letter in "xy"]
    start_all(nodes)
    service = await Service.at("ws" + nodes[0].url.removeprefix("http") + "/siren")
    sender, reader = Sender(nodes, service), Identity("reader")
    open_session = await connect(nodes[0], service)
    await open_session.new(reader)
    epoch = (await open_session.login(reader, after=0)).epoch
    kept = await sender.send(reader.key, 2)
    await received(open_session, kept, "the session")
    wait_until(lambda: primary.query("SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()") == "1",
               "the standby has all")
    standby.query("ALTER SYSTEM SET primary_conninfo = ''")
    standby.query("SELECT pg_reload_conf()")
    wait_until(lambda: primary.query("SELECT count(*) FROM pg_stat_replication") == "0", "the standby is cut off")
    await received(open_session, await sender.send(reader.key, 5), "the session")
    place = 7
    await asyncio.to_thread(primary.end)
    await asyncio.to_thread(standby.promote)
    new = await sender.send(reader.key, 7)
    # One whose session was open is sent away, and comes again with its place like any other.
    try:
        while True:
            await open_session.next(20)
    except FAILURES as failure:
        if getattr(failure, "code", 0) != 1012:
            raise Broken(f"the open session isn't sent away: {failure!r}") from None
    for node in nodes:
        device = await connect(node, service)
        answer = await device.login(reader, epoch=epoch, after=place)
        if (answer.error, answer.start) != (0, 0) or answer.epoch == epoch:
            raise Broken(f"a device with its old place begins at {answer.start}, in the epoch {answer.epoch} after {epoch}")
        await received(device, kept | new, f"a device at {node.name}")
        await device.close()
    for node in nodes:
        node.stop()
    standby.end()
    return "a standby without the last messages: nothing that came later was missed"


async def run(program: str):
    folder = temporary_folder()
    for number in range(ROUNDS):
        print(f"failover {number + 1}/{ROUNDS}: {await round_of(program, folder, number)}, seed {SEED}", flush=True)
    print(f"failover: {await lost_positions(program, folder)}", flush=True)


def test(program: str):
    complete(run(program))


if __name__ == "__main__":
    main(test)

#!/usr/bin/python3
"""order.py AWD [SECONDS]: three nodes of the program AWD over one database, while nodes, connections and PostgreSQL end.

For SECONDS (600) clients write to and read from any of the nodes. Meanwhile nodes are ended by SIGKILL or stand still longer
than the others believe in them, backends are terminated, and PostgreSQL stops as if the power had gone, is restarted, stands still,
gives way to a standby, or, where root runs this, loses its network. Within 15 s of each fault's end all must be as quick as before.
At the end nothing acknowledged may be missing or there twice, each reader must have seen exactly the order of the mailbox, and
PostgreSQL may have seen no deadlock.

AWD_TEST_SEED sets the seed of what is random.
"""

import asyncio
import collections
import os
import random
import signal
import time

from load import Load, complete
from nodes import Broken, Node, PostgreSQL, cluster_of_two, main, wait_until
from pace import LOGGED, Pace

SEED = int(os.environ.get("AWD_TEST_SEED", random.getrandbits(32)))
# Longer than a node's row lives without being renewed.
STANDSTILL = 25


class Faults:
    """What goes wrong, one thing after the other. One node always runs."""

    def __init__(self, database: PostgreSQL, spare: PostgreSQL, nodes: list[Node], load: Load, pace: Pace):
        self.database, self.spare, self.nodes, self.load, self.pace = database, spare, nodes, load, pace
        self.slowest = 0.0
        self.usual = self.connections()
        self.chance = random.Random(SEED)
        self.counts: collections.Counter[str] = collections.Counter()

    async def run(self, seconds: float):
        end = time.monotonic() + seconds
        kinds = [self.kill] * 10 + [self.terminate] * 8 + [self.stop_database, self.restart_database] * 2
        kinds += [self.stand_still, self.database_stands_still, self.promote_synchronous, self.promote_asynchronous]
        if self.database.cable:
            kinds += [self.cut_network] * 3
        while time.monotonic() < end:
            await self.load.wait(self.chance.uniform(0.5, 4))
            fault = self.chance.choice(kinds)
            self.counts[fault.__name__] += 1
            await fault()
            self.slowest = max(self.slowest, await self.pace.check(fault.__name__))
            self.load.look()

    async def kill(self):
        node = self.chance.choice(self.nodes)
        node.kill()
        await asyncio.sleep(self.chance.choice([0, 0.5, 3]))
        node.begin()
        await self.load.ready(node)

    async def terminate(self):
        share = self.chance.choice([0.1, 0.5, 1])
        sql = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'n' AND random() < {share}"
        await asyncio.to_thread(self.database.query, sql)

    async def restart_database(self):
        await self.stop_database(signal.SIGINT)

    async def stop_database(self, how: signal.Signals = signal.SIGQUIT):
        await asyncio.to_thread(self.database.end, how)
        await asyncio.sleep(self.chance.choice([0, 1, 7]))
        self.database.begin()
        while not await asyncio.to_thread(self.database.is_ready):
            await asyncio.sleep(0.1)
        for node in self.nodes:
            await self.load.ready(node)

    async def promote_synchronous(self):
        """The primary ends as if the power had gone; the standby has all that was acknowledged."""
        await self.make_standby()
        # The copy is older than this line, and so waits for no standby of its own.
        self.database.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self.database.query("SELECT pg_reload_conf()")
        await asyncio.to_thread(wait_until, lambda: self.standby_state() == "sync", "the synchronous standby")
        await self.load.wait(1)
        await self.promote(signal.SIGQUIT)

    async def promote_asynchronous(self):
        """The primary ends in order, and so sends its standby all before: another one would lose what was acknowledged."""
        await self.make_standby()
        await self.promote(signal.SIGINT)

    async def make_standby(self):
        await asyncio.to_thread(self.spare.copy, self.database, "standby")
        await asyncio.to_thread(self.spare.start)
        await asyncio.to_thread(wait_until, self.standby_state, "the standby")

    def standby_state(self) -> str:
        return self.database.query("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")

    async def promote(self, how: signal.Signals):
        await asyncio.to_thread(self.database.end, how)
        await asyncio.sleep(self.chance.choice([0, 1, 7]))
        await asyncio.to_thread(self.spare.promote)
        self.database, self.spare = self.spare, self.database
        for node in self.nodes:
            await self.load.ready(node)

    async def database_stands_still(self):
        """As if its network were cut: nothing is answered, and nothing is closed."""
        processes = self.database.processes()
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            await self.load.wait(STANDSTILL / 2)
        finally:
            for process in reversed(processes):
                os.kill(process, signal.SIGCONT)
        for node in self.nodes:
            await self.load.ready(node)

    async def cut_network(self):
        """Nothing arrives, and nobody is told; for the longest time the connections are given up, and all nodes forgotten."""
        self.database.cable.pull_out()
        try:
            await self.load.wait(self.chance.choice([2, 8, STANDSTILL]))
        finally:
            self.database.cable.put_in()
        for node in self.nodes:
            await self.load.ready(node)
        # PostgreSQL isn't told that the connections of before have ended, either.
        await asyncio.to_thread(wait_until, lambda: self.connections() <= self.usual, "PostgreSQL gives old connections up")

    def connections(self) -> int:
        return int(self.database.query("SELECT count(*) FROM pg_stat_activity WHERE datname = 'n'", "n"))

    async def stand_still(self):
        node = self.chance.choice(self.nodes)
        node.process.send_signal(signal.SIGSTOP)
        try:
            await self.load.wait(STANDSTILL)
        finally:
            node.process.send_signal(signal.SIGCONT)
        await self.load.ready(node)


async def run(program: str, seconds: float):
    database, spare, nodes = cluster_of_two(program, 3, services=LOGGED)
    load = Load([node.url for node in nodes], SEED)
    pace = Pace(nodes)
    await pace.prepare()
    await pace.check("the start")
    faults = Faults(database, spare, nodes, load, pace)
    await load.begin()
    await faults.run(seconds)
    await load.end()
    for node in nodes:
        node.stop()
    # The second server has no log before it is needed.
    logs = [log for server in (database, spare) if (log := server.folder / "log").exists()]
    if any("deadlock detected" in log.read_text() for log in logs):
        raise Broken("PostgreSQL has seen a deadlock")
    print(f"order: {load.figures()}, all quick again within {faults.slowest:.1f} s of each fault, seed {SEED}, "
          + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(faults.counts.items())))


def test(program: str, seconds: str = "600"):
    complete(run(program, float(seconds)))


if __name__ == "__main__":
    main(test)

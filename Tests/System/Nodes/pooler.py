#!/usr/bin/python3
"""pooler.py AWD [SECONDS]: two nodes of the program AWD that reach PostgreSQL by PgBouncer, as the guide configures it.

The configuration is that of SeveralNodes.md, with addresses and files replaced. While clients write and stream for SECONDS (30),
PgBouncer is killed and started again. Nothing acknowledged may be lost, and who streams must miss nothing.

AWD_TEST_SEED sets the seed of what is random.
"""

import atexit
import os
import pathlib
import random
import re
import shutil
import subprocess

from load import Load, complete
from nodes import GUIDE, IS_ROOT, Broken, Node, PostgreSQL, bound_to_this, free_port, main, owner, start_all, \
    temporary_folder, wait_until

SEED = int(os.environ.get("AWD_TEST_SEED", random.getrandbits(32)))


class PgBouncer:
    def __init__(self, folder: pathlib.Path, database: PostgreSQL):
        self.folder = folder / "pgbouncer"
        self.folder.mkdir()
        self.port, self.port_keeper = free_port()
        block = re.search(r"^```pgbouncer\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
        if not block:
            raise Broken(f"{GUIDE.name} has no configuration of PgBouncer")
        lines = block[1]
        for old, new in {"host=db.example dbname=awd": f"host={database.folder} dbname=n", "= 6432": f"= {self.port}",
                         "scram-sha-256": "trust", "/etc/pgbouncer": str(self.folder)}.items():
            if old not in lines:
                raise Broken(f"{GUIDE.name}: the configuration of PgBouncer lacks {old}")
            lines = lines.replace(old, new)
        (self.folder / "pgbouncer.ini").write_text(f"{lines}unix_socket_dir =\n")
        (self.folder / "userlist.txt").write_text('"awd" ""\n')
        if IS_ROOT:
            shutil.chown(self.folder, "postgres", "postgres")
        self.process: subprocess.Popen | None = None
        atexit.register(self.kill)

    def start(self):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [*bound_to_this("KILL"), *owner(), "/usr/sbin/pgbouncer", "-q", self.folder / "pgbouncer.ini"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        wait_until(lambda: subprocess.run(["pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0,
                   "PgBouncer's start", 20)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


async def run(nodes: list[Node], pooler: PgBouncer, seconds: float):
    load = Load([node.url for node in nodes], SEED)
    await load.begin()
    for _ in range(2):
        await load.wait(seconds / 3)
        pooler.kill()
        await load.wait(1)
        pooler.start()
    await load.wait(seconds / 3)
    await load.end()
    print(f"pooler: {load.figures()}, seed {SEED}, 2 kills of PgBouncer")


def test(program: str, seconds: str = "30"):
    folder = temporary_folder()
    database = PostgreSQL(folder)
    database.make()
    database.start()
    database.make_database("n")
    pooler = PgBouncer(folder, database)
    pooler.start()
    nodes = [Node(program, folder, f"postgresql://awd@127.0.0.1:{pooler.port}/awd", f"n{number}") for number in (1, 2)]
    start_all(nodes)
    complete(run(nodes, pooler, float(seconds)))
    for node in nodes:
        node.stop()


if __name__ == "__main__":
    main(test)

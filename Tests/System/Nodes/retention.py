#!/usr/bin/python3
"""retention.py AWD [SECONDS]: three nodes of the program AWD, on which a message lasts for two seconds.

For SECONDS (180) clients send to a few inboxes, read them and mark them as read, at whatever node, while each node deletes what is
old once a minute. PostgreSQL may see no deadlock, no request may fail but for want of room, after which it is made again, and nothing
old may stay.
"""

import asyncio
import contextlib
import itertools
import json
import os
import time

from load import FAILURES, FIRST, ask, complete
from nodes import PASSWORD, SERVICES, Broken, cluster, main

AGE = 2
USERS, CLIENTS = 6, 16
# Seconds between two messages of a client: RETENTION_PAUSE, so that a run of hours leaves the machine to others, too.
PAUSE = float(os.environ.get("RETENTION_PAUSE", 0))


async def run(program: str, seconds: float):
    database, nodes = cluster(program, 3, services=SERVICES.replace("inbox_messages = 1000000", f'inbox_age = "{AGE}s"'))
    turns = itertools.cycle(nodes)
    tokens = []
    counts = [0, 0, 0]

    async def request(path: str, body: dict, token: str | None = None) -> dict | list:
        while True:
            with contextlib.suppress(*FAILURES):
                status, answer = await ask(next(turns).url, "POST", path, body, token)
                if status != 503:
                    break
            counts[2] += 1
            await asyncio.sleep(0.5)
        if status != 200:
            raise Broken(f"{path}: {status} {answer.decode()}")
        return json.loads(answer or b"{}")

    for number in range(USERS):
        body = {"Username": f"user{number}", "Password": PASSWORD, "DeviceID": os.urandom(32).hex()}
        tokens.append((await request("/register", body))["Token"])
    end = time.monotonic() + seconds

    async def send(client: int):
        for number in itertools.count():
            if time.monotonic() > end:
                break
            body = {"UserTo": f"user{(client + number) % USERS}", "Message": "x" * 50, "ClientId": f"{client}-{number}"}
            await request("/message", body, tokens[client % USERS])
            counts[0] += 1
            await asyncio.sleep(PAUSE)

    async def read(user: int):
        last = FIRST
        while time.monotonic() < end:
            for entry in await request("/inbox", {"Since": last}, tokens[user]):
                last = entry["Id"]
                counts[1] += 1
            await asyncio.sleep(0.05)

    await asyncio.gather(*map(send, range(CLIENTS)), *map(read, range(USERS)))
    # Each node deletes once a minute.
    await asyncio.sleep(65)
    for table in ("msgr_messages", "msgr_sent"):
        if (left := database.query(f"SELECT count(*) FROM {table}", "n")) != "0":
            raise Broken(f"{left} rows of {table} stay although they are old")
    for node in nodes:
        if "can't be deleted" in node.said():
            raise Broken(f"{node.name} couldn't delete:\n{node.said()}")
        node.stop()
    if "deadlock detected" in (database.folder / "log").read_text():
        raise Broken("PostgreSQL has seen a deadlock")
    print(f"retention: {counts[0]} messages, {counts[1]} read, {counts[2]} made again, no deadlock, nothing old stays")


def test(program: str, seconds: str = "180"):
    complete(run(program, float(seconds)))


if __name__ == "__main__":
    main(test)

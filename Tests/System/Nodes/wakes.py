#!/usr/bin/python3
"""wakes.py AWD: two nodes of the program AWD over one database wake the phones of Apptimist's users, whichever is asked what.

A phone that is bound at one node is woken once by a message that comes to the other; one that is unbound or shows itself there
isn't, also if its wake waits already; and the wakes that a killed node has queued go at the other one.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import sys
import time
import urllib.request

for folder in ("ApptimistTests/Python", "ApptimistProtocolTests/Vectors"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / folder))

from apptimist2_device import Device2
from apptimist_device import Identity, Service
from nodes import Broken, cluster, main

HOLD = 3  # seconds for which a wake waits while a session of the device is open
SERVICES = f"""
[apptimist]
push = "log"
wake_hold = "{HOLD}s"
wake_interval = "1s"
[push]
log_payloads = true
[msgr]
password_memory = "8KiB"
password_passes = 1
"""


def same(found, wanted, what: str):
    if found != wanted:
        raise Broken(f"{what}: {found} instead of {wanted}")


class Phones:
    def __init__(self, nodes, stack):
        self.nodes, self.stack = nodes, stack
        self.gone = []  # what a node had pushed before it was killed

    async def device(self, node, user: Identity, device_id: bytes = b"", new: bool = False) -> Device2:
        service = await Service.at(f"ws://127.0.0.1:{node.port}/siren")
        device = await Device2.connect(service)
        self.stack.push_async_callback(device.close)
        if device_id:
            device.id = device_id
        if new:
            same((await device.new(user)).error, 0, "new")
        same((await device.login(user)).error, 0, "login")
        return device

    def pushes(self, address: str) -> int:
        """The pushes to an address by all nodes."""
        found = list(self.gone)
        for node in self.nodes:
            if node.is_running:
                with urllib.request.urlopen(f"{node.url}/debug/pushes", timeout=10) as response:
                    found += json.load(response)
        return sum(push["DeviceID"] == address for push in found)

    async def woken(self, address: str, count: int, what: str, seconds: float = 10):
        end = time.monotonic() + seconds
        while self.pushes(address) < count and time.monotonic() < end:
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        same(self.pushes(address), count, what)


async def bind(device: Device2, address: str, error: int = 0):
    data = address.encode()
    fields = {"kind": 3, "tag": bytes(range(8)), "keyCount": 0, "addressLen": len(data)} if address else {}
    same((await device.request("push", data, **fields)).error, error, "push")


async def write(device: Device2, to: bytes, number: int):
    at = 1_700_000_000 + number
    same((await device.message(to, device.sealed(b"hello", to, at, 1), at)).error, 0, "message")


async def rules(nodes):
    here, there = nodes
    async with contextlib.AsyncExitStack() as stack:
        phones = Phones(nodes, stack)
        writer = await phones.device(here, Identity("writer"), new=True)
        number = iter(range(1, 1000))

        async def phone(name: str) -> tuple:
            user, address, device_id = Identity(name), "fcm:" + os.urandom(24).hex(), os.urandom(16)
            device = await phones.device(there, user, device_id, new=True)
            await bind(device, address)
            return user, address, device_id, device

        # Bound there, written to here.
        user, address, device_id, device = await phone("asleep")
        await device.close()
        await asyncio.sleep(1)
        for _ in range(5):
            await write(writer, user.key, next(number))
        await phones.woken(address, 1, "a burst for a sleeping phone")

        # Unbound there, written to here.
        device = await phones.device(there, user, device_id)
        await bind(device, "")
        await device.close()
        await asyncio.sleep(1)
        await write(writer, user.key, next(number))
        await phones.woken(address, 1, "after the phone is unbound", seconds=2)

        # A wake that waits goes with the binding.
        user, address, device_id, device = await phone("unbound")
        await write(writer, user.key, next(number))
        await bind(device, "")
        await device.close()
        await phones.woken(address, 0, "a wake that waited while the phone was unbound", seconds=HOLD + 2)

        # And with a login, which answers for all.
        user, address, device_id, device = await phone("awake")
        await write(writer, user.key, next(number))
        await (await phones.device(there, user, device_id)).close()
        await device.close()
        await phones.woken(address, 0, "a wake that waited while the phone logged in", seconds=HOLD + 2)

        # What a node has queued goes at the other one, once.
        asleep = [await phone(f"asleep {index}") for index in range(20)]
        for user, *_ in asleep:
            await write(writer, user.key, next(number))
        with urllib.request.urlopen(f"{here.url}/debug/pushes", timeout=10) as response:
            phones.gone = json.load(response)
        here.kill()
        for _, address, _, _ in asleep:
            await phones.woken(address, 1, "a wake of a killed node", seconds=30)
        here.start()
        await asyncio.sleep(2)
        phones.gone = [push for push in phones.gone if push]
        for _, address, _, _ in asleep:
            same(phones.pushes(address), 1, "a wake after the node came back")


def test(program: str):
    database, nodes = cluster(program, 2, services=SERVICES)
    asyncio.run(rules(nodes))
    print("ok")


main(test)

"""Both versions at once, at random: each device ends with exactly its messages, in order, nothing twice."""

import os
import random
import signal

import apptimist2_protocol as wire
from apptimist2_device import Device2
from apptimist_device import Device, Identity
from case import Context, case, expect, same


class New:
    """A device of version 2 that keeps its position with what it has got."""

    def __init__(self, user: Identity):
        self.user, self.position, self.epoch = user, 0, 0
        self.has: dict[int, tuple] = {}  # by position
        self.device: Device2 | None = None

    async def connect(self, c: Context):
        self.device = await Device2.connect(c.service)
        c.stack.push_async_callback(self.device.close)
        answer = await self.device.login(self.user, epoch=self.epoch, after=self.position)
        same((answer.error, answer.start), (0, self.position), "login")
        same(self.epoch or answer.epoch, answer.epoch, "epoch")
        self.epoch = answer.epoch

    async def send(self, to: bytes, time: int):
        answer = await self.device.message(to, self.device.sealed(os.urandom(9), to, time), time)
        same((answer.error, answer.known), (0, 0), "message")
        self.take()

    async def truncate(self, name: bytes):
        answer = await self.device.request("truncate", messageID=name)
        same(answer.error, 0, "truncate")
        self.take()

    async def settle(self):
        """Takes all that has come: what was on its way before this answer."""
        await self.device.request("searchByKey", pubEncrKey=self.user.key)
        self.take()

    def take(self):
        for pdu in self.device.waiting:
            expect(pdu.position > self.position, f"position {pdu.position} behind {self.position}")
            self.position = pdu.position
            name = pdu.message_id if pdu.type == "message" else pdu.messageID
            expect((pdu.type, name) not in self.has.values(), "an entry twice")
            self.has[pdu.position] = (pdu.type, name)
        self.device.waiting = []


class Old:
    """A device of version 1 that keeps the last message."""

    def __init__(self, user: Identity):
        self.user, self.head = user, bytes(64)
        self.has: list[bytes] = []
        self.device: Device | None = None

    async def connect(self, c: Context):
        self.device = await c.device()
        await self.device.login(self.user, head=self.head)

    async def send(self, to: bytes, time: int):
        await self.device.message(to, os.urandom(9), time)
        await self.settle()

    async def settle(self):
        await self.device.barrier()
        for pdu in self.device.waiting:
            if pdu.type == "message":
                expect(pdu.message_id not in self.has, "a message twice")
                self.has.append(pdu.message_id)
                self.head = pdu.message_id
        self.device.waiting = []


@case("2: mixed versions at random, with reconnections and kills: each has all of its messages, in order, once")
async def mixed(c: Context):
    seed = int(os.environ.get("AWD_TEST_SEED", random.randrange(2**32)))
    generator = random.Random(seed)
    try:
        await play(c, generator)
    except Exception as failure:
        failure.args = (f"seed {seed}: {failure}",)
        raise


async def play(c: Context, generator: random.Random):
    server = await c.own({"refusal_min": "0s", "refusal_max": "0s"})
    users = [Identity(c.word()) for _ in range(3)]
    for user in users:
        one = await c.device()
        await one.new(user)
        await one.login(user)
        await one.barrier()
        await one.close()
    devices = [kind(user) for user in users for kind in (New, New, Old)]
    for device in devices:
        await device.connect(c)
    for time in range(1, 200):
        device = generator.choice(devices)
        # An old device never writes to itself: it is not told of what it sends.
        to = generator.choice([user for user in users if user is not device.user])
        step = generator.random()
        if step < 0.55:
            await device.send(to.key, time)
        elif step < 0.7:
            await device.settle()
        elif step < 0.8 and isinstance(device, New) and device.has:
            await device.settle()
            names = [name for kind, name in device.has.values() if kind == "message"]
            if names:
                await device.truncate(generator.choice(names))
        elif step < 0.88 and isinstance(device, New):
            await device.device.request("pause")
            await device.device.request("resume")
        elif step < 0.98:
            await device.device.close()
            await device.connect(c)
        else:
            for one in devices:
                await one.settle()
            await kill(c, server, devices, [user for user in users if user is not device.user], generator)
    for user in users:
        fresh = New(user)
        await fresh.connect(c)
        await until_quiet(fresh)
        left = [name for kind, name in fresh.has.values() if kind == "message"]
        for device in devices:
            if device.user is not user:
                continue
            await until_quiet(device)
            if isinstance(device, New):
                got = [name for _, (kind, name) in sorted(device.has.items()) if kind == "message"]
                wanted = {position: entry for position, entry in fresh.has.items()
                          if entry[0] == "message"}
                same({place: device.has.get(place) for place in wanted}, wanted, "positions")
            else:
                got = device.has
            same([name for name in got if name in set(left)], left, "all, in order")


async def kill(c: Context, server, devices: list, recipients: list[Identity], generator: random.Random):
    """Ends the server while messages are on their way; each device of version 2 sends again what was not answered."""
    unanswered = []
    for device in devices:
        if isinstance(device, New) and device.user not in recipients:
            for number in range(generator.randrange(1, 20)):
                to, time = generator.choice(recipients).key, 1_000 + number
                unanswered.append((device, to, device.device.sealed(os.urandom(9), to, time), time))
    for device, to, sealed, time in unanswered:
        await device.device.send("message", sealed, time=time, recipientPubEncrKey=to, toPubEncrKey=to,
                                 fromPubEncrKey=device.user.key)
    await server.end(signal.SIGKILL)
    await server.start()
    c.service = server.service
    for device in devices:
        await device.connect(c)
    for device, to, sealed, time in unanswered:
        same((await device.device.message(to, sealed, time)).error, 0, "sent again")
        device.take()


async def until_quiet(device):
    """Takes the backlog, which may come behind an answer."""
    count = -1
    while count != len(device.has):
        count = len(device.has)
        for _ in range(5):
            await device.settle()

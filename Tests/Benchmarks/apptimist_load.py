#!/usr/bin/python3
"""apptimist_load.py AWD [PART...]: what devices cost Apptimist. Without a PART all are measured:
  idle    N logged-in devices that do nothing: memory of each, pings answered, latency of another device
  slow    a device that stops reading while N messages of 1 KiB wait: the memory that the service holds for it
  live    the same for messages that arrive after it has stopped reading
  unread  a device that sends requests and never reads: files of 1 MiB, searches, pings
  fanout  one post of SIZE bytes to a forum of N subscribers, in escrow: time and peak memory
Options: --devices N (10000), --messages N (100000), --subscribers N (1000), --post BYTES (1048576).
Memory is that of /proc/PID/smaps_rollup. Needs python3-nacl and python3-websockets."""

import argparse
import asyncio
import os
import pathlib
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).parents[1] / "ApptimistTests" / "Python"))

from apptimist_device import Device, Identity, Service, upgrade_request, wire
from apptimist_server import Server


class RawDevice:
    """A device on a plain socket, so that there can be ten thousand, and reading can stop."""

    def __init__(self, service: Service, user: Identity):
        self.service, self.user = service, user

    async def connect(self, read_buffer: int | None = None):
        ephemeral, service = Identity(), self.service
        self.reader, self.writer = await asyncio.open_connection(service.host, service.port,
                                                                 limit=read_buffer or 65536)
        self.writer.write(upgrade_request(f"{service.path}?{ephemeral.key.hex()}"))
        head = await self.reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head:
            raise RuntimeError(head)
        self.channel = wire.HeaderChannel(ephemeral.secret, ephemeral.key, service.key,
                                          service.data_nonce)

    def send(self, type_name: str, edata: bytes = b"", /, **fields):
        self.frame(2, self.channel.seal(wire.encode(type_name, **fields), edata))

    def frame(self, opcode: int, payload: bytes):
        size = len(payload)
        if size < 126:
            head = struct.pack(">BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack(">BBH", 0x80 | opcode, 0xfe, size)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 0xff, size)
        self.writer.write(head + bytes(4) + payload)

    def new(self):
        self.send("new", pubEncrKey=self.user.key, pubAuthKey=self.user.authentication_key,
                  name=self.user.name)

    def login(self):
        self.send("login", userPubEncrKey=self.user.key, signature=self.user.signature)

    async def receive(self) -> tuple[int, bytes]:
        """Returns the opcode and the payload of the next frame."""
        first, size = await self.reader.readexactly(2)
        if size == 126:
            size = struct.unpack(">H", await self.reader.readexactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", await self.reader.readexactly(8))[0]
        return first & 15, await self.reader.readexactly(size)

    async def pdu(self) -> tuple[bytes, bytes]:
        while True:
            opcode, payload = await self.receive()
            if opcode == 2:
                return self.channel.open(payload)
            if opcode == 9:
                self.frame(10, payload)
            elif opcode == 8:
                raise RuntimeError(f"closed: {payload.hex()}")

    async def barrier(self):
        self.send("searchByKey", pubEncrKey=b"\xfe" * 32)
        await self.pdu()

    async def idle(self, pings: list[int]):
        """Answers pings until the connection ends."""
        try:
            while True:
                opcode, payload = await self.receive()
                if opcode == 9:
                    pings[0] += 1
                    self.frame(10, payload)
                elif opcode == 8:
                    pings[1] += 1
                    return
        except (asyncio.IncompleteReadError, OSError):
            pings[1] += 1


def memory(server: Server) -> dict[str, int]:
    """Returns sizes in KiB by the names of smaps_rollup, and the peak as `Peak`."""
    sizes = {}
    for line in open(f"/proc/{server.process.pid}/smaps_rollup").readlines()[1:]:
        name, size = line.split()[:2]
        sizes[name.rstrip(":")] = int(size)
    for line in open(f"/proc/{server.process.pid}/status"):
        if line.startswith("VmHWM"):
            sizes["Peak"] = int(line.split()[1])
    return sizes


def reset_peak(server: Server):
    pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


async def peak_resident(server: Server, seconds: float) -> int:
    """Returns the largest resident size during the next seconds, in KiB."""
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        most = max(most, memory(server)["Rss"])
        await asyncio.sleep(0.1)
    return most


async def accounts(service: Service, count: int) -> list[Identity]:
    users = [Identity(f"user {number}") for number in range(count)]

    async def make(share: list[Identity]):
        for user in share:
            device = RawDevice(service, user)
            await device.connect()
            device.new()
            device.login()
            await device.barrier()
            device.writer.close()
    await asyncio.gather(*(make(users[i::50]) for i in range(50)))
    return users


async def idle(server: Server, options):
    pings, devices, gate = [0, 0], [], asyncio.Semaphore(100)
    tasks = []

    async def one(number: int):
        async with gate:
            device = RawDevice(server.service, Identity(f"idle {number}"))
            await device.connect()
            device.new()
            device.login()
            await device.barrier()
            devices.append(device)
            tasks.append(asyncio.create_task(device.idle(pings)))
    first = min(500, options.devices // 2)
    await asyncio.gather(*(one(number) for number in range(first)))
    await asyncio.sleep(1)
    before, start = memory(server), time.monotonic()
    await asyncio.gather(*(one(number) for number in range(first, options.devices)))
    took = time.monotonic() - start
    await asyncio.sleep(2)
    after = memory(server)
    count = options.devices - first
    print(f"idle: {options.devices} devices, each with an account of its own; "
          f"{count / took:.0f} accounts and logins/s")
    for what in ("Rss", "Anonymous"):
        print(f"idle: {what} {before[what]} KiB with {first} devices, {after[what]} KiB with all: "
              f"{(after[what] - before[what]) / count:.2f} KiB each")
    canary, other = RawDevice(server.service, Identity("canary")), devices[0].user
    await canary.connect()
    canary.new()
    canary.login()
    latencies, end = [], time.monotonic() + 65
    while time.monotonic() < end:
        start = time.monotonic()
        await canary.barrier()
        latencies.append(time.monotonic() - start)
        await asyncio.sleep(0.05)
    latencies.sort()
    held = memory(server)
    print(f"idle: after 65 s {held['Rss']} KiB, {pings[0]} pings answered, {pings[1]} devices lost, "
          f"canary p50 {latencies[len(latencies) // 2] * 1e3:.1f} ms, "
          f"p99 {latencies[len(latencies) * 99 // 100] * 1e3:.1f} ms")
    for device in devices:
        device.writer.close()
    for task in tasks:
        task.cancel()


async def fill(server: Server, receiver: Identity, count: int) -> None:
    """Sends this many messages of 1 KiB to the receiver, from 20 senders."""
    data, times = os.urandom(1024), iter(range(10**9))

    async def send(share: int):
        left = share
        while left > 0:  # a connection has 32,000 numbers
            device = RawDevice(server.service, Identity("sender"))
            await device.connect()
            device.new()
            device.login()
            for _ in range(min(left, 20_000)):
                device.send("message", data, time=next(times), recipientPubEncrKey=receiver.key,
                            toPubEncrKey=receiver.key, fromPubEncrKey=device.user.key)
                await device.writer.drain()
            left -= 20_000
            await device.barrier()
            device.writer.close()
    await asyncio.gather(*(send(count // 20) for _ in range(20)))


async def slow(server: Server, options, live: bool = False):
    name = "live" if live else "slow"
    receiver = (await accounts(server.service, 1))[0]
    if not live:
        await fill(server, receiver, options.messages)
    await asyncio.sleep(1)
    before = memory(server)["Rss"]
    readers = []
    for _ in range(20):
        device = RawDevice(server.service, receiver)
        await device.connect(1024)
        device.login()
        device.writer.transport.pause_reading()
        readers.append(device)
        if len(readers) in (1, 20) and not live:
            most = await peak_resident(server, 4)
            print(f"{name}: {options.messages} messages of 1 KiB waiting, {len(readers)} sessions that "
                  f"don't read: {most - before} KiB more than the {before} KiB before")
    if live:
        start = time.monotonic()
        await fill(server, receiver, options.messages)
        took = time.monotonic() - start
        most = await peak_resident(server, 3)
        print(f"{name}: {options.messages} messages in {took:.1f} s while 20 sessions didn't read: "
              f"{most - before} KiB more than the {before} KiB before")
    start = time.monotonic()
    reader, lost = readers[-1], 0
    reader.writer.transport.resume_reading()
    came = 0
    while came < options.messages:
        header, _ = await reader.pdu()
        if header[1] == wire.LAYOUTS["redirect"][0]:
            break
        came += 1
    print(f"{name}: then one reads {came} of them in {time.monotonic() - start:.1f} s")
    for device in readers:
        device.writer.close()


async def unread(server: Server, options):
    one = await Device.connect(server.service)
    user = Identity("reader")
    await one.new(user)
    await one.login(user)
    await one.write(user.key, "large", os.urandom(1 << 20))
    for number in range(900):
        await one.new(Identity(f"found {number:04}" + "x" * 200))
    await one.barrier()
    for what in ("files", "searches", "pings"):
        before = memory(server)["Rss"]
        devices = []
        for _ in range(10):
            device = RawDevice(server.service, user)
            await device.connect(1024)
            device.login()
            device.writer.transport.pause_reading()
            devices.append(device)

        async def ask(device: RawDevice):
            for _ in range(20_000):
                if what == "files":
                    device.send("read", pubEncrKey=user.key, filename="large")
                elif what == "searches":
                    device.send("searchByName", name="found")
                else:
                    device.frame(9, bytes(125))
                await asyncio.wait_for(device.writer.drain(), 3)
        asking = asyncio.gather(*(ask(device) for device in devices), return_exceptions=True)
        most = await peak_resident(server, 6)
        print(f"unread: 10 sessions that ask for {what} and don't read: {most - before} KiB more")
        await asking
        for device in devices:
            device.writer.transport.abort()
        await asyncio.sleep(1)
        print(f"unread: {memory(server)['Rss'] - before} KiB more after they have gone")
    await one.close()


async def fanout(server: Server, options):
    users = await accounts(server.service, options.subscribers)
    author = await Device.connect(server.service)
    owner, forum = Identity("author"), Identity("forum")
    await author.new(owner)
    await author.login(owner)
    await author.new(forum)
    await author.write(forum.key, "subscribers", b"".join(user.key for user in users))
    sealed = wire.seal(forum.secret, server.service.key, os.urandom(32))
    await author.write(forum.key, "secret", sealed)
    canary = await Device.connect(server.service)
    other = Identity("canary")
    await canary.new(other)
    await canary.login(other)
    await canary.barrier()
    for size in (1024, options.post):
        before = memory(server)["Rss"]
        reset_peak(server)
        start, worst = time.monotonic(), 0.0
        await author.message(forum.key, os.urandom(size))
        posted = asyncio.create_task(author.barrier())
        while not posted.done():
            asked = time.monotonic()
            await canary.write(other.key, "f", b"x")
            worst = max(worst, time.monotonic() - asked)
            await asyncio.sleep(0.01)
        await posted
        print(f"fanout: {size} bytes to {options.subscribers}: {time.monotonic() - start:.2f} s, peak "
              f"{memory(server)['Peak'] - before} KiB more than the {before} KiB before; another's write "
              f"took up to {worst * 1e3:.0f} ms meanwhile")
    await author.close()
    await canary.close()


async def main(options):
    parts = {"idle": idle, "slow": slow, "live": lambda *all: slow(*all, live=True),
             "unread": unread, "fanout": fanout}
    for name in options.parts or parts:
        server = Server(options.awd, {"queue_messages": 2 * options.messages,
                                      "queue_size": "4GiB", "all_sessions": 100_000,
                                      "sessions_per_address": 100_000, "forum_posts_size": "1TiB",
                                      "messages_size_per_address": "1TiB", "stored_size_per_address": "1TiB",
                                      "accounts_per_address": 1_000_000}, level="warning")
        try:
            await server.start()
            await parts[name](server, options)
        finally:
            server.remove()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("awd")
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--subscribers", type=int, default=1_000)
    parser.add_argument("--post", type=int, default=1 << 20)
    asyncio.run(main(parser.parse_args()))

#!/usr/bin/python3
"""apptimist_gateway.py PORT SERVICE PROCESS: HTTP on 127.0.0.1:PORT in front of the Apptimist service at
SERVICE (host:port), for fault tests that write and read by HTTP. Ends when PROCESS (awd's number) ends.

  POST /values {"id", "value"}  one user sends `value` to another and writes it to the file `id`; 200 once
                                the other has received it and the write was answered, else 503
  GET /values                   reads the other's messages from the first on, and the file of each; a line
                                for each value that both hold
  GET anything else             awd's own answer

The two users' keys come from fixed seeds: they are the same after a restart. On a full disk GET /values
gives 503, for no device can log in there: its ephemeral key has to be remembered. Needs Debian's
python3-nacl and python3-websockets.
"""

import asyncio
import collections
import contextlib
import json
import os
import pathlib
import socket
import sys
import time

import websockets

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).parents[2] / "ApptimistTests" / "Python"))

from apptimist_device import Closed, Device, Identity, Missing, Service, http, wire

WRITER = Identity("writer", secret=b"\x11" * 32, seed=b"\x12" * 32)
READER = Identity("reader", secret=b"\x21" * 32, seed=b"\x22" * 32)
TIME_LIMIT = 4  # seconds for a value, less than fault tests wait for an answer
BURST = 200  # files that are asked for at once
FAILURES = (Closed, Missing, OSError, EOFError, asyncio.TimeoutError, websockets.WebSocketException)


async def logged_in(service: Service, user: Identity, newest: int = 0) -> Device:
    """A device of the user; with `newest`, its stream begins no more than so many messages back."""
    device = await Device.connect(service)
    await device.new(user, uid=user.name)
    await device.login(user, max=newest)
    return device


class Pair:
    """A device that sends and writes, one that receives, and who waits for what of them."""

    def __init__(self, sender: Device, receiver: Device):
        self.sender, self.receiver = sender, receiver
        self.sending = asyncio.Lock()
        self.arrivals: dict[bytes, asyncio.Future] = {}
        self.answers: collections.deque[asyncio.Future] = collections.deque()
        self.readers = {asyncio.create_task(self.read_answers()),
                        asyncio.create_task(self.read_messages())}

    @classmethod
    async def connect(cls, service: Service) -> "Pair":
        # The reader first: an account must be there before it is sent to.
        receiver = await logged_in(service, READER, newest=1)
        await receiver.barrier()
        return cls(await logged_in(service, WRITER), receiver)

    @property
    def is_open(self) -> bool:
        return not any(reader.done() for reader in self.readers)

    async def read_answers(self):
        while True:
            answer = await self.sender.next(timeout=None)
            if answer.type == "write":
                self.answers.popleft().set_result(answer.error)

    async def read_messages(self):
        while True:
            message = await self.receiver.stream(timeout=None)
            if arrival := self.arrivals.pop(message.message_id, None):
                arrival.set_result(None)

    async def awaited(self, future: asyncio.Future):
        """The future's result, or why no more results come."""
        await asyncio.wait({future, *self.readers}, return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            raise Missing("the connection has ended")
        return future.result()

    async def put(self, name: str, value: bytes) -> bool:
        """Whether the value has arrived and its file was written."""
        loop = asyncio.get_running_loop()
        arrival, answer = loop.create_future(), loop.create_future()
        async with self.sending:
            # Not boxed: the service doesn't look, and the value stays legible in the store.
            header = self.sender.message_header(READER.key, next(Device.times))
            self.arrivals[wire.message_id(header, value)] = arrival
            await self.sender.send_header(header, value)
            self.answers.append(answer)
            await self.sender.send(
                "write", self.sender.service.seal(value, WRITER, self.sender.service.key),
                pubEncrKey=WRITER.key, filename=name)
        if await self.awaited(answer) != 0:
            return False
        await self.awaited(arrival)
        return True

    async def close(self):
        for reader in self.readers:
            reader.cancel()
        await asyncio.gather(self.sender.close(), self.receiver.close(), *self.readers,
                             return_exceptions=True)


class Gateway:
    Pair = Pair

    def __init__(self, host: str, port: int):
        self.host, self.port = host, port
        self.connecting = asyncio.Lock()
        self.pair: Pair | None = None

    async def service(self) -> Service:
        return await Service.at(f"ws://{self.host}:{self.port}/siren")

    async def connected(self) -> Pair:
        async with self.connecting:
            if self.pair is None or not self.pair.is_open:
                if self.pair:
                    await self.pair.close()
                self.pair = None
                self.pair = await self.Pair.connect(await self.service())
            return self.pair

    async def put(self, name: str, value: str) -> int:
        async def attempt() -> bool:
            return await (await self.connected()).put(name, value.encode())
        try:
            return 200 if await asyncio.wait_for(attempt(), TIME_LIMIT) else 503
        except FAILURES:
            return 503

    async def values(self) -> bytes:
        """What devices are given that have seen nothing yet."""
        pair = await self.connected()
        messages, kept = [], []
        async with contextlib.AsyncExitStack() as stack:
            reader = await logged_in(pair.sender.service, READER)
            stack.push_async_callback(reader.close)
            async with pair.sending:
                # The time makes it one that wasn't there before.
                end = await pair.sender.message(READER.key, b"", time.time_ns(), boxed=False)
            while (message := await reader.stream()).message_id != end:
                if message.edata:  # else it was an end
                    messages.append(message.edata)
            writer = await logged_in(pair.sender.service, WRITER)
            stack.push_async_callback(writer.close)
            for start in range(0, len(messages), BURST):
                values = messages[start:start + BURST]
                for value in values:  # begins with the name of its file
                    await writer.send("read", pubEncrKey=WRITER.key, filename=value.split(b"-")[0])
                for value in values:
                    answer = await writer.answer()
                    if answer.error == 0 and writer.opened(answer) == value:
                        kept.append(value)
        return b"\n".join(kept)

    async def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes, str]:
        """Status, body, and the Date field if awd gave one."""
        try:
            if path != "/values":
                status, fields, content = await http(
                    self.host, self.port,
                    f"GET {path} HTTP/1.1\r\nHost: awd\r\nConnection: close\r\n\r\n".encode())
                return status, content, fields.get("date", "")
            if method == "GET":
                return 200, await self.values(), ""
            value = json.loads(body)
            return await self.put(value["id"], value["value"]), b"", ""
        except FAILURES:
            return 503, b"", ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        """One connection's requests."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
                fields = dict(line.split(": ", 1) for line in head[1:] if line)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                method, path, _ = head[0].split()
                status, content, date = await self.answer(method.upper(), path, body)
                writer.write(f"HTTP/1.1 {status} \r\nContent-Length: {len(content)}\r\n".encode()
                             + f"Date: {date}\r\n".encode() * bool(date) + b"\r\n" + content)
                await writer.drain()
        except (EOFError, ConnectionError):
            pass
        finally:
            writer.close()


async def main(port: int, service: str, process: int, kind: type[Gateway] = Gateway):
    listener = socket.create_server(("127.0.0.1", port))

    def end():
        listener.close()  # first of all: the next one is started as soon as awd has ended
        os._exit(0)
    asyncio.get_running_loop().add_reader(os.pidfd_open(process), end)
    host, _, service_port = service.rpartition(":")
    server = await asyncio.start_server(kind(host, int(service_port)).serve, sock=listener)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))

#!/usr/bin/python3
"""apptimist2_gateway.py PORT SERVICE PROCESS JOURNAL: as apptimist_gateway.py, with devices of version 2.

A value is 200 once its message and its file were answered with 0 and the other user has received it. What is sent is
noted in the file JOURNAL before it is, and the last of it is sent once more after a restart, byte for byte, answered or
not: GET /values gives no value if the other's stream has any message twice, or positions that do not rise.
"""

import asyncio
import contextlib
import os
import pathlib
import sys
import time

import apptimist_gateway as gateway
import apptimist2_protocol as wire
from apptimist2_device import Device2
from apptimist_gateway import BURST, READER, WRITER, Missing, Service

JOURNAL = pathlib.Path(sys.argv[4])
AGAIN = 200  # messages that are sent once more


async def logged_in(service: Service, user, **login) -> tuple[Device2, wire.PDU]:
    device = await Device2.connect(service)
    await device.new(user, uid=user.name.encode())
    return device, await device.login(user, **login)


class Pair(gateway.Pair):
    """A device that sends and writes, one that receives, and who waits for what of them."""

    def __init__(self, sender: Device2, receiver: Device2):
        self.requests: dict[int, asyncio.Future] = {}
        super().__init__(sender, receiver)

    @classmethod
    async def connect(cls, service: Service) -> "Pair":
        receiver, _ = await logged_in(service, READER, max=1)
        sender, _ = await logged_in(service, WRITER)
        lines = JOURNAL.read_text().splitlines()[-AGAIN:] if JOURNAL.exists() else []
        for line in lines:
            moment, _, value = line.partition(" ")
            answer = await sender.message(READER.key, bytes.fromhex(value), int(moment))
            if answer.error != 0:
                raise Missing(f"error {answer.error} to a message that is sent once more")
        return cls(sender, receiver)

    async def read_answers(self):
        while True:
            answer = await self.sender.next(timeout=None)
            if answer.is_answer:
                self.requests.pop(answer.number).set_result(answer.error)

    async def read_messages(self):
        while True:
            message = await self.receiver.next(timeout=None)
            if arrival := self.arrivals.pop(message.message_id, None):
                arrival.set_result(None)

    async def requested(self, name: str, data: bytes, **fields) -> asyncio.Future:
        answer = asyncio.get_running_loop().create_future()
        self.requests[self.sender.number + 1] = answer
        await self.sender.send(name, data, **fields)
        return answer

    async def put(self, name: str, value: bytes) -> bool:
        arrival = asyncio.get_running_loop().create_future()
        async with self.sending:
            moment = time.time_ns()
            with JOURNAL.open("a") as journal:
                print(moment, value.hex(), file=journal)
            # Not sealed: the service doesn't look, and the value stays legible in the store.
            self.arrivals[wire.message_id(moment, READER.key, READER.key, WRITER.key, value)] = arrival
            answers = [
                await self.requested("message", value, time=moment, recipientPubEncrKey=READER.key,
                                     toPubEncrKey=READER.key, fromPubEncrKey=WRITER.key),
                await self.requested("write", value, pubEncrKey=WRITER.key, filename=name)]
        if any([await self.awaited(answer) for answer in answers]):
            return False
        await self.awaited(arrival)
        return True


class Gateway(gateway.Gateway):
    Pair = Pair

    async def values(self) -> bytes:
        """What devices are given that have seen nothing yet."""
        pair = await self.connected()
        kept, names, position = [], set(), 0
        async with contextlib.AsyncExitStack() as stack:
            reader, beginning = await logged_in(pair.sender.service, READER, after=0)
            stack.push_async_callback(reader.close)
            writer, _ = await logged_in(pair.sender.service, WRITER)
            stack.push_async_callback(writer.close)
            messages = []
            while position < beginning.last:
                message = await reader.stream()
                if message.position <= position or message.message_id in names:
                    return b"a message came twice, or not in order"
                position = message.position
                names.add(message.message_id)
                messages.append(message.data)
            for start in range(0, len(messages), BURST):
                values = messages[start:start + BURST]
                for value in values:  # begins with the name of its file
                    await writer.send("read", pubEncrKey=WRITER.key, filename=value.split(b"-")[0])
                for value in values:
                    answer = await writer.answer()
                    if answer.error == 0 and answer.data == value:
                        kept.append(value)
        return b"\n".join(kept)


if __name__ == "__main__":
    asyncio.run(gateway.main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Gateway))

#!/usr/bin/python3
"""order.py AWD [SECONDS] [NODES]: proves that nodes that share a database lose nothing that they have acknowledged, double
nothing, and show every device the same order.

Writers send messages to users, to a forum (version 1) and by Msgr, to a random node each time, and send what was not
acknowledged again. Readers follow their streams on a random node and go on elsewhere when it dies. Meanwhile nodes are
killed, connections of theirs are cut, and now and then PostgreSQL ends as if the power had gone. In the end every
mailbox and inbox is read anew: it has all that was acknowledged, once, and each reader has read exactly that, in that order.
"""
import asyncio, contextlib, json, os, random, signal, sys, time

from nodes import Cluster
from postgresql import PostgreSQL

import apptimist2_protocol as wire
import websockets
from websockets.exceptions import WebSocketException
from apptimist2_device import Device2
from apptimist_device import Closed, Device, Identity, Missing, http

AWD = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 600
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 3
LOST = (OSError, Closed, Missing, EOFError, asyncio.TimeoutError, asyncio.IncompleteReadError,
        WebSocketException)


class Rules:
    """What is acknowledged, and what went wrong."""

    def __init__(self):
        self.acknowledged = {}  # by user: the messages' senders and times
        self.last = time.monotonic()
        self.pause = 0.0
        self.isOver = False

    def acknowledge(self, users, message):
        now = time.monotonic()
        self.pause, self.last = max(self.pause, now - self.last), now
        for user in users:
            self.acknowledged.setdefault(user, set()).add(message)


class Reader:
    """A device that follows a user's stream from its beginning."""

    def __init__(self, cluster, user):
        self.cluster, self.user = cluster, user
        self.epoch, self.messages = 0, []  # positions with senders and times

    @property
    def position(self):
        return self.messages[-1][0] if self.messages else 0

    async def connect(self, node):
        device = await Device2.connect(node.service)
        answer = await device.login(self.user, after=self.position, epoch=self.epoch)
        if answer.error != 0:
            raise Missing(f"a login gets {answer.error}")
        if self.epoch not in (0, answer.epoch):
            raise SystemExit("BROKEN: positions begin anew")
        self.epoch = answer.epoch
        return device, answer

    async def take(self, device, timeout=60):
        pdu = await device.stream(timeout)
        self.messages.append((pdu.position, (pdu.fromPubEncrKey, pdu.time)))

    async def run(self):
        while True:
            with contextlib.suppress(*LOST):
                device, _ = await self.connect(random.choice(self.cluster.nodes))
                end = time.monotonic() + random.uniform(2, 20)
                while time.monotonic() < end:
                    await self.take(device, 5)
                await device.close()
            await asyncio.sleep(random.uniform(0, 0.2))

    async def finish(self, node):
        """Reads up to the mailbox's end."""
        device, answer = await self.connect(node)
        while self.position < answer.last:
            await self.take(device)
        await device.close()


async def write(cluster, rules, user, readers):
    """Sends messages of version 2, one after the other."""
    device = None
    while not rules.isOver:
        to, moment = random.choice(readers), time.time_ns()
        data = os.urandom(random.choice((50, 1000, 20000)))
        while True:
            try:
                if not device:
                    device = await Device2.connect(random.choice(cluster.nodes).service)
                    await device.new(user)
                    if (await device.login(user)).error != 0:
                        raise Missing("no login")
                answer = await device.message(to.key, data, moment)
                if answer.error == 0:
                    rules.acknowledge([to.key], (user.key, moment))
                    if random.random() < 0.01:
                        device = await device.close()
                    break
                await asyncio.sleep(0.1)
            except LOST:
                device = None
                await asyncio.sleep(random.uniform(0, 0.3))
            if rules.isOver:
                return


async def post(cluster, rules, user, forum, readers):
    """Posts to a forum of version 1, whose copies the service makes."""
    device, moment = None, 0
    while not rules.isOver:
        moment = moment or time.time_ns()
        try:
            if not device:
                device = await Device.connect(random.choice(cluster.nodes).service)
                await device.new(user)
                await device.login(user)
            sealed = device.service.seal(moment.to_bytes(8), user, forum.key)
            await device.message(forum.key, sealed, time=moment, boxed=False)
            await device.barrier()
            rules.acknowledge([reader.key for reader in readers], (user.key, moment))
            moment = 0
        except LOST:
            device = None
            await asyncio.sleep(random.uniform(0, 0.3))


async def request(node, path, fields, token=None):
    body = json.dumps(fields).encode()
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    status, _, answer = await http("127.0.0.1", node.port, (
        f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nConnection: close\r\n{authorization}"
        f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
    return status, json.loads(answer or b"{}")


async def send(cluster, rules, name, token, recipients):
    """Sends by Msgr, one after the other."""
    number = 0
    while not rules.isOver:
        number += 1
        to, text = random.choice(recipients), f"{name} {number}"
        while not rules.isOver:
            with contextlib.suppress(*LOST):
                status, _ = await asyncio.wait_for(request(
                    random.choice(cluster.nodes), "/message",
                    {"UserTo": to, "Message": text, "ClientId": f"{name}-{number}"}, token), 15)
                if status == 200:
                    rules.acknowledge([to], text)
                    break
            await asyncio.sleep(random.uniform(0, 0.2))


class Inbox:
    """A stream of Msgr, which goes on where it was."""

    def __init__(self, cluster, name, token):
        self.cluster, self.name, self.token, self.messages = cluster, name, token, []

    async def run(self):
        while True:
            with contextlib.suppress(*LOST):
                await self.follow(random.choice(self.cluster.nodes), time.monotonic() + random.uniform(2, 20))
            await asyncio.sleep(random.uniform(0, 0.2))

    async def follow(self, node, end):
        since = self.messages[-1][0] if self.messages else "0" * 16
        async with websockets.connect(f"ws://127.0.0.1:{node.port}/stream?since={since}", compression=None,
                                      extra_headers={"Authorization": f"Bearer {self.token}"}) as socket:
            while time.monotonic() < end:
                message = json.loads(await asyncio.wait_for(socket.recv(), 5))
                self.messages.append((message["Id"], message["Message"]))

    async def finish(self, node):
        with contextlib.suppress(asyncio.TimeoutError):
            await self.follow(node, time.monotonic() + 3600)

    async def everything(self, node):
        """The inbox by requests, 100 messages at a time."""
        messages, since = [], "0" * 16
        while True:
            _, page = await request(node, "/inbox", {"Username": self.name, "Since": since}, self.token)
            page = page["Messages"] if isinstance(page, dict) else page
            if not page:
                return messages
            messages += [(message["Id"], message["Message"]) for message in page]
            since = messages[-1][0]


async def harm(cluster, database, server, counts):
    """Kills and cuts, until it is cancelled."""
    while True:
        await asyncio.sleep(random.uniform(0.5, 3))
        what = random.random()
        if what < 0.6:
            node = random.choice(cluster.nodes)
            node.end(signal.SIGKILL)
            counts["nodes"] += 1
            await asyncio.sleep(random.uniform(0, 1))
            # While PostgreSQL is away a node may give up.
            while True:
                try:
                    await node.start()
                    break
                except Missing:
                    node.end(signal.SIGKILL)
        elif what < 0.95:
            with contextlib.suppress(Exception):
                server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                             "WHERE application_name = 'awd' AND random() < 0.5", database)
                counts["connections"] += 1
        else:
            await asyncio.to_thread(server.stop, signal.SIGQUIT)
            await asyncio.sleep(random.uniform(0, 2))
            await asyncio.to_thread(server.start)
            counts["databases"] += 1


def check(name, messages, final, acknowledged):
    if messages != final:
        place = next((i for i, (a, b) in enumerate(zip(messages, final)) if a != b), min(len(messages), len(final)))
        sys.exit(f"BROKEN: a reader of {name} has read {len(messages)} of {len(final)}, otherwise from {place} on")
    keys = [message for _, message in final]
    if len(set(keys)) != len(keys):
        sys.exit(f"BROKEN: {name} has {len(keys) - len(set(keys))} messages twice")
    if lost := acknowledged - set(keys):
        sys.exit(f"BROKEN: {name} lacks {len(lost)} of {len(acknowledged)} acknowledged messages")
    if [place for place, _ in final] != sorted(place for place, _ in final):
        sys.exit(f"BROKEN: {name} is not in order")


async def prepare_forum(cluster, readers):
    author, forum = Identity("author"), Identity("forum")
    async with Device.connected(cluster.nodes[0].service) as device:
        await device.new(author)
        await device.login(author)
        await device.new(forum)
        await device.barrier()
        await device.write(forum.key, "subscribers", b"".join(reader.key for reader in readers))
    return author, forum


async def main():
    with PostgreSQL(shared_buffers="128MB") as server:
        server.query("CREATE DATABASE nodes TEMPLATE template0")
        async with Cluster(AWD, server.url("nodes"), COUNT) as cluster:
            rules, counts = Rules(), {"nodes": 0, "connections": 0, "databases": 0}
            users = [Identity(f"reader {number}") for number in range(5)]
            for user in users:
                device = await Device2.connect(cluster.nodes[0].service)
                await device.new(user)
                await device.close()
            author, forum = await prepare_forum(cluster, users[:3])
            tokens = {}
            for number, name in enumerate(("anna", "bert", "carl", "dora")):
                _, answer = await request(random.choice(cluster.nodes), "/register", {
                    "Username": name, "Password": "correct horse", "DeviceID": f"{number:064x}"})
                tokens[name] = answer["Token"]
            readers = [Reader(cluster, user) for user in users for _ in range(2)]
            inboxes = [Inbox(cluster, name, tokens[name]) for name in ("anna", "bert") for _ in range(2)]
            following = [asyncio.create_task(reader.run()) for reader in readers + inboxes]
            writing = [asyncio.create_task(write(cluster, rules, Identity(f"writer {number}"), users))
                       for number in range(6)]
            writing.append(asyncio.create_task(post(cluster, rules, author, forum, users[:3])))
            writing += [asyncio.create_task(send(cluster, rules, name, tokens[name], ["anna", "bert"]))
                        for name in ("carl", "dora")]
            harming = asyncio.create_task(harm(cluster, "nodes", server, counts))
            done, _ = await asyncio.wait([*writing, harming], timeout=SECONDS, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
            harming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await harming
            rules.isOver = True
            await asyncio.wait(writing, timeout=60)
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
            if not server.process:
                server.start()
            for node in cluster.nodes:
                if node.process.poll() is not None:
                    await node.start()
                await node.ready()
            entries = 0
            for user in users:
                final = Reader(cluster, user)
                await final.finish(cluster.nodes[0])
                entries += len(final.messages)
                for reader in readers:
                    if reader.user is user:
                        await reader.finish(random.choice(cluster.nodes))
                        check(user.name, reader.messages, final.messages, rules.acknowledged.get(user.key, set()))
            for inbox in inboxes:
                await inbox.finish(random.choice(cluster.nodes))
                final = await inbox.everything(cluster.nodes[0])
                entries += len(final) / 2
                check(inbox.name, inbox.messages, final, rules.acknowledged.get(inbox.name, set()))
            acknowledged = sum(map(len, rules.acknowledged.values()))
            print(f"HOLDS: {acknowledged} messages acknowledged, {entries:.0f} entries; {counts['nodes']} nodes killed, "
                  f"{counts['connections']} times connections cut, {counts['databases']} times PostgreSQL killed; "
                  f"longest pause {rules.pause:.1f} s")


asyncio.run(main())

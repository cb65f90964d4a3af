"""An author with thirty forums writes the list of readers of each again and again, each time with 4,000 keys, files beside them up
to the bound, and posts to all. A bystander writes a file of its own all the while."""

import itertools
import os

from attack import ATTACKER, CANARY, Canary, Server, attack_apart, verdict
from Apptimist.device import CONFIGURATION, Service, User, count, plant_users, writer
from Apptimist.device2 import Device2

FORUMS, READERS, FILES = 30, 4_000, 100

with Server(CONFIGURATION + f'files = {FILES}\nforum_posts_size = "16MiB"\n') as server:
    server.stop()
    readers = plant_users(server, READERS)
    server.start()
    service = Service(server)
    author = User("author")
    devices = [Device2(service, author, ATTACKER)]
    devices[0].join()
    for _ in range(3):
        device = Device2(service, author, ATTACKER)
        device.login()
        devices.append(device)
    forums = [devices[0].make_forum([author.key]) for _ in range(FORUMS)]
    turns, outcomes = itertools.count(1), []

    def subscribe(device: Device2):
        def call():
            number = next(turns)
            mixed = readers[number % READERS:] + readers[:number % READERS]
            forum = forums[number % FORUMS]
            device.request("write", b"".join(mixed), pubEncrKey=forum.key, filename="subscribers")
        return call

    def post(device: Device2):
        def call():
            number = next(turns)
            forum = forums[number % FORUMS]
            device.request("message", device.sealed(b"hello", forum.key, number, 2), **device.message_fields(forum.key, number))
        return call

    def fill(device: Device2):
        def call():
            number = next(turns)
            device.request("write", os.urandom(2_000), pubEncrKey=forums[0].key, filename=f"file {number}")
        return call

    before, disk = server.rss, server.disk
    with Canary(server, writer(service, CANARY)) as canary:
        attack_apart([subscribe(devices[0]), subscribe(devices[1]), post(devices[2]), fill(devices[3])], 14)
    most = count(server, "SELECT max(n) FROM (SELECT count(*) AS n FROM apptimist_files GROUP BY directory)")
    more = Device2(service, author, ATTACKER)
    more.login()
    full = more.request("write", b"x", pubEncrKey=forums[0].key, filename="one more").error
    long = more.request("write", b"".join(readers) + os.urandom(32 * 97), pubEncrKey=forums[1].key, filename="subscribers").error
    verdict("apptimist_forum_files", canary, files=(FILES - 1, most, FILES), full=full == 5, too_many_readers=long != 0,
            memory_MiB=((server.rss - before) >> 20, 96), disk_MiB=((server.disk - disk) >> 20, 192))

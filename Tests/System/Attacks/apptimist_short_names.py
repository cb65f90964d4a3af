"""Forty sessions of eight addresses search by one letter, with which two hundred thousand names begin; others search, too."""

import itertools

from attack import CANARY, Canary, Server, attack_apart, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User, database, plant_users

ACCOUNTS = 200_000

with Server(CONFIGURATION) as server:
    server.stop()
    plant_users(server, ACCOUNTS)
    with database(server) as opened:
        opened.execute("UPDATE apptimist_users SET search_name = CAST('a' || (id * 7919) % 1000003 AS BLOB)")
    server.start()
    service = Service(server)
    devices = [Device(service, User("attacker"), f"127.0.{3 + number % 8}.1").join() for number in range(40)]
    bystander = Device(service, User("bystander"), CANARY, timeout=5).join()
    names = itertools.cycle(["bystander", "by", "a1"])

    def call():
        bystander.send("searchByName", name=next(names), maxUsers=20)
        bystander.answer("user")

    def search(part):
        def body():
            for device in part:
                device.send("searchByName", name="a", maxUsers=20)
            for device in part:
                while device.answer("user").count:
                    pass
        return body

    with Canary(server, call) as canary:
        attack_apart([search(devices[start::4]) for start in range(4)], 12)
    verdict("apptimist_short_names", canary)

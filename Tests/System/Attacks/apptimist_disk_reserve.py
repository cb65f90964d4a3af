"""Where less disk is free than the reserve, strangers store nothing more, and those who know each other go on."""

from attack import ATTACKER, CANARY, Server, verdict
from Apptimist.device import CONFIGURATION, Service, User
from Apptimist.device2 import Device2


def send(device: Device2, to: bytes, number: int) -> int:
    fields = device.message_fields(to, number)
    return device.request("message", device.sealed(b"hello", to, number), **fields).error


with Server(CONFIGURATION) as server:
    service = Service(server)
    anna, bert, stranger = User("anna"), User("bert"), User("stranger")
    devices = {user: Device2(service, user, CANARY).join() for user in (anna, bert)}
    outside = Device2(service, stranger, ATTACKER).join()
    before = [send(devices[anna], bert.key, 1), send(devices[bert], anna.key, 2), send(outside, anna.key, 3)]
    server.stop()
    text = open(server.configuration).read()
    with open(server.configuration, "w") as file:
        file.write(text.replace("[server]\n", '[server]\ndisk_reserve = "1024TiB"\n'))
    server.start()
    devices = {}
    for user in (anna, bert, stranger):
        devices[user] = Device2(service, user, CANARY)
        devices[user].login()
    known = [send(devices[anna], bert.key, 4), send(devices[bert], anna.key, 5)]
    unknown = send(devices[stranger], anna.key, 6)
    file = devices[stranger].request("write", b"x" * 1000, pubEncrKey=stranger.key, filename="file").error
    new = Device2(service, User("new"), ATTACKER).new()
    verdict("apptimist_disk_reserve", before=not any(before), known=not any(known), stranger=unknown == 5,
            file=file == 5, account=new == 5)

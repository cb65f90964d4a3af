"""Seven hundred free accounts send a message each to a user who is away: what a friend has sent stays, and the mailbox takes
the friend's further messages."""

import time

from attack import ATTACKER, CANARY, Canary, Server, attack, verdict
from Apptimist.device import CONFIGURATION, Service, User, count, writer
from Apptimist.device2 import Device2, wire

QUEUE, OWN, STRANGERS = 500, 200, 700
LIMITS = f"queue_messages = {QUEUE}\naccounts_per_address = 100000\n"


def send(device: Device2, to: bytes, number: int) -> int:
    fields = device.message_fields(to, number)
    return device.request("message", device.sealed(b"hello", to, number), **fields).error


with Server(CONFIGURATION + LIMITS) as server:
    service = Service(server)
    victim, friend = User("victim"), User("friend")
    with Device2(service, victim, "127.0.1.2") as device:
        device.join()
        friendly = Device2(service, friend, CANARY).join()
        written = send(device, friend.key, 1)
    errors = [send(friendly, victim.key, number) for number in range(2, OWN + 2)]
    numbers, outcomes = iter(range(1000, 10**6)), []

    def stranger():
        if len(outcomes) < STRANGERS:
            with Device2(service, User("stranger"), ATTACKER) as device:
                device.join()
                outcomes.append(send(device, victim.key, next(numbers)))
        else:
            time.sleep(0.1)

    with Canary(server, writer(service, CANARY)) as canary:
        attack([stranger] * 2, 20)
    # The friend fills the mailbox alone; then there is no room for strangers.
    errors += [send(friendly, victim.key, number) for number in range(5000, 5000 + QUEUE - OWN)]
    with Device2(service, User("last"), ATTACKER) as device:
        device.join()
        refused = send(device, victim.key, 7)
    kept = count(server, "SELECT count(*) FROM apptimist_shares WHERE sender < 0 AND owner = 1")
    with Device2(service, victim, "127.0.1.2") as device:
        answer = device.login(after=0, epoch=0)
        found = 0
        device.ask("read", pubEncrKey=victim.key, filename="none")
        while not (pdu := device.next()).is_answer:
            found += pdu.type == "message"
        device.socket.settimeout(2)
        try:
            while True:
                found += device.next().type == "message"
        except OSError:
            pass
    verdict("apptimist_full_mailbox", canary, friends_messages_taken=written == 0 and not any(errors),
            strangers=(STRANGERS // 2, len(outcomes), None), friends_messages=(QUEUE, found, None),
            stranger_refused=refused == 5)

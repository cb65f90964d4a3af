#!/usr/bin/python3
"""push_crashes.py AWD: 1,000 messages are sent to 50 phones, while the program is killed again and again between the acceptance
of a message and its push. Each one that was acknowledged is pushed, and a kill repeats at most what was under way."""

from Push.google import Google

import json
import threading
import time

from attack import Server, verdict

STREAMS, PHONES, MESSAGES, KILLS = 20, 50, 1000, 3
TOML = f"""[server]
services = ["msgr"]
[push]
streams = {STREAMS}
[msgr]
push = "on"
messages_per_minute = 1000000
registrations_per_minute = 1000
registrations_per_day = 1000
inbox_messages = 100000
password_memory = "8KiB"
password_passes = 1
"""


def main():
    google = Google(delay=0.05)
    google.write_account()
    acknowledged, lock = [], threading.Lock()
    with Server(TOML + google.toml) as server:
        def post(path, fields, token=None):
            header = {"Authorization": f"Bearer {token}"} if token else {}
            response = server.request("POST", path, json.dumps(fields).encode(), header)
            return json.loads(response.body) if response.status == 200 else None

        for number in range(PHONES):
            token = post("/register", {"Username": f"u{number}", "Password": "a password",
                                       "DeviceID": f"fcm:{number}_" + "t" * 60})["Token"]
        left = iter(range(MESSAGES))

        def send():
            while True:
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                while True:
                    try:
                        answer = post("/message", {"UserTo": f"u{number % PHONES}", "Message": f"m{number}",
                                                   "ClientId": f"c{number}"}, token)
                        if answer:
                            with lock:
                                acknowledged.append(f"{number % PHONES} {answer['Id']}")
                            break
                    except (OSError, ConnectionError):
                        pass
                    time.sleep(0.05)

        threads = [threading.Thread(target=send, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        for kill in range(1, KILLS + 1):
            end = time.monotonic() + 15
            while len(acknowledged) < MESSAGES * kill // (KILLS + 1) and time.monotonic() < end:
                time.sleep(0.002)
            server.process.kill()
            server.process.wait()
            server.start()
        for thread in threads:
            thread.join(20)
        start = time.monotonic()
        wanted = set(acknowledged)
        while not wanted <= set(google.arrived) and time.monotonic() < start + 35:
            time.sleep(0.1)
        waited = time.monotonic() - start
    repeats = sum(count - 1 for count in google.arrived.values())
    verdict("push_crashes", acknowledged=(MESSAGES, len(acknowledged), MESSAGES),
            lost=(len(wanted - set(google.arrived)), 0), repeats=(repeats, KILLS * STREAMS), waited_s=(waited, 35))


main()

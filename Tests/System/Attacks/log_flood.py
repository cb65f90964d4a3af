"""Has requests refused in a loop, so that the log would grow until the disk is full."""

import json
import os
import threading
import time

from attack import ATTACKER, Canary, Server, attack, verdict

SECONDS = 6
CONFIGURATION = """
[msgr]
password_memory = "64MiB"
password_queue = 1
"""
numbers = iter(range(10**9))
lock = threading.Lock()


def register(server: Server):
    with lock:
        number = next(numbers)
    body = json.dumps({"Username": f"user{number}", "Password": "a password", "DeviceID": f"stream:device-{number:08}"})
    server.request("POST", "/register", body.encode(), {"Content-Type": "application/json"})


def log_in(server: Server):
    body = json.dumps({"Username": "nobody", "Password": "wrong"})
    server.request("POST", "/contacts", body.encode(), {"Content-Type": "application/json"})


with Server(CONFIGURATION) as server:
    start = os.path.getsize(server.log_path)
    with Canary(server) as canary:
        attack([lambda: register(server)] * 6 + [lambda: log_in(server)] * 2, SECONDS)
    time.sleep(0.5)
    grown = os.path.getsize(server.log_path) - start
    verdict("log_flood", canary, log_bytes_per_second=(grown // SECONDS, 20_000))

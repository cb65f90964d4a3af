#!/usr/bin/python3
"""pushserver_places.py AWD: one site registers clients with free keys until all places of the push server are taken, and goes
on. Newcomers of other sites register all the time, and a client that the relay pushes to keeps its place."""

import itertools
import json
import time

import nacl.signing

from attack import Canary, Server, verdict
from Push.relay import TOML, identifier, signed, token

PLACES, FLOOD = 200, 600
BEHIND_PROXY = TOML.replace("[server]\n", '[server]\ntrusted_proxies = ["127.0.0.1"]\n') + f"clients = {PLACES}\n"
ADDRESSES = itertools.count(1)


def register(server, key, source):
    body = json.dumps({"client_id": identifier(key), "type": "fcm", "token": f"{key.verify_key.encode().hex()}"}).encode()
    fields = {"Authorization": token(key), "X-Forwarded-For": source}
    return server.request("POST", "/clients", body, fields, source="127.0.0.1").status


def push(server, key, text):
    body = json.dumps({"id": text, "payload": {"topic": "t", "flags": 1, "blob": "b"}}).encode()
    return server.request("POST", f"/clients/{identifier(key)}", body, signed(body)).status


with Server(BEHIND_PROXY) as server:
    honest = nacl.signing.SigningKey.generate()
    assert register(server, honest, "198.51.100.1") == 200
    assert push(server, honest, "first") == 202

    def newcomer():
        number = next(ADDRESSES)
        status = register(server, nacl.signing.SigningKey.generate(), f"203.{number % 250}.{number // 250}.1")
        if status != 200:
            raise OSError(status)

    with Canary(server, newcomer, interval=0.1) as canary:
        end = time.monotonic() + 12
        statuses = {}
        for number in range(FLOOD):
            status = register(server, nacl.signing.SigningKey.generate(), f"192.0.2.{1 + number % 250}")
            statuses[status] = statuses.get(status, 0) + 1
            if time.monotonic() > end:
                break
    kept = push(server, honest, "second")
verdict("pushserver_places", canary, kept=(202, kept, 202), flooded=(100, sum(statuses.values()), None))

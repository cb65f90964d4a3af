"""Bad logins through a proxy: they lock out only the client that the proxy reports, and a proxy that isn't trusted is told of."""

import itertools
import json

from attack import Canary, Server, attack, verdict

MSGR = '[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\n'
URL = '[server]\npublic_url = "https://wallet.example"\n'
PROXY = "127.0.0.1"


def post(server, path, fields, client):
    return server.request("POST", path, json.dumps(fields).encode(), {"X-Forwarded-For": client, "X-Forwarded-Proto": "https"},
                          source=PROXY)


def register(server, name, client):
    return post(server, "/register", {"Username": name, "Password": "right password", "DeviceID": f"stream:{name}-0001"}, client).status


def log_in(server, name, password, client):
    return post(server, "/login", {"Username": name, "Password": password, "DeviceID": f"stream:{name}-0001"}, client).status


numbers = itertools.count()
with Server(URL + 'trusted_proxies = ["127.0.0.1"]\n' + MSGR) as server:
    assert register(server, "bert", "192.0.2.1") == 200 and register(server, "cleo", "192.0.2.2") == 200
    for number in range(150):
        # What a client writes in front of the proxy's word counts for nothing.
        refused = log_in(server, f"guess{number}", "wrong password", f"10.0.0.{number}, 198.51.100.7")
    in_the_64 = [log_in(server, f"other{number}", "wrong password", f"2001:db8::{number:x}:1") for number in range(150)][-1]
    elsewhere = log_in(server, "bert", "right password", "203.0.113.9")
    before = server.rss

    def guess():
        number = next(numbers)
        log_in(server, "cleo", "wrong password", f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}")

    with Canary(server, lambda: log_in(server, "cleo", "right password", "192.0.2.2") == 200) as canary:
        attack([guess] * 6, 10)
    grown = server.rss - before

with Server(URL + MSGR) as server:
    log_in(server, "bert", "wrong password", "192.0.2.1")
    told = "trusted_proxies" in server.log
    doubted = b"trusted_proxies" in server.run("check").stdout

verdict("forwarded_logins", canary, of_the_guesser=(429, refused, 429), in_the_64=(429, in_the_64, 429),
        elsewhere=(200, elsewhere, 200), clients=(2000, next(numbers), None), grown_MiB=(grown >> 20, 32), told_by_the_log=told,
        told_by_check=doubted)

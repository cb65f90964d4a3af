#!/usr/bin/python3
"""msgr_guesses.py AWD: hundreds of sites guess Anna's password, and a whole /48 guesses everybody's. Anna logs in with her
right password, from a new site each time, from a device that is linked, and from a neighbour's address in a site that guesses."""

import itertools
import json

from attack import Canary, Server, attack, verdict

TOML = """
[server]
services = ["msgr"]
trusted_proxies = ["127.0.0.1"]
[msgr]
password_memory = "64KiB"
password_passes = 1
password_threads = 1
password_cache = "0s"
devices = 1000
"""
SECONDS = 12


def main():
    with Server(TOML) as server:
        def login(name, password, site, device):
            fields = {"Username": name, "Password": password, "DeviceID": f"stream:{device:0>20}"}
            return server.request("POST", "/login", json.dumps(fields).encode(), {"X-Forwarded-For": site}, source="127.0.0.1").status

        fields = {"Username": "anna", "Password": "a password", "DeviceID": f"stream:{'anna':0>20}"}
        response = server.request("POST", "/register", json.dumps(fields).encode(), {"X-Forwarded-For": "192.0.2.1"}, source="127.0.0.1")
        assert response.status == 200
        sites, networks, new = itertools.count(), itertools.count(), itertools.count()
        refused = {403: 0, 429: 0, 503: 0}

        def guess_anna():
            number = next(sites) % 400
            status = login("anna", f"guess {number}", f"10.{number // 200}.{number % 200}.1", "guess")
            refused[status] = refused.get(status, 0) + 1

        def guess_all():
            number = next(networks)
            login(f"name {number}", "guess", f"2001:db8:1:{number % 65536:x}::1", "guess")

        def log_in():
            number = next(new)
            from_new_site = login("anna", "a password", f"172.16.{number % 250}.1", f"new{number}")
            from_device = login("anna", "a password", "2001:db8:1:ffff::1", "anna")
            if (from_new_site, from_device) != (200, 200):
                raise OSError((from_new_site, from_device))

        with Canary(server, log_in, interval=0.3) as canary:
            attack([guess_anna] * 3 + [guess_all] * 3, SECONDS)
    verdict("msgr_guesses", failures=(canary.failures, 0), p99_ms=(round(canary.p99 * 1000), 1000), logins=(10, canary.calls, None),
            guesses=(200, sum(refused.values()), None))


if __name__ == "__main__":
    main()

"""Users name addresses for pushes that no push may go to, and hundreds that accept and never answer. Nothing is sent to the
former, and pushes to others take no longer than a second.

It runs in a network namespace in which every address is this machine's, with a name server of its own: so a connection to
any address would be accepted, and is counted.
"""

from Push.network import KEYS, looked_up, prepare, serve_names, serve_pushes

import collections
import http.server
import json
import os
import socket
import threading
import time

from attack import Canary, Server, verdict

GOOD, ELSEWHERE, REFUSING, OWN, HANGING = "193.0.0.10", "193.0.0.11", "193.0.0.12", "193.0.0.13", "193.0.1.1"
PRIVATE = ["127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.1.1", "169.254.169.254", "100.64.0.1",
           "198.18.0.1", OWN, "::1", "fd00::1", "64:ff9b::7f00:1", "2002:7f00:1::1"]
LITERALS = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0"]
# What others may read as another address isn't even taken.
AMBIGUOUS = ["127.1", "2130706433", "0x7f000001"]
ACCOUNTS, DEVICES, SECONDS = 25, 20, 12

connected, arrived = collections.Counter(), {}


def addresses(name: str) -> list[str]:
    """The addresses of a name; `rebind.example` has another one from the second look-up on."""
    kind, _, number = name.removesuffix(".example").partition("-")
    return {"good": [GOOD], "elsewhere": [ELSEWHERE], "hanging": [HANGING],
            "rebind": [REFUSING if looked_up[name] < 2 else "127.0.0.1"], "second": [REFUSING, "127.0.0.1"],
            "private": [PRIVATE[int(number)]] if number.isdigit() else []}.get(kind, [])


def accept(address: str):
    """Accepts at port 443 of an address, or of every one of IPv6 for `::`, and never answers."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.create_server((address, 443), family=family, backlog=1024)
    kept = []

    def run():
        while True:
            kept.append(server.accept())
            connected[kept[-1][0].getsockname()[0]] += 1

    threading.Thread(target=run, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        arrived[self.path] = time.monotonic()
        is_elsewhere = self.headers["Host"] == "elsewhere.example"
        self.send_response(307 if is_elsewhere else 201)
        if is_elsewhere:
            self.send_header("Location", "https://127.0.0.1/redirected")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    prepare("DNS:good.example,DNS:elsewhere.example", [OWN])
    serve_names(addresses)
    for address in [address for address in PRIVATE if ":" not in address] + ["::", HANGING]:
        accept(address)
    for address in [GOOD, ELSEWHERE]:
        serve_pushes(address, Handler)

    with Server('[server]\nservices = ["msgr"]\n[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\n') as server:
        networks = {}

        def post(path, fields, name, token=None, status=200):
            source = networks.setdefault(name, f"127.0.{1 + len(networks) // 200}.{1 + len(networks) % 200}")
            header = {"Authorization": f"Bearer {token}"} if token else {}
            response = server.request("POST", path, json.dumps(fields).encode(), header, source=source)
            assert response.status == status, (path, response.status, response.body)
            return json.loads(response.body)

        def subscribe(name, endpoints):
            for number, endpoint in enumerate(endpoints):
                path = "/login" if number or name in networks else "/register"
                token = post(path, {"Username": name, "Password": "a password",
                                    "DeviceID": f"stream:{name}-{number:08}"}, name)["Token"]
                post("/subscribe", {"Endpoint": endpoint, **KEYS}, name, token)
            return token

        sender = subscribe("sender", ["https://good.example/sender"])
        send = lambda name: post("/message", {"UserTo": name, "Message": "x"}, "sender", sender)
        took = []

        def push_to_bert():
            """Sends a message to Bert, and waits until it is pushed."""
            arrived.pop("/bert", None)
            start = time.monotonic()
            post("/message", {"UserTo": "bert", "Message": "x"}, "bert", bert)
            while "/bert" not in arrived and time.monotonic() < start + 5:
                time.sleep(0.002)
            took.append(time.monotonic() - start)
            return "/bert" in arrived

        bert = subscribe("bert", ["https://good.example/bert"])
        for host in AMBIGUOUS:
            post("/subscribe", {"Endpoint": f"https://{host}/x", **KEYS}, "bert", bert, status=400)
        forbidden = [f"https://private-{number}.example/x" for number in range(len(PRIVATE))]
        forbidden += [f"https://{host}/x" for host in LITERALS] + ["https://elsewhere.example/x", "https://second.example/x"]
        for number, endpoint in enumerate(forbidden + ["https://rebind.example/x"]):
            subscribe(f"user{number}", [endpoint])
            send(f"user{number}")
        time.sleep(2)
        # At the next start the name is looked up again.
        is_waiting = looked_up["rebind.example"] >= 1
        server.stop()
        server.start()
        end = time.monotonic() + 10
        while looked_up["rebind.example"] < 2 and time.monotonic() < end:
            time.sleep(0.1)
        is_rebound = looked_up["rebind.example"] >= 2

        for number in range(ACCOUNTS):
            name = f"evil{number}"
            subscribe(name, [f"https://hanging-{number}x{device}.example/x" for device in range(DEVICES)])
        push_to_bert()
        took.clear()
        before = server.rss
        with Canary(server, push_to_bert, interval=0.1) as canary:
            for number in range(ACCOUNTS):
                send(f"evil{number}")
            time.sleep(SECONDS)
        grown = server.rss - before
        threads = len(os.listdir(f"/proc/{server.pid}/task"))
    # A hundred pushes to hanging push services are under way at once, and given up if they aren't connected after 5 s.
    verdict("push_addresses", failures=(canary.failures, 0), slowest_ms=(round(max(took) * 1000), 1000),
            pushes=(20, len(took), None), p99_ms=(round(canary.p99 * 1000), 1000),
            to_private=(sum(connected[address] for address in PRIVATE), 0), redirected=("/redirected" not in arrived),
            is_waiting=is_waiting, is_rebound=is_rebound, hanging=(1, connected[HANGING], 100 * (SECONDS // 5 + 2)),
            threads=(threads, 200), grown_MiB=(grown >> 20, 64))


main()

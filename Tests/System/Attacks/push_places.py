#!/usr/bin/python3
"""push_places.py AWD: 63 accounts name push services that answer, but after 13 s, and so take all places of pushes to browsers.
A bystander's pushes take no longer than two seconds."""

from Push.network import KEYS, prepare, serve_names, serve_pushes

import http.server
import json
import threading
import time

from attack import Canary, Server, verdict

GOOD, SLOW = "193.0.0.10", "193.0.1.1"
ACCOUNTS, DEVICES, SECONDS = 63, 8, 12
is_slow = threading.Event()
arrived, held = {}, set()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Host"].startswith("slow"):
            held.add(self.headers["Host"])
            if is_slow.is_set():
                time.sleep(13)
        arrived[self.path] = time.monotonic()
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    prepare("DNS:*.push.example")
    serve_names(lambda name: [SLOW if name.startswith("slow") else GOOD])
    for address in [GOOD, SLOW]:
        serve_pushes(address, Handler)
    with Server('[server]\nservices = ["msgr"]\n[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\n') as server:
        def post(path, fields, source, token=None):
            header = {"Authorization": f"Bearer {token}"} if token else {}
            response = server.request("POST", path, json.dumps(fields).encode(), header, source=source)
            assert response.status == 200, (path, response.status, response.body)
            return json.loads(response.body)

        def join(name, source, endpoints):
            for number, endpoint in enumerate(endpoints):
                token = post("/login" if number else "/register",
                             {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-{number:08}"}, source)["Token"]
                post("/subscribe", {"Endpoint": endpoint, **KEYS}, source, token)
            return token

        bert = join("bert", "127.0.0.2", ["https://good.push.example/bert"])
        sender = join("sender", "127.0.0.4", ["https://good.push.example/sender"])
        for number in range(ACCOUNTS):
            join(f"evil{number}", f"127.0.1.{1 + number}",
                 [f"https://slow{number}x{device}.push.example/{number}x{device}" for device in range(DEVICES)])

        def flood():
            for number in range(ACCOUNTS):
                post("/message", {"UserTo": f"evil{number}", "Message": "x"}, "127.0.0.4", sender)

        def push_to_bert():
            """Sends a message to Bert, and waits until it is pushed."""
            arrived.pop("/bert", None)
            start = time.monotonic()
            post("/message", {"UserTo": "bert", "Message": "x"}, "127.0.0.2", bert)
            while "/bert" not in arrived and time.monotonic() < start + 5:
                time.sleep(0.002)
            return "/bert" in arrived

        # Those that have answered once are trusted with all places.
        flood()
        end = time.monotonic() + 15
        while len(arrived) < ACCOUNTS * DEVICES and time.monotonic() < end:
            time.sleep(0.05)
        known = len(arrived)
        push_to_bert()
        is_slow.set()
        held.clear()
        flood()
        end = time.monotonic() + 5
        while len(held) < 490 and time.monotonic() < end:
            time.sleep(0.05)
        with Canary(server, push_to_bert, interval=0.1) as canary:
            time.sleep(SECONDS)
        lost = server.metric("awd_budget_lost_total")
    verdict("push_places", failures=(canary.failures, 0), pushes=(20, canary.calls, None),
            p99_ms=(round(canary.p99 * 1000), 2000), known=(ACCOUNTS * DEVICES, known, None), held=(490, len(held), None),
            lost=(1, int(lost), None))


main()

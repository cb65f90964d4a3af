#!/usr/bin/python3
"""push_providers.py AWD: Google's push service hangs, answers garbage, redirects, closes amid an answer, and refuses connections,
with 200 phones waiting. Pushes to a browser take no longer than a second meanwhile, and no redirection is followed."""

from Push.network import KEYS, prepare, serve_names, serve_pushes

import http.server
import json
import time

from attack import Canary, Server, verdict
from Push.google import Google

GOOD = "193.0.0.10"
PHONES = 200
arrived = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        arrived[self.path] = time.monotonic()
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    prepare("DNS:*.push.example")
    serve_names(lambda name: [GOOD])
    serve_pushes(GOOD, Handler)
    google = Google()
    google.write_account()
    toml = ('[server]\nservices = ["msgr"]\n[msgr]\npush = "on"\npassword_memory = "8KiB"\npassword_passes = 1\n'
            "messages_per_minute = 1000000\nregistrations_per_minute = 1000\nregistrations_per_day = 1000\n")
    with Server(toml + google.toml) as server:
        def post(path, fields, source, token=None):
            header = {"Authorization": f"Bearer {token}"} if token else {}
            response = server.request("POST", path, json.dumps(fields).encode(), header, source=source)
            assert response.status == 200, (path, response.status, response.body)
            return json.loads(response.body)

        bert = post("/register", {"Username": "bert", "Password": "a password", "DeviceID": "stream:bert-12345"}, "127.0.0.2")["Token"]
        post("/subscribe", {"Endpoint": "https://good.push.example/bert", **KEYS}, "127.0.0.2", bert)
        for number in range(PHONES):
            post("/register", {"Username": f"u{number}", "Password": "a password", "DeviceID": f"fcm:{number}_" + "t" * 60},
                 "127.0.0.3")

        def push_to_bert():
            """Sends a message to Bert, and waits until it is pushed."""
            arrived.pop("/bert", None)
            start = time.monotonic()
            post("/message", {"UserTo": "bert", "Message": "x"}, "127.0.0.2", bert)
            while "/bert" not in arrived and time.monotonic() < start + 5:
                time.sleep(0.002)
            return "/bert" in arrived

        def flood(first):
            """Sends to phones that wait for nothing yet, as one that was not reached is tried again after 10 s at least."""
            for number in range(first, PHONES, 5):
                post("/message", {"UserTo": f"u{number}", "Message": "x"}, "127.0.0.3", bert)

        push_to_bert()
        touched = 0
        with Canary(server, push_to_bert, interval=0.1) as canary:
            for number, mode in enumerate(["garbage", "close", "redirect", "hang"]):
                google.mode = mode
                google.touched.clear()
                flood(number)
                time.sleep(2)
                touched += bool(google.touched)
            google.refuse()
            flood(4)
            time.sleep(2)
        google.mode = "take"
        google.listen()
        before = len(google.arrived)
        end = time.monotonic() + 15
        while len(google.arrived) == before and time.monotonic() < end:
            time.sleep(0.1)
        again = len(google.arrived) - before
        rss = server.rss >> 20
    verdict("push_providers", failures=(canary.failures, 0), pushes=(20, canary.calls, None),
            p99_ms=(round(canary.p99 * 1000), 1000), modes=(4, touched, None), redirected=(google.redirected, 0),
            again=(1, again, None), rss_mib=(rss, 300))


main()

"""One site, from twenty of its addresses, signs in by wallets that are contracts, and these never answer: a bystander's contract
at another site is asked at once, and a login that isn't over is refused ten seconds after its request.
"""

import concurrent.futures
import http.server
import json
import threading
import time

from attack import Server, verdict

FAST = "0x" + "0f" * 20
ADDRESSES, LOGINS, SLOW = 20, 40, 30


class Chain(http.server.BaseHTTPRequestHandler):
    """An endpoint where one contract says at once that a signature is good, and all others say nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if call["params"][0].get("to", "").lower() != FAST:
            time.sleep(SLOW)
        answer = {"jsonrpc": "2.0", "id": call["id"], "result": "0x1626ba7e" + "00" * 28}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass


chain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chain)
chain.daemon_threads = True
threading.Thread(target=chain.serve_forever, daemon=True).start()
configuration = f'''[server]
services = ["msgr"]
[msgr]
wallet = true
siwe = {{ domain = "example.org", uri = "https://example.org/msgr/" }}
[chains]
1 = "http://127.0.0.1:{chain.server_port}"
'''
with Server(configuration) as server:
    def post(path, source, timeout=25, **fields):
        answer = server.request(
            "POST", f"/msgr/{path}", json.dumps(fields).encode(),
            {"Content-Type": "application/json"}, source=source, timeout=timeout)
        return answer.status, json.loads(answer.body or b"{}") if answer.status == 200 else {}

    def login(address, source, name):
        """Signs in, and returns the status and the seconds that it took."""
        status, challenge = post("wallet-challenge", source, Address=address)
        if status != 200:
            return status, 0.0
        begin = time.monotonic()
        status, _ = post(
            "wallet-login", source, Message=challenge["Message"], Signature="0x" + "00" * 65, DeviceID="00" * 32,
            Username=name)
        return status, time.monotonic() - begin

    def attack(number):
        return login(f"0x{number + 1:040x}", f"127.0.1.{number % ADDRESSES + 1}", f"stranger{number}")

    with concurrent.futures.ThreadPoolExecutor(LOGINS) as threads:
        attacks = [threads.submit(attack, number) for number in range(LOGINS)]
        time.sleep(2)
        status, took = login(FAST, "127.0.9.1", "bystander")
        outcomes = [future.result() for future in attacks]
    longest = max(seconds for _, seconds in outcomes)
    verdict(
        "msgr_wallet_calls", bystander=status == 200, bystander_s=(round(took, 2), 2), longest_s=(round(longest, 1), 11.5),
        strangers_refused=all(status != 200 for status, _ in outcomes))

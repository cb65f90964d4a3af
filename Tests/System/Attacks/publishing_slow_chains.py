"""Strangers of one site publish files that name 32 slow contracts each, with `policy = "known"`: an owner at another site, whose
contract answers at once, is let in within seconds, and its retries, as Retry-After says, use up nothing of its own.
"""

import http.server
import json
import pathlib
import subprocess
import threading
import time

from attack import Server, verdict

OWNED = "0x" + "0f" * 20
FILES, ORIGINS, SLOW = 12, 32, 30
owner = {}


class Chain(http.server.BaseHTTPRequestHandler):
    """An endpoint whose contracts never answer in time, but for one."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        calls = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = []
        for call in calls:
            parameters = call["params"][0]
            if parameters.get("to", "").lower() != OWNED and parameters["data"].startswith("0x8da5cb5b"):
                time.sleep(SLOW)
            is_owner = parameters["data"].startswith("0x8da5cb5b") and owner
            result = "0x" + "00" * 12 + owner["address"][2:].lower() if is_owner else "0x"
            answers.append({"jsonrpc": "2.0", "id": call["id"], "result": result})
        body = json.dumps(answers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass


def script(addresses):
    contracts = "".join(
        f'<ts:contract name="C{number}" interface="erc20"><ts:address network="1">{address}</ts:address></ts:contract>'
        for number, address in enumerate(addresses))
    origins = "".join(f'<ts:ethereum contract="C{number}"/>' for number in range(len(addresses)))
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript">{contracts}'
            f'<ts:origins>{origins}</ts:origins></ts:token>').encode()


chain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chain)
chain.daemon_threads = True
threading.Thread(target=chain.serve_forever, daemon=True).start()
configuration = f'''[tokenscript]
repository = "repository"
[tokenscript.publish]
policy = "known"
[chains]
1 = {{ url = "http://127.0.0.1:{chain.server_port}", registry = "off" }}
'''
with Server(configuration, files={"repository/none.txt": b""}) as server:
    folder = pathlib.Path(server.folder)

    def sign(name, content, number=0):
        key, file = folder / f"{name}.pem", folder / f"{name}-{number}.tsml"
        if not key.exists():
            subprocess.run(["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", key], check=True)
        file.write_bytes(content)
        subprocess.run([server.program, "repo", "sign", "--key", key, file], check=True, capture_output=True)
        return file.read_bytes()

    owners = sign("owner", script([OWNED]))
    listed = subprocess.run([server.program, "repo", "verify", "--json", folder / "owner-0.tsml"], capture_output=True, text=True)
    owner["address"] = json.loads(listed.stdout)["files"][0]["key"]
    statuses = []
    for number in range(FILES):
        addresses = [f"0x{number * ORIGINS + index + 1:040x}" for index in range(ORIGINS)]
        content = sign("stranger", script(addresses), number)
        # All of 127.0.1.0/24, which is one site.
        answer = server.request(
            "PUT", f"/2020/06/chain/1/{addresses[0]}", content, source=f"127.0.1.{number + 1}", timeout=20)
        statuses.append(answer.status)

    begin, retries, waits = time.monotonic(), 0, []
    while True:
        answer = server.request("PUT", f"/2020/06/chain/1/{OWNED}", owners, source="127.0.9.1", timeout=20)
        if answer.status in (200, 201) or time.monotonic() - begin > 40:
            break
        waits.append(answer.fields.get("retry-after"))
        retries += 1
        # More often than it says: that is no reason to be refused later.
        time.sleep(0.25)
    took = time.monotonic() - begin
    verdict(
        "publishing_slow_chains", owner_let_in=answer.status == 201, seconds=(round(took, 1), 12), retries=(retries, 60),
        strangers_refused=set(statuses) == {403}, retry_after=all(wait == "5" for wait in waits))

"""Strangers publish: files of 8 MiB, signed and not, old ones over again, half uploads, other people's places, statements
of withdrawal, while a bystander reads the file that they are after and publishes a file of its own again and again.
"""

import json
import os
import pathlib
import subprocess
import time

from attack import ATTACKER, CANARY, Canary, Server, attack_apart, verdict

CONFIGURATION = '''[server]
public_url = "https://repo.example"
[tokenscript]
repository = "repository"
[tokenscript.publish]
policy = "open"
'''
CONTRACT = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
PLACE = f"/2020/06/chain/1/{CONTRACT}"
PAGE = f"/contracts/1/{CONTRACT}"


def script(address, filling=""):
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">'
            f'<ts:address network="1">{address}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/>'
            f'</ts:origins>{filling}</ts:token>').encode()


with Server(CONFIGURATION, files={"repository/none.txt": b""}) as server:
    folder = pathlib.Path(server.folder)

    def key(name):
        path = folder / f"{name}.pem"
        subprocess.run(["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", path], check=True)
        return path

    def sign(content, key):
        path = folder / "file.tsml"
        path.write_bytes(content)
        subprocess.run([server.program, "repo", "sign", "--key", key, path], check=True, capture_output=True)
        return path.read_bytes()

    def put(content, place=PLACE, source=ATTACKER, **arguments):
        return server.request("PUT", place, content, source=source, timeout=20, **arguments)

    owner, stranger = key("owner"), key("stranger")
    old = sign(script(CONTRACT), owner)
    time.sleep(1.1)  # The signing time counts seconds.
    present = sign(script(CONTRACT), owner)
    other = "0x" + "22" * 20
    foreign = sign(script(CONTRACT), stranger)
    large = sign(script(CONTRACT, "<ts:card/>" * 190_000 + f"<ts:card>{'x' * 6_000_000}</ts:card>"), stranger)
    own = sign(script(other), stranger)
    statuses = [put(old, source="127.0.0.9").status, put(present, source="127.0.0.9").status,
                put(own, f"/2020/06/chain/1/{other}", source=CANARY).status]
    idle = most = server.rss
    slowest = 0.0

    def read():
        global most
        most = max(most, server.rss)
        return (server.get(PLACE, source=CANARY).body == present
                and server.get(PAGE, source=CANARY).status == 200)

    def publish():
        """The same bytes again: verified as a first time, and answered with 200."""
        global slowest
        start = time.monotonic()
        status = put(own, f"/2020/06/chain/1/{other}", source="127.0.0.5").status
        slowest = max(slowest, time.monotonic() - start)
        return status == 200

    def half():
        with server.connect() as connection:
            connection.sendall(f"PUT {PLACE} HTTP/1.1\r\nHost: repo.example\r\nContent-Length: {len(large)}\r\n\r\n"
                               .encode() + large[:len(large) // 2])

    def withdraw():
        statement = f"TokenScript time={time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}, signature={'A' * 88}"
        server.request("DELETE", PLACE, fields={"Authorization": statement})

    bodies = [lambda: put(large), lambda: put(bytes(8 << 20)), lambda: put(old), lambda: put(foreign), half, withdraw,
              lambda: put(foreign, f"/2020/06/chain/1/{os.urandom(20).hex()}"), lambda: server.get(PAGE),
              lambda: put(bytes((8 << 20) + 1))]
    with Canary(server, read) as canary, Canary(server, publish, interval=0.5) as publisher:
        attack_apart(bodies, 10)
    rows = json.loads(server.get("/?format=json").body)["contracts"]
    files = sorted(row["path"].rpartition("/")[2] for row in rows)
    written = sorted(path.name for path in (folder / "repository").rglob("*"))
    verdict("publishing", canary, begins=statuses == [201, 200, 201], publishes=(publisher.failures, 0),
            slowest_publication_s=(slowest, 5), files=files == [f"1-{other}.tsml", f"1-{CONTRACT.lower()}.tsml"],
            untouched=written == ["none.txt"],
            stays=server.get(PLACE).body == present, more_rss_mb=((most - idle) / 1e6, 300))

#!/usr/bin/python3
"""publishing_withdrawals.py AWD: a stranger publishes a file of nearly 8 MiB, and eight addresses withdraw it without pause by statements
that no key has signed, each of which has the file verified. A bystander's short files are looked at all the same."""

import datetime
import functools
import pathlib
import subprocess

from attack import ATTACKER, CANARY, Canary, Server, attack_apart, verdict

TOML = '''[server]
public_url = "http://127.0.0.1"
[tokenscript]
repository = "repository"
[tokenscript.publish]
policy = "open"
'''
CONTRACT, OTHER = "0x" + "22" * 20, "0x" + "33" * 20


def script(address, elements):
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">'
            f'<ts:address network="1">{address}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/>'
            f'</ts:origins>{("<ts:x/>" + " " * 35) * elements}</ts:token>').encode()


with Server(TOML, files={"repository/none.txt": b""}) as server:
    folder = pathlib.Path(server.folder)

    key, file = folder / "key.pem", folder / "long.tsml"
    subprocess.run(["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", key], check=True)
    file.write_bytes(script(CONTRACT, 199_000))
    subprocess.run([server.program, "repo", "sign", "--key", key, file], check=True, capture_output=True)
    path = f"/2020/06/chain/1/{CONTRACT}"
    published = server.request("PUT", path, file.read_bytes(), source=ATTACKER, timeout=20).status

    def withdraw(source=ATTACKER):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return server.request("DELETE", path, source=source, timeout=20,
                              fields={"Authorization": f'TokenScript time="{now}", signature="AAAA"'}).status

    def look():
        """A file without a signature, which isn't counted."""
        return server.request("PUT", f"/2020/06/chain/1/{OTHER}", script(OTHER, 1), source=CANARY).status == 400

    refused = withdraw()
    with Canary(server, look) as canary:
        attack_apart([functools.partial(withdraw, f"127.0.1.{number + 1}") for number in range(8)], 10)
    verdict("publishing_withdrawals", canary, published=published == 201, refused=refused == 403)

"""Signed documents of nearly 8 MiB, several signatures deep, at the verification and at publishing, while a bystander has a
short signed file verified.
"""

import pathlib
import subprocess
import time

from attack import CANARY, Canary, Server, attack_apart, verdict

CONFIGURATION = '''[tokenscript]
repository = "repository"
[tokenscript.publish]
policy = "open"
'''
CONTRACT = "0x6b175474e89094c44da98b954eedeac495271d0f"
TYPE = {"Content-Type": "multipart/form-data; boundary=b"}
PATH = "/api/v1/verifyXMLDSig"


def script(filling=""):
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">'
            f'<ts:address network="1">{CONTRACT}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/>'
            f'</ts:origins>{filling}</ts:token>').encode()


def form(content):
    return (b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + content + b"\r\n--b--\r\n")


with Server(CONFIGURATION, files={"repository/none.txt": b""}) as server:
    key, file = (pathlib.Path(server.folder, name) for name in ("key.pem", "file.tsml"))
    subprocess.run(["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", key], check=True)

    def sign(content, times=1):
        file.write_bytes(content)
        for _ in range(times):
            subprocess.run([server.program, "repo", "sign", "--key", key, file], check=True, capture_output=True)
        return file.read_bytes()

    short = form(sign(script()))
    elements = "<ts:card a='&lt;' b=''/>" * 60_000
    long = sign(script(elements + "<ts:card>" + "&#13;" * 1_300_000 + "</ts:card>"))
    assert 7 << 20 < len(long) < (8 << 20) - 1000, len(long)
    start = time.monotonic()
    alone = server.request("POST", PATH, form(long), TYPE, timeout=30)
    took = time.monotonic() - start

    def call():
        return server.request("POST", PATH, short, TYPE, source=CANARY).status in (202, 400)

    bodies = [lambda source=f"127.0.3.{number}": server.request("POST", PATH, form(long), TYPE, source=source, timeout=30)
              for number in range(1, 9)]
    bodies += [lambda source=f"127.0.4.{number}": server.request("PUT", f"/2020/06/chain/1/{CONTRACT}", long, source=source,
                                                                 timeout=30) for number in range(1, 5)]
    with Canary(server, call) as canary:
        attack_apart(bodies, 15)
    verdict("repository_documents", failures=(canary.failures, 0), calls=(20, canary.calls, None),
            p99_ms=(round(canary.p99 * 1000), 1000), is_read=alone.status in (202, 400), one_document_s=(took, 3))

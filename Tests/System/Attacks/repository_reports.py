"""Four hundred addresses report files without pause, of which most have had their ten, and the file that they name is verified once.
A bystander, each time at another address, reports and fetches a file."""

import hashlib
import itertools
import json

from attack import Canary, Server, attack_apart, verdict

ADDRESS = "0x" + "22" * 20
PATH = f"/2020/06/chain/1/{ADDRESS}"
FILE = (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">'
        f'<ts:address network="1">{ADDRESS}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/>'
        f'</ts:origins></ts:token>').encode()
TOML = """[server]
public_url = "http://127.0.0.1"
trusted_proxies = ["127.0.0.1"]
services = ["tokenscript"]
[tokenscript]
repository = "repository"
signature = "off"
"""
DIGESTS = [hashlib.sha256(FILE).hexdigest(), "0a" * 32]

with Server(TOML, files={"repository/coin.tsml": FILE}) as server:
    def report(source: str, digest: str, url: str = f"http://127.0.0.1{PATH}") -> int:
        body = json.dumps({"url": url, "sha256": digest, "reason": "signature", "detail": "x" * 200})
        return server.request("POST", "/tokenscript/report", body.encode(), {"X-Forwarded-For": source}, source="127.0.0.1").status

    turns, newcomers = itertools.count(), itertools.count()

    def flood():
        number = next(turns)
        report(f"10.0.{number % 4}.{number // 4 % 100}", DIGESTS[number % 2])

    def go_on():
        source = f"192.0.2.{next(newcomers) % 250}" if next(newcomers) < 500 else f"198.51.100.{next(newcomers) % 250}"
        fetched = server.request("GET", PATH, fields={"X-Forwarded-For": source}, source="127.0.0.1").status
        return report(source, DIGESTS[0]) == 202 and fetched == 200

    greedy = [report("10.9.9.9", DIGESTS[0]) for _ in range(12)]
    malformed = [report("10.9.9.8", "0a"), report("10.9.9.8", DIGESTS[0], "http://other.example" + PATH),
                 report("10.9.9.8", DIGESTS[0], f"http://127.0.0.1/2020/06/chain/1/0x{'33' * 20}")]
    before, disk = server.rss, server.disk
    with Canary(server, go_on, interval=0.2) as canary:
        attack_apart([flood] * 8, 12)
    verdict("repository_reports", canary, refused=greedy == [202] * 10 + [429] * 2, malformed=malformed == [400, 400, 404],
            verified=(server.log.count("the reported file"), 1), memory_MiB=((server.rss - before) >> 20, 64),
            disk_MiB=((server.disk - disk) >> 20, 32), log_KiB=(len(server.log) >> 10, 1024))

#!/usr/bin/python3
"""preview_room.py AWD: four addresses put up ten previews of nearly 8 MiB each, more than there is room for. A bystander's preview
stays, others go on putting up theirs, and each of the four keeps some."""

import concurrent.futures
import json

from attack import CANARY, Canary, Server, verdict

TOML = '''[server]
public_url = "http://127.0.0.1"
[tokenscript]
repository = "repository"
[tokenscript.preview]
policy = "open"
'''
ADDRESSES, PREVIEWS, ROOM = 4, 10, 32


def script(note):
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">'
            f'<ts:address network="1">0x{"22" * 20}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/>'
            f'</ts:origins><!--{note}--></ts:token>').encode()


with Server(TOML, files={"repository/none.txt": b""}) as server:
    def put(content, source):
        """Puts up a preview, and returns the path of its URL, or None."""
        response = server.request("POST", "/preview", content, source=source, timeout=20)
        if response.status != 201:
            return None
        return json.loads(response.body)["url"].removeprefix("http://127.0.0.1")

    def is_there(path):
        return path is not None and server.request("GET", path, source=CANARY, timeout=20).status == 200

    long = script("x" * ((8 << 20) - 1000))
    own = put(script("own"), CANARY)
    with Canary(server, lambda: is_there(own)) as canary, concurrent.futures.ThreadPoolExecutor(ADDRESSES) as threads:
        floods = list(threads.map(lambda number: [put(long, f"127.0.1.{number + 1}") for _ in range(PREVIEWS)], range(ADDRESSES)))
    others = [put(script(f"other {number}"), f"127.0.2.{number + 1}") for number in range(20)]
    last = put(long, "127.0.3.1")
    kept = [sum(map(is_there, paths)) for paths in floods]
    verdict("preview_room", canary, taken=(ADDRESSES * PREVIEWS, sum(path is not None for flood in floods for path in flood), None),
            others=(20, sum(map(is_there, others)), 20), long_one=is_there(last), own=is_there(own),
            kept=(ROOM - 2 - ADDRESSES, sum(kept), ROOM - 1), of_one=(ROOM // ADDRESSES - 2, min(kept), max(kept)))

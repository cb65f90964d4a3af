"""Files of a few hundred kilobytes that would make lists of hundreds of megabytes."""

from attack import Canary, Server, verdict

CONFIGURATION = '[tokenscript]\nrepository = "repository"\nsignature = "off"\ntrust = "off"\n'


def script(name, addresses):
    body = "".join(f'<ts:address network="1">{address}</ts:address>' for address in addresses)
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="{name}">{body}</ts:contract>'
            f'<ts:origins><ts:ethereum contract="{name}"/></ts:origins></ts:token>').encode()


files = {
    "repository/name.tsml": script("n" * 100_000, (f"0x{number:040x}" for number in range(2000))),
    "repository/many.tsml": script("m" * 256, (f"0x{number:040x}" for number in range(256))),
    "repository/warnings.tsml": script("w", ["0xbad"] * 60_000 + [f"0x{'w' * 5000}", "0x" + "ab" * 20]),
}
with Server(CONFIGURATION, files={"repository/none.txt": b""}) as empty:
    idle = empty.rss
with Server(CONFIGURATION, files=files) as server:
    with Canary(server) as canary:
        sizes = {}
        for path in ("/?format=json", "/"):
            try:
                sizes[path] = max(len(server.get(path, timeout=5).body) for _ in range(3))
            except OSError:
                sizes[path] = 10**9
    verdict("repository_rows", canary, json_kb=(sizes["/?format=json"] // 1000, 2000), page_kb=(sizes["/"] // 1000, 1000),
            more_rss_mb=((server.rss - idle) / 1e6, 60))

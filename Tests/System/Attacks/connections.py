"""Kept connections, as many as there are places, from four addresses: a newcomer is served all the same."""

import time

from attack import Canary, Server, verdict

TOML = "[server]\nlimits = { connections = 400, connections_per_address = 100 }\n"

with Server(TOML) as server:
    held = []
    for source in range(3, 8):
        for _ in range(110):
            try:
                connection = server.connect(f"127.0.0.{source}")
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n")
                held.append(connection)
            except OSError:
                pass
    with Canary(server) as canary:
        time.sleep(8)
    verdict("connections", canary, attempts=(500, len(held), None),
            open=(server.metric("awd_http_connections"), 405))

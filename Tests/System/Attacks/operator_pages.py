"""Asks for the operator's pages as a page in a browser does (DNS rebinding), and as the proxies in front would."""

from attack import Server, verdict

PAGES = ["/metrics", "/status", "/debug/pushes"]
FORWARDED = ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "Via", "X-Real-IP"]
DEBUG = "[push]\nlog_payloads = true\n[msgr]\npush = \"log\"\n"


def shown(server: Server, **arguments) -> int:
    return sum(server.get(page, source="127.0.0.1", **arguments).status == 200 for page in PAGES)


def old_version(server: Server, page: str) -> bool:
    """nginx asks in HTTP/1.0 unless it is told otherwise, with the address of the server behind it as `Host`."""
    with server.connect("127.0.0.1") as connection:
        connection.sendall(f"GET {page} HTTP/1.0\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        return b" 200 " in connection.recv(65536).split(b"\r\n")[0]


with Server(DEBUG) as server:
    port = server.port
    direct = shown(server)
    rebound = shown(server, fields={"Host": "evil.example"}) + shown(server, fields={"Host": f"evil.example:{port}"})
    forwarded = sum(shown(server, fields={name: "127.0.0.1"}) for name in FORWARDED)
    by_nginx = sum(old_version(server, page) for page in PAGES)
    # HAProxy passes what the client wrote, which is HAProxy's own address.
    by_haproxy = shown(server, fields={"Host": f"127.0.0.1:{port + 1}"})

with Server("[server]\ntrusted_proxies = [\"127.0.0.1\"]\n" + DEBUG) as server:
    by_trusted = shown(server)

# The port of the first server is free again.
with Server("[server]\nadmin_listen = \"http://127.0.0.1:%d\"\n" % port + DEBUG) as server:
    beside = shown(server)
    server.port = port
    at_admin = shown(server)
    rebound_at_admin = shown(server, fields={"Host": f"evil.example:{port}"})

verdict("operator_pages", direct=(3, direct, 3), rebound=(rebound, 0), forwarded=(forwarded, 0), by_nginx=(by_nginx, 0),
        by_haproxy=(by_haproxy, 0), by_trusted=(by_trusted, 0), beside=(beside, 0), at_admin=(3, at_admin, 3),
        rebound_at_admin=(rebound_at_admin, 0))

"""One greeting of TLS, copied again and again by one address, which costs the server a signature each time."""

import socket
import ssl

from HTTP2.peer import Peer, SecureServer
from attack import ATTACKER, CANARY, Canary, attack_apart, verdict

SECONDS = 10


def greeting() -> bytes:
    """A ClientHello."""
    outgoing = ssl.MemoryBIO()
    try:
        Peer.context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def main():
    with SecureServer() as server:
        hello = greeting()

        def greet():
            for _ in range(30):
                with socket.create_connection(("127.0.0.1", server.secure_port), 5, (ATTACKER, 0)) as connection:
                    connection.sendall(hello)

        def call():
            with Peer(server, CANARY):
                pass

        before, accepted = server.rss, server.metric("awd_http_accepted_total")
        with Canary(server, call) as canary:
            attack_apart([greet] * 4, SECONDS)
        verdict("tls_greetings", canary, greetings=(5000, server.metric("awd_http_accepted_total") - accepted, None),
                grown_MiB=((server.rss - before) >> 20, 256))


if __name__ == "__main__":
    main()

"""Frames and sizes that say nothing, without end: each costs its sender the connection.

What comes after the end of a connection was decided is read and dropped, up to 16 MiB, so that the reason can be read.
"""

import base64
import os
import ssl
import time

from HTTP2.peer import SETTINGS, Peer, SecureServer, frame
from attack import Canary, verdict

LIMIT = 64 << 20
MOST = 24 << 20
POST = b"POST /api/v1/verifyXMLDSig HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = (f"GET /siren?{os.urandom(32).hex()} HTTP/1.1\r\nHost: t\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode()


def taken(connection, piece, opening=b""):
    """The bytes that are taken before the connection ends; other silence is no end."""
    connection.settimeout(4)
    sent = 0
    try:
        connection.sendall(opening)
        while sent < LIMIT:
            connection.sendall(piece)
            sent += len(piece)
    except TimeoutError:
        return LIMIT
    except (OSError, ssl.SSLError):
        pass
    return sent


with SecureServer() as server:
    before = server.rss
    with Canary(server) as canary:
        figures = {
            "zeros": taken(server.connect(), b"0" * 65536, POST),
            "extensions": taken(server.connect(), (b"1;" + b"e" * 4000 + b"\r\nx\r\n") * 16, POST),
            "fragments": taken(server.connect(), b"\x00\x80\0\0\0\0" * 10000, UPGRADE + b"\x02\x80\0\0\0\0"),
            "unknown_frames": taken(Peer(server).socket, frame(0xbb) * 7000),
            "settings": taken(Peer(server).socket, frame(SETTINGS) * 7000),
        }
        grown = server.rss - before
    verdict("empty_frames", canary, grown_MiB=(grown >> 20, 48), **{name: (count, MOST) for name, count in figures.items()})

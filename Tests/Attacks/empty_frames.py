"""Frames and sizes that say nothing, without end: each costs its sender the connection."""

import base64
import os
import ssl
import struct
import subprocess
import time

from attack import Server, verdict

LIMIT = 8 << 20


def taken(connection, piece, opening=b""):
    """The bytes that are taken before the connection ends."""
    sent = 0
    connection.settimeout(3)
    try:
        connection.sendall(opening)
        while sent < LIMIT:
            connection.sendall(piece)
            sent += len(piece)
    except (OSError, ssl.SSLError):
        pass
    return sent


def frame(kind, payload=b"", stream=0):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, 0]) + struct.pack(">I", stream) + payload


with Server() as server:
    zeros = taken(server.connect(), b"0" * 65536,
                  b"POST /api/v1/verifyXMLDSig HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
    extensions = taken(server.connect(), b"1;" + b"e" * 4000 + b"\r\nx\r\n",
                       b"POST /api/v1/verifyXMLDSig HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
    key = base64.b64encode(os.urandom(16)).decode()
    fragments = taken(
        server.connect(), b"\x00\x80\0\0\0\0" * 10000,
        f"GET /siren?{os.urandom(32).hex()} HTTP/1.1\r\nHost: t\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode() + b"\x02\x80\0\0\0\0")
figures = dict(zeros=(zeros, LIMIT - 1), extensions=(extensions, LIMIT - 1), fragments=(fragments, LIMIT - 1))
verdict("nothing", **figures)

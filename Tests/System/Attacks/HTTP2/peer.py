"""An HTTP/2 peer for attacks: frames by hand, header fields as HPACK literals, and windows that it opens as it likes."""

import os
import socket
import ssl
import struct
import subprocess
import time

from attack import ATTACKER, Server

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind: int, payload: bytes = b"", stream: int = 0, flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def number(value: int, bits: int, first: int = 0) -> bytes:
    """An HPACK integer (RFC 7541 section 5.1) behind the bits of `first`."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    value -= most
    rest = bytearray([first | most])
    while value >= 128:
        rest.append(value & 127 | 128)
        value >>= 7
    return bytes(rest) + bytes([value])


def literal(name: str, value: str, indexed: bool = False) -> bytes:
    """A field by its name and value, which the server's table takes if it is `indexed`."""
    return (b"\x40" if indexed else b"\x00") + b"".join(
        number(len(text), 7) + text.encode() for text in (name, value))


def head(path: str, method: str = "GET", fields: bytes = b"") -> bytes:
    return (literal(":method", method) + literal(":scheme", "https") + literal(":path", path)
            + literal(":authority", "localhost") + fields)


class SecureServer(Server):
    """A server that speaks TLS at `secure_port`, beside plain HTTP at `port`."""

    def __init__(self, toml: str = "", **arguments):
        super().__init__(**arguments)
        for name, words in (("key.pem", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]),
                            ("certificate.pem", ["req", "-x509", "-key", "key.pem", "-subj", "/CN=localhost", "-days", "2"])):
            subprocess.run(["openssl", *words, "-out", name], cwd=self.folder, check=True, capture_output=True)
        tls = f'tls = {{ certificate = "{self.folder}/certificate.pem", key = "{self.folder}/key.pem" }}\n'
        text = toml.replace("[server]\n", "[server]\n" + tls) if "[server]\n" in toml else "[server]\n" + tls + toml
        with open(self.configuration, "w") as file:
            file.write(text)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.secure_port = probe.getsockname()[1]

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment,
                "AWD_SERVER_LISTEN": f"http://127.0.0.1:{self.port},https://127.0.0.1:{self.secure_port}"}


def gather(server: SecureServer, begin, peers: list["Peer"], count: int, seconds: float) -> int:
    """Begins peers until there are `count`, waits for the end of the time, and returns the most memory that was taken."""
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        if len(peers) < count:
            try:
                peers.append(begin())
            except OSError:
                pass
        else:
            time.sleep(0.2)
        most = max(most, server.rss)
    return most


class Peer:
    """One connection, which has said that each stream's window is `window`."""

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])

    def __init__(self, server: SecureServer, source: str = ATTACKER, window: int = 65535, timeout: float = 5):
        plain = socket.create_connection(("127.0.0.1", server.secure_port), timeout, (source, 0))
        try:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
            self.socket = self.context.wrap_socket(plain)
        except BaseException:
            plain.close()
            raise
        self.stream = -1
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, struct.pack(">HI", 4, window)))

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, content: bytes):
        self.socket.sendall(content)

    def request(self, block: bytes, has_body: bool = False) -> bytes:
        """The frame of a further request."""
        self.stream += 2
        return frame(HEADERS, block, self.stream, END_HEADERS | (0 if has_body else END_STREAM))

    def open_window(self, size: int, stream: int = 0):
        self.send(frame(WINDOW, struct.pack(">I", size), stream))

    def is_over(self) -> bool:
        """Reads what has come, and tells whether the connection has ended."""
        self.socket.setblocking(False)
        try:
            while True:
                if not self.socket.recv(65536):
                    return True
        except ssl.SSLWantReadError:
            return False
        except OSError:
            return True
        finally:
            self.socket.settimeout(5)

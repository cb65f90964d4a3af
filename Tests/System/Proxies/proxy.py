#!/usr/bin/python3
"""proxy.py AWD PROXY: puts PROXY (caddy, haproxy or nginx) in front of the program AWD, and looks through it.

Limits must go by the real client, the operator's pages must be closed, WebSockets and HTTP/2 must come through. A second
awd that trusts no proxy stands behind the same proxy at its plainest; its operator's pages must be closed too.
"""

import base64
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "Attacks"))
from attack import Response, Server, verdict  # noqa: E402

PAGES = ["/metrics", "/status", "/debug/pushes"]
COMMANDS = {
    "nginx": ["/usr/sbin/nginx", "-e", "{folder}/nginx.log", "-p", "{folder}", "-c", "{configuration}"],
    "haproxy": ["/usr/sbin/haproxy", "-db", "-f", "{configuration}"],
    "caddy": ["/usr/bin/caddy", "run", "--adapter", "caddyfile", "--config", "{configuration}"],
}
MSGR = """
[msgr]
push = "log"
debug_pushes = true
password_memory = "8KiB"
password_passes = 1
failed_logins_address = 5
"""


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Both(Server):
    """A server that listens at two addresses, of which one speaks TLS."""

    def __init__(self, toml: str, secure_port: int):
        super().__init__(toml)
        self.secure_port = secure_port

    @property
    def environment(self) -> dict[str, str]:
        plain, secure = f"http://127.0.0.1:{self.port}", f"https://127.0.0.1:{self.secure_port}"
        return {**super().environment, "AWD_SERVER_LISTEN": f"{plain},{secure}",
                "AWD_SERVER_TLS_CERTIFICATE": f"{self.folder}/certificate.pem",
                "AWD_SERVER_TLS_KEY": f"{self.folder}/key.pem"}


def connect(port: int, source: str, is_secure: bool) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), 10, (source, 0))
    if not is_secure:
        return connection
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(connection, server_hostname="localhost")


def ask(port: int, path: str, body: dict | None = None, fields: dict[str, str] | None = None,
        source: str = "127.0.0.3", is_secure: bool = True) -> Response:
    """Sends a request in HTTP/1.1, and reads the head and the body as far as the proxy closes behind it."""
    content = b"" if body is None else json.dumps(body).encode()
    all_fields = {"Host": f"127.0.0.1:{port}", "Connection": "close", **(fields or {})}
    if body is not None:
        all_fields.update({"Content-Type": "application/json", "Content-Length": str(len(content))})
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in all_fields.items())
    with connect(port, source, is_secure) as connection:
        connection.sendall(head.encode() + b"\r\n" + content)
        received = b""
        while piece := connection.recv(65536):
            received += piece
            if received.startswith(b"HTTP/1.1 101") and b"\r\n\r\n" in received:
                break
    head, _, body = received.partition(b"\r\n\r\n")
    return Response(int(head.split()[1]), {}, body)


def register(port: int, name: str, source: str) -> str:
    body = {"Username": name, "Password": "a password", "DeviceID": f"stream:device-{name}"}
    response = ask(port, "/register", body, source=source)
    text = response.body.decode()
    return json.loads(text[text.index("{"):text.rindex("}") + 1])["Token"]


def guess(port: int, source: str, number: int, fields: dict[str, str] | None = None) -> int:
    body = {"Username": f"user{number}", "Password": "wrong", "DeviceID": "stream:device-0001"}
    return ask(port, "/login", body, fields, source).status


def stream(port: int, token: str) -> int:
    fields = {"Authorization": f"Bearer {token}", "Connection": "Upgrade", "Upgrade": "websocket",
              "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}
    return ask(port, "/stream", fields=fields).status


def version(port: int) -> str:
    """The version of HTTP in which curl gets a page, and the status."""
    return subprocess.run(["curl", "-sk", "--http2", "-o", "/dev/null", "-w", "%{http_version} %{http_code}",
                           f"https://127.0.0.1:{port}/healthz"], capture_output=True, text=True, timeout=20).stdout


def shown(port: int, is_secure: bool, *hosts: str) -> int:
    return sum(ask(port, page, fields={"Host": host}, source=source, is_secure=is_secure).status == 200
               for page in PAGES for host in hosts for source in ("127.0.0.1", "127.0.0.3"))


# The examples that the package ships, and how their program checks one.
EXAMPLES = {
    "caddy": ("Caddyfile", ["/usr/bin/caddy", "validate", "--adapter", "caddyfile", "--config"]),
    "haproxy": ("haproxy.cfg", ["/usr/sbin/haproxy", "-c", "-f"]),
    "nginx": ("nginx.conf", ["/usr/sbin/nginx", "-t", "-c"]),
}


def is_example_good(name: str, folder: str) -> bool:
    """Whether the program takes the shipped example, and it asks /healthz alone whether awd lives."""
    file, command = EXAMPLES[name]
    text = (FOLDER.parents[2] / "config/proxies" / file).read_text()
    if "uri /readyz" in text:
        return False
    text = text.replace(f"/etc/{name}/awd.pem", f"{folder}/both.pem")
    if name == "nginx":
        text = f"error_log {folder}/nginx.log; pid {folder}/nginx.pid; events {{}}\nhttp {{\n{text}}}\n"
    example = pathlib.Path(folder, file)
    example.write_text(text)
    done = subprocess.run([*command, str(example)], capture_output=True, text=True, env={**os.environ, "HOME": folder})
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done.returncode == 0


def main():
    name = sys.argv[2]
    secure_port, second_port, plain_port, awd_port, awd_secure_port, bare_port = free_ports(6)
    trusting = Both("[server]\ntrusted_proxies = [\"127.0.0.1\"]\n" + MSGR, awd_secure_port)
    bare = Server(MSGR)
    trusting.port, bare.port = awd_port, bare_port
    folder = trusting.folder
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"], check=True, capture_output=True)
    both = pathlib.Path(folder, "certificate.pem").read_text() + pathlib.Path(folder, "key.pem").read_text()
    pathlib.Path(folder, "both.pem").write_text(both)
    values = {"folder": folder, "secure_port": secure_port, "second_port": second_port, "plain_port": plain_port,
              "awd_port": awd_port, "awd_secure_port": awd_secure_port, "bare_port": bare_port}
    guide = (FOLDER.parents[2] / "Sources/awd/awd.docc/Operations.md").read_text()
    lines = re.search(rf"^```{name}\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)[1]
    text = (FOLDER / f"{name}.conf").read_text().replace("{guide}", lines.replace("127.0.0.1:8080", "127.0.0.1:{awd_port}"))
    for key, value in values.items():
        text = text.replace("{" + key + "}", str(value))
    configuration = pathlib.Path(folder, "proxy.conf")
    configuration.write_text(text)
    example = is_example_good(name, folder)
    # Its workers are another user where root starts it.
    os.chmod(folder, 0o755)
    with trusting, bare:
        command = [word.format(folder=folder, configuration=configuration) for word in COMMANDS[name]]
        environment = {**os.environ, "HOME": folder}
        with open(f"{folder}/proxy.log", "wb") as log:
            proxy = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            end = time.monotonic() + 15
            while True:
                try:
                    if ask(secure_port, "/healthz").status == 200:
                        break
                except OSError:
                    pass
                if proxy.poll() is not None or time.monotonic() > end:
                    sys.exit(f"FAIL {name}: {pathlib.Path(folder, 'proxy.log').read_text()[-1000:]}")
                time.sleep(0.1)
            token = register(secure_port, "anna", "127.0.0.4")
            # Whatever the client claims about itself, its address counts.
            guesses = [guess(secure_port, "127.0.0.3", number, {"X-Forwarded-For": f"192.0.2.{number}"})
                       for number in range(12)]
            other = ask(secure_port, "/contacts", {"Username": "anna", "Password": "a password"}, source="127.0.0.4")
            local = [f"127.0.0.1:{awd_port}", f"localhost:{awd_port}"]
            pages = shown(secure_port, True, f"127.0.0.1:{secure_port}", "wallet.example", *local)
            # HAProxy at its plainest can't be told from a client who writes awd's own address as `Host`: this is why a
            # proxy has to be named, or `admin_listen` set.
            plain = shown(plain_port, False, f"127.0.0.1:{plain_port}", "wallet.example")
            bounds = {}
            if name != "nginx":
                is_refused = guess(second_port, "127.0.0.3", 99) == 429
                bounds = {"second_http2": version(second_port) == "2 200", "second_limits": is_refused}
            verdict(name, example=example, limited=guesses[-1] == 429, others_served=other.status == 200, pages=(pages, 0), plain=(plain, 0),
                    websocket=stream(secure_port, token) == 101, http2=version(secure_port) == "2 200", **bounds)
        finally:
            proxy.terminate()
            try:
                proxy.wait(10)
            except subprocess.TimeoutExpired:
                proxy.kill()


main()

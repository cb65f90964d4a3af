"""A network of a script's own, in which every address is this machine's, with a name server: for pushes to hosts that exist
nowhere else. To be imported before anything else, as the script is begun anew in a network namespace."""

import collections
import http.server
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

if "inside" not in sys.argv:
    user = [] if os.geteuid() == 0 else ["-r"]
    os.execvp("unshare", ["unshare", *user, "-n", "-m", sys.executable, "-B", *sys.argv, "inside"])

# A point on P-256 and a secret of a subscription that nobody opens pushes of.
KEYS = {"P256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "Auth": "BTBZMqHH6r4Tts7J_aSIgg"}

temporary = tempfile.TemporaryDirectory()
folder = temporary.name
looked_up = collections.Counter()


def prepare(names: str, own: list[str] = []):
    """Makes the network, with a certificate for some names and addresses of this machine."""
    run = lambda line: subprocess.run(line, shell=True, check=True, cwd=folder, stderr=subprocess.DEVNULL)
    run("ip link set lo up && ip route add local default dev lo && ip -6 route add local default dev lo")
    for address in own:
        run(f"ip address add {address}/32 dev lo")
    run("echo 'nameserver 127.0.0.1' > resolv.conf && mount --bind resolv.conf /etc/resolv.conf")
    run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=push -keyout key.pem -out cert.pem"
        f" -addext subjectAltName={names} && mount --bind cert.pem /etc/ssl/certs/ca-certificates.crt")


def serve_names(addresses):
    """Answers with the addresses that a function gives for a name."""
    threading.Thread(target=run_name_server, args=(addresses,), daemon=True).start()


def run_name_server(addresses):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    while True:
        query, client = server.recvfrom(512)
        labels, place = [], 12
        while query[place]:
            labels.append(query[place + 1:place + 1 + query[place]].decode().lower())
            place += 1 + query[place]
        question, name = query[12:place + 5], ".".join(labels)
        is_v6 = question[-4:-2] == b"\0\x1c"
        looked_up[name] += not is_v6
        found = [socket.inet_pton(socket.AF_INET6 if is_v6 else socket.AF_INET, text)
                 for text in addresses(name) if (":" in text) == is_v6]
        answers = b"".join(b"\xc0\x0c" + question[-4:] + b"\0\0\0\0" + len(data).to_bytes(2, "big") + data for data in found)
        server.sendto(query[:2] + b"\x81\x80\0\1" + len(found).to_bytes(2, "big") + b"\0\0\0\0" + question + answers, client)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def serve_pushes(address: str, handler):
    """Serves HTTPS at an address."""
    server = Server((address, 443), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()

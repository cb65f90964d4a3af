"""A stand-in for Google's token endpoint and FCM over HTTP/1.1 and TLS, which notes what it is sent and misbehaves on demand."""

import collections
import http.server
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time

temporary = tempfile.TemporaryDirectory()
folder = temporary.name
BAD_TOKEN = json.dumps({"error": {
    "code": 400, "status": "INVALID_ARGUMENT", "message": "The registration token is not a valid FCM registration token",
    "details": [{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "INVALID_ARGUMENT"}]}}).encode()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def handle_error(self, *_):
        pass


class Google:
    """`mode` is what it does with pushes: `take`, `hang`, `garbage`, `redirect` or `close`. In any mode it calls tokens that begin
    with `bad` none of its own."""

    def __init__(self, delay: float = 0):
        self.delay, self.mode = delay, "take"
        self.arrived: collections.Counter[str] = collections.Counter()
        self.touched: set[str] = set()
        self.redirected = 0
        self.refused = 0
        run = lambda line: subprocess.run(line, shell=True, check=True, cwd=folder, stderr=subprocess.DEVNULL)
        run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=push -keyout key.pem -out cert.pem"
            " -addext subjectAltName=IP:127.0.0.1")
        run("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.pem")
        google = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/token":
                    return self.answer(json.dumps({"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}).encode())
                if self.path == "/elsewhere":
                    google.redirected += 1
                    return self.answer(b"{}")
                message = json.loads(body)["message"]
                # Identifiers count in each inbox by itself.
                identifier = message["token"].partition("_")[0] + " " + message["data"]["Id"]
                if message["token"].startswith("bad"):
                    google.refused += 1
                    return self.answer(BAD_TOKEN, 400)
                google.touched.add(identifier)
                time.sleep(google.delay)
                match google.mode:
                    case "hang":
                        time.sleep(30)
                        self.close_connection = True
                    case "garbage":
                        self.wfile.write(os.urandom(4096))
                        self.close_connection = True
                    case "redirect":
                        self.answer(b"", 307, f"https://127.0.0.1:{google.port}/elsewhere")
                    case "close":
                        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
                        self.close_connection = True
                    case _:
                        google.arrived[identifier] += 1
                        self.answer(b"{}")

            def answer(self, body, status=200, location=None):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if location:
                    self.send_header("Location", location)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.handler, self.port, self.server = Handler, 0, None
        self.listen()

    def listen(self):
        """Listens, again at the same port after `refuse`."""
        self.server = Server(("127.0.0.1", self.port), self.handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def refuse(self):
        """Refuses connections."""
        self.server.shutdown()
        self.server.server_close()

    @property
    def toml(self) -> str:
        return (f'[push.fcm]\ncredentials = "{folder}/account.json"\nurl = "https://127.0.0.1:{self.port}"\n'
                f'roots = "{folder}/cert.pem"\n')

    def write_account(self):
        with open(f"{folder}/account.json", "w") as file, open(f"{folder}/rsa.pem") as key:
            json.dump({"client_email": "push@wallet.example", "private_key": key.read(), "private_key_id": "1",
                       "token_uri": f"https://127.0.0.1:{self.port}/token", "project_id": "wallet-1"}, file)
        os.chmod(f"{folder}/account.json", 0o600)

#!/usr/bin/python3
"""run.py AWD: ends the program AWD over and over while clients write, and checks that nothing it acknowledged is lost.

Each NAME.json beside this file says how a service is started, written to and read. A round starts it over the data of
the rounds before, lets clients write for a moment, ends it with SIGKILL or SIGTERM, and starts it again to read every
value that it ever acknowledged. SIGTERM must end it with exit code 0. At the end SQLite checks the database.

FAULT_ROUNDS (10) sets the number of rounds, AWD_TEST_SEED the seed of what is random. Needs sqlite3, curl and openssl, and
for Apptimist python3-nacl and python3-websockets.
"""

import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = int(os.environ.get("FAULT_ROUNDS", 10))
SEED = int(os.environ.get("AWD_TEST_SEED", random.getrandbits(32)))
WRITERS = 4
FOLDER = pathlib.Path(__file__).parent
ERRORS = (OSError, http.client.HTTPException)


class Service:
    """A service as its JSON file describes it, with its data in a folder."""

    def __init__(self, file: pathlib.Path, data: str):
        self.about = json.loads(file.read_text())
        self.data = data
        self.acknowledged: set[str] = set()
        self.written = 0
        self.lock = threading.Lock()

    def filled(self, text: str) -> str:
        return text.replace("{port}", str(self.about["port"])).replace("{data}", self.data)

    def request(self, connection, method: str, path: str, body=None) -> int:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
        response = connection.getresponse()
        response.read()
        return response.status

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.about["port"], timeout=10)

    def start(self) -> subprocess.Popen:
        wait_until(lambda: self.is_free(), "the port is in use")
        # `start` ends with `exec`: the shell becomes the program.
        process = subprocess.Popen(["bash", "-c", self.filled(self.about["start"])],
                                   cwd=FOLDER.parents[2], stdout=subprocess.DEVNULL)
        wait_until(lambda: self.is_ready(process), "the program does not get ready")
        for method, path, body in self.about.get("prepare", []):
            self.request(self.connection(), method, path, body)
        return process

    def is_free(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.about["port"])) != 0

    def is_ready(self, process: subprocess.Popen) -> bool:
        if process.poll() is not None:
            sys.exit(f"the program ended with {process.returncode} at its start")
        try:
            return self.request(self.connection(), "GET", self.about["ready"]) == 200
        except ERRORS:
            return False

    def write(self, is_over: threading.Event):
        """Writes one value after the other, and notes those that are acknowledged."""
        method, path, body = self.about["write"]
        while not is_over.is_set():
            connection = self.connection()
            try:
                while not is_over.is_set():
                    with self.lock:
                        self.written += 1
                        name = f"w{self.written:08}"
                    value = f"{name}-{os.urandom(64).hex()}"
                    filled = json.loads(json.dumps(body).replace("{id}", name).replace("{v}", value))
                    if self.request(connection, method, path, filled) in self.about["write_ok"]:
                        with self.lock:
                            self.acknowledged.add(value)
            except ERRORS:
                time.sleep(0.01)
            finally:
                connection.close()

    def check(self):
        """Fails unless every acknowledged value is there."""
        values = subprocess.run(["bash", "-c", self.filled(self.about["read_all"])],
                                capture_output=True, text=True, check=True).stdout
        lost = sorted(value for value in self.acknowledged if value not in values)
        if lost:
            sys.exit(f"{len(lost)} of {len(self.acknowledged)} acknowledged values are lost, such as {lost[0]}")

    def check_database(self):
        for file in self.about["db"]:
            result = subprocess.run(["sqlite3", self.filled(file), "PRAGMA integrity_check; PRAGMA foreign_key_check;"],
                                    capture_output=True, text=True, check=True).stdout
            if result.strip() != "ok":
                sys.exit(f"{file}: {result}")


def wait_until(condition, failure: str):
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(failure)
        time.sleep(0.02)


def test(file: pathlib.Path, chance: random.Random):
    with tempfile.TemporaryDirectory(prefix="awd-faults-") as data:
        service = Service(file, data)
        process = service.start()
        try:
            for number in range(ROUNDS):
                is_over = threading.Event()
                writers = [threading.Thread(target=service.write, args=(is_over,)) for _ in range(WRITERS)]
                for writer in writers:
                    writer.start()
                time.sleep(chance.uniform(0.1, 1.5))
                ending = chance.choice([signal.SIGKILL, signal.SIGTERM])
                process.send_signal(ending)
                code = process.wait(timeout=15)
                is_over.set()
                for writer in writers:
                    writer.join()
                if ending == signal.SIGTERM and code != 0:
                    sys.exit(f"{file.stem}: exit code {code} after SIGTERM")
                process = service.start()
                service.check()
                print(f"{file.stem} {number + 1}/{ROUNDS} {ending.name}: {len(service.acknowledged)} values are there", flush=True)
            process.terminate()
            process.wait(timeout=15)
            service.check_database()
        finally:
            process.kill()


def main(program: str):
    os.environ["AWD"] = str(pathlib.Path(program).resolve())
    print(f"seed {SEED}")
    for file in sorted(FOLDER.glob("*.json")):
        test(file, random.Random(SEED))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

#!/usr/bin/python3
"""autobahn.py KOSOKU PROBE_SERVER ECHO_CLIENT: Autobahn's cases for WebSocket servers against the program PROBE_SERVER, and those for
clients against ECHO_CLIENT, by the program KOSOKU that has the suite's own case files.

Left out are the cases of long messages (9), which are above the limits here, and those of compression (12, 13), which isn't offered.
A server's case may be informational, but not "non-strict". A client's may: when the suite breaks the protocol right behind a message,
the connection has failed before the client's caller could send the message back.
"""

import collections
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

CHOICE = [word for section in (1, 2, 3, 4, 5, 6, 7, 10) for word in ("-i", f"{section}.*")]


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def wait_for(port: int):
    for _ in range(200):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit(f"FAIL autobahn: nobody listens on port {port}")


def judged(what: str, reports: pathlib.Path, allowed: set[str]) -> bool:
    """Prints how the cases ended, and returns whether all ended in a way that is allowed."""
    ends = collections.Counter()
    for cases in json.loads((reports / "index.json").read_text()).values():
        for name, case in cases.items():
            for kind in ("behavior", "behaviorClose"):
                if case[kind] not in allowed:
                    print(f"{what}, case {name}, {kind}: {case[kind]}")
            ends[case["behavior"], case["behaviorClose"]] += 1
    good = sum(number for end, number in ends.items() if set(end) <= allowed)
    print(f"{what}: {good} of {ends.total()} cases; " + ", ".join(f"{number} {end[0]}" for end, number in ends.most_common()))
    return good == ends.total() >= 240


def main(kosoku: str, probe_server: str, echo_client: str):
    with tempfile.TemporaryDirectory(prefix="awd-autobahn-") as name:
        folder = pathlib.Path(name)
        port = free_port()
        server = subprocess.Popen([probe_server, "--port", str(port), "--data", name])
        try:
            wait_for(port)
            subprocess.run([kosoku, f"ws://127.0.0.1:{port}/ws", *CHOICE, "-o", folder / "servers"], check=True,
                           stdout=subprocess.DEVNULL, timeout=900)
        finally:
            server.terminate()
            server.wait(30)
        port = free_port()
        suite = subprocess.Popen([kosoku, "-m", "fuzzingserver", f"127.0.0.1:{port}", *CHOICE, "-o", folder / "clients"],
                                 stdout=subprocess.DEVNULL)
        try:
            wait_for(port)
            subprocess.run([echo_client, f"ws://127.0.0.1:{port}"], check=True, timeout=900)
            # The reports are still being written when the client goes.
            for _ in range(300):
                if (folder / "clients/index.html").exists():
                    break
                time.sleep(0.1)
        finally:
            suite.terminate()
            suite.wait(30)
        well = {"OK", "INFORMATIONAL"}
        results = [judged("servers", folder / "servers", well), judged("clients", folder / "clients", well | {"NON-STRICT"})]
    if server.returncode != 0 or not all(results):
        sys.exit("FAIL autobahn")
    print("PASS autobahn")


if __name__ == "__main__":
    main(*sys.argv[1:])

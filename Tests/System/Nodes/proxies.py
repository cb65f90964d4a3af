#!/usr/bin/python3
"""proxies.py AWD: two nodes of the program AWD behind HAProxy, and then behind nginx, as the guide configures them.

The configurations are those of SeveralNodes.md, with addresses and files replaced. While clients write and stream through the
proxy, by HTTPS and WebSocket, each node is stopped and started again, as in an update, and one is killed. Requests that clients
repeat must succeed, nothing may be lost, and who streams must miss nothing. Limits must go by the clients' addresses.

AWD_TEST_SEED sets the seed of what is random.
"""

import asyncio
import atexit
import os
import pathlib
import random
import re
import signal
import subprocess

from load import FAILURES, Load, ask, complete
from nodes import GUIDE, SERVICES, Broken, Node, PostgreSQL, bound_to_this, cluster, free_port, main, run as run_program, \
    wait_until

SEED = int(os.environ.get("AWD_TEST_SEED", random.getrandbits(32)))
COMMANDS = {
    "haproxy": ["/usr/sbin/haproxy", "-db", "-f", "{file}"],
    "nginx": ["/usr/sbin/nginx", "-e", "{folder}/nginx.log", "-p", "{folder}", "-c", "{file}"],
}
# What stands around the guide's lines so that nginx runs in a folder of its own.
NGINX = """daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
access_log off;
client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi;
scgi_temp_path {folder}/scgi;
{lines}
}}
"""
GUESSES = 8
# Seconds without any acknowledgement: a node that stops is left at once, one that hangs after two checks.
LONGEST, LONGEST_OF_ALL = 5, 10


def configuration(name: str, folder: pathlib.Path, port: int, nodes: list[Node]) -> str:
    """The guide's lines for a proxy, with this test's addresses and files."""
    block = re.search(rf"^```{name}\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    if not block:
        raise Broken(f"{GUIDE.name} has no configuration of {name}")
    lines = block[1]
    for old, new in {"10.0.0.11:8080": f"127.0.0.1:{nodes[0].port}", "10.0.0.12:8080": f"127.0.0.1:{nodes[1].port}",
                     ":443 ": f"127.0.0.1:{port} ", "listen 443 ": f"listen 127.0.0.1:{port} ",
                     f"/etc/{name}/awd.pem": f"{folder}/awd.pem"}.items():
        lines = lines.replace(old, new)
    if "10.0.0" in lines or "443" in lines or "/etc/" in lines:
        raise Broken(f"{GUIDE.name}: the configuration of {name} has addresses or files that this test doesn't know")
    return NGINX.format(folder=folder, lines=lines) if name == "nginx" else lines


def certificate(folder: pathlib.Path):
    """Makes a certificate of localhost, which this process trusts from now on."""
    run_program(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                 "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem",
                 "-out", folder / "certificate.pem"])
    (folder / "awd.pem").write_text((folder / "certificate.pem").read_text() + (folder / "key.pem").read_text())
    os.environ["SSL_CERT_FILE"] = str(folder / "certificate.pem")


def begin(name: str, folder: pathlib.Path, nodes: list[Node]) -> str:
    """Starts a proxy, and gives its URL."""
    port, _ = free_port()
    file = folder / f"{name}.conf"
    file.write_text(configuration(name, folder, port, nodes))
    log = open(folder / f"{name}.out", "wb")
    words = [word.format(folder=folder, file=file) for word in COMMANDS[name]]
    proxy = subprocess.Popen([*bound_to_this("TERM"), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end():
        proxy.terminate()
        proxy.wait(10)
    atexit.register(end)

    def is_ready() -> bool:
        if proxy.poll() is not None:
            raise Broken(f"{name} has ended:\n{(folder / f'{name}.out').read_text()}")
        # PostgreSQL is asked by way of a node.
        return subprocess.run(["curl", "-sf", "-o", "/dev/null", "--cacert", folder / "certificate.pem",
                               f"https://127.0.0.1:{port}/readyz"]).returncode == 0
    wait_until(is_ready, f"{name}'s start", 20)
    return f"https://127.0.0.1:{port}"


async def limits(base: str):
    """Tries passwords through the proxy. Who does so is refused, wherever the guesses go, and nobody else is."""
    async def guess(source: str) -> int:
        body = {"Username": "nobody-at-all", "Password": "a wrong one", "DeviceID": "stream:device-guess"}
        return (await ask(base, "POST", "/login", body, source=source))[0]
    guesses = []
    for _ in range(GUESSES):
        guesses.append(await guess("127.0.0.3"))
        # The other node is told of it.
        await asyncio.sleep(0.3)
    if guesses[0] != 403 or guesses[-1] != 429:
        raise Broken(f"{GUESSES} wrong passwords from one address are answered with {guesses}")
    if (status := await guess("127.0.0.4")) != 403:
        raise Broken(f"a wrong password from another address is answered with {status}")


async def both_serve(load: Load, database: PostgreSQL):
    """Waits until sessions are on both nodes."""
    for _ in range(200):
        sessions = await asyncio.to_thread(
            database.query, "SELECT count(DISTINCT node) FROM apptimist_sessions", "n")
        if sessions == "2":
            return
        await load.wait(0.2)
    raise Broken("40 s after a node's start no session is there")


async def stand_still(node: Node, load: Load):
    """Lets a node stand still. Nobody stays with it: the proxy ends what it doesn't answer."""
    node.process.send_signal(signal.SIGSTOP)
    try:
        connections = load.connections
        await load.wait(10)
        if load.connections == connections:
            raise Broken("sessions stay with a node that stands still")
    finally:
        node.process.send_signal(signal.SIGCONT)
    await load.ready(node)


async def test_behind(name: str, program: str):
    services = SERVICES + f"failed_logins_address = {GUESSES - 3}\nfailed_logins_name = 1000\n"
    database, nodes = cluster(program, 2, server='trusted_proxies = ["127.0.0.1"]', services=services)
    folder = nodes[0].file.parent
    certificate(folder)
    base = begin(name, folder, nodes)
    load = Load([base], SEED)
    await load.begin()
    await both_serve(load, database)
    await limits(base)
    for node in nodes:
        await asyncio.to_thread(node.stop)
        await load.wait(3)
        node.begin()
        await load.ready(node)
        await both_serve(load, database)
    rolling = load.acknowledged.longest
    if rolling > LONGEST:
        raise Broken(f"behind {name} nothing was acknowledged for {rolling:.1f} s while nodes were stopped and started")
    nodes[0].kill()
    await load.wait(6)
    nodes[0].begin()
    await load.ready(nodes[0])
    await both_serve(load, database)
    if name == "haproxy":
        await stand_still(nodes[1], load)
    await load.end()
    if load.acknowledged.longest > LONGEST_OF_ALL:
        raise Broken(f"behind {name} nothing was acknowledged for {load.acknowledged.longest:.1f} s")
    for node in nodes:
        node.stop()
    database.end()
    print(f"{name}: {load.figures()} ({rolling:.2f} s while nodes were stopped and started), seed {SEED}", flush=True)


def test(program: str, *names: str):
    for name in names or COMMANDS:
        try:
            complete(test_behind(name, program))
        except FAILURES as failure:
            raise Broken(f"behind {name}: {failure!r}") from failure


if __name__ == "__main__":
    main(test)

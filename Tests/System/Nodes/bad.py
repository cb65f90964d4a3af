#!/usr/bin/python3
"""bad.py AWD [CASE…]: does to nodes of the program AWD and their database what an operator does wrong.

Each case must end in a sentence that says what is wrong and in exit code 1, or in 503 until it is mended. What was acknowledged
must be there after it. Needs openssl and a compiler of C; the full disk needs root.
"""

import asyncio
import calendar
import contextlib
import glob
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request

from load import FAILURES, FIRST, Device, Identity, Service, ask, complete
from nodes import FOLDER, IS_ROOT, PASSWORD, SERVICES, Broken, Node, PostgreSQL, cluster, free_port, main, run, \
    programs, start_all, wait_until
from pace import LOGGED, Pace

HOUR = 3600
LEASE = 4
# The longest time in which a node tells that it is served again.
RECOVERY = 30
# What a node says of itself before it can know what is wrong.
INFORMATION = re.compile(r"\S+Z info ")
cases = []


def case(test):
    cases.append(test)
    return test


def expect(condition, what: str):
    if not condition:
        raise Broken(what)


def request(node: Node, path: str, body: dict, token: str | None = None) -> tuple[int, dict | list]:
    """A request to Msgr; status 0 if nobody answers."""
    try:
        status, answer = asyncio.run(ask(node.url, "POST", path, body, token))
    except FAILURES:
        return 0, {}
    return status, json.loads(answer or b"{}")


class Mail:
    """Two users of Msgr. It knows what was acknowledged, and looks for it."""

    names = itertools.count()

    def __init__(self, node: Node):
        self.number = next(self.names)
        self.tokens = [self.register(node, f"{name}{self.number}") for name in ("anna", "bert")]
        self.acknowledged: dict[str, str] = {}

    def register(self, node: Node, name: str) -> str:
        status, answer = request(node, "/register", {"Username": name, "Password": PASSWORD, "DeviceID": os.urandom(32).hex()})
        expect(status == 200, f"/register: {status} {answer}")
        return answer["Token"]

    def send(self, node: Node) -> int:
        """Sends a message, and gives the status."""
        text = os.urandom(16).hex() + "-" * 400
        status, answer = request(node, "/message", {"UserTo": f"bert{self.number}", "Message": text}, self.tokens[0])
        if status == 200:
            self.acknowledged[text] = answer["Id"]
        return status

    def inbox(self, node: Node) -> list[dict]:
        whole: list[dict] = []
        while True:
            status, page = request(node, "/inbox", {"Since": whole[-1]["Id"] if whole else FIRST}, self.tokens[1])
            expect(status == 200, f"/inbox: {status} {page}")
            if not page:
                return whole
            whole += page

    def check(self, *nodes: Node):
        """All that was acknowledged must be there, at each of the nodes."""
        for node in nodes:
            there = {entry["Message"]: entry["Id"] for entry in self.inbox(node)}
            lost = [text for text, identifier in self.acknowledged.items() if there.get(text) != identifier]
            expect(not lost, f"{len(lost)} of {len(self.acknowledged)} acknowledged messages are lost at {node.name}")


def refuses(node: Node, *words: str, secret: str | None = None, lines_allowed: int = 1):
    """The node must end with 1 and a line with these words, or a few, without a secret or a trace of the program."""
    code, text = node.refused()
    lines = [line for line in text.splitlines() if line.strip() and not INFORMATION.match(line)]
    expect(code == 1, f"exit code {code}, not 1:\n{text}")
    expect(1 <= len(lines) <= lines_allowed, f"{len(lines)} lines:\n{text}")
    for word in words:
        expect(re.search(word, text), f"doesn't say {word!r}:\n{text}")
    expect(not secret or secret not in text, "the password is shown")
    print(f"    {lines[0]}")


def waits(node: Node, cause: str):
    """Starts the node, which must say that it waits for its database, and why: that may pass without an operator."""
    node.begin()
    wait_until(lambda: re.search(f"awd waits for it.*{cause}", node.said()), f"{node.name} waits for its database", RECOVERY)


def unavailable(node: Node, mail: Mail, seconds: float = RECOVERY):
    """The node must answer with 503, and say so at /readyz."""
    wait_until(lambda: node.status() == 503, f"/readyz of {node.name} says 503", seconds)
    status = mail.send(node)
    expect(status == 503, f"a message is answered with {status}, not 503")


def recovers(node: Node, mail: Mail):
    """Without a restart the node must serve again."""
    process = node.process.pid
    wait_until(node.is_ready, f"{node.name} serves again", RECOVERY)
    wait_until(lambda: mail.send(node) == 200, "a message is taken again", RECOVERY)
    expect(node.process.pid == process, "the process is another one")


def terminate(database: PostgreSQL, name: str = "n"):
    database.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")


class Setting:
    """A server and a folder that most cases share."""

    def __init__(self, program: str):
        self.program = program
        self.database, (self.node,) = cluster(program, 1)
        self.folder = self.node.file.parent
        self.mail = Mail(self.node)
        expect(self.mail.send(self.node) == 200, "a message is refused")
        self.numbers = itertools.count(1)

    def new(self, url: str, **options) -> Node:
        number = next(self.numbers)
        return Node(self.program, self.folder, url, f"bad{number}", **{"data": f"data{number}", **options})

    def beside(self, **options) -> Node:
        """Another node over the first one's database and keys."""
        return self.new(self.database.url("n"), **{"data": "data", **options})

    def beside_as(self, role: str) -> Node:
        return self.new(self.database.url("n", user=role), data="data")


# MARK: At the start


@case
def wrong_password(setting: Setting):
    setting.database.query("CREATE ROLE locked LOGIN PASSWORD 'the right one'")
    setting.database.make_database("locked", "OWNER locked")
    url = setting.database.url("locked", user="locked")
    refuses(setting.new(url), "no password", "AWD_STORE_PASSWORD_FILE")
    refuses(setting.new(url, environment={"AWD_STORE_PASSWORD": "guessed-0815"}), "password authentication failed",
            "AWD_STORE_PASSWORD_FILE", secret="guessed-0815")
    node = setting.new(url, environment={"AWD_STORE_PASSWORD": "the right one"})
    node.start()
    node.stop()


@case
def password_in_the_url(setting: Setting):
    code, text = setting.new(setting.database.url("n", user="awd:guessed-0815")).refused()
    expect(code == 1 and "AWD_STORE_PASSWORD_FILE" in text and "guessed-0815" not in text, f"exit code {code}:\n{text}")


@case
def no_server(setting: Setting):
    node = setting.new(f"postgresql://awd@/n?host={setting.folder}/nowhere")
    waits(node, "nowhere.*No such file")
    node.stop()
    refuses(setting.new(setting.database.url("nosuch")), 'database "nosuch" does not exist')


@case
def another_program(setting: Setting):
    setting.database.make_database("theirs")
    setting.database.query("CREATE TABLE blog_posts (id int)", "theirs")
    refuses(setting.new(setting.database.url("theirs")), "another program", "blog_posts", "empty")
    tables = setting.database.query("SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'public'", "theirs")
    expect(tables == "blog_posts", f"it has made tables: {tables}")


@case
def newer_release(setting: Setting):
    row = "INSERT INTO store_migrations (owner, number, needs) VALUES ('msgr', {}, {})"
    # One that this release can live with.
    setting.database.query(row.format(9998, 1), "n")
    node = setting.beside()
    node.start()
    setting.database.query(row.format(9999, 9999), "n")
    refuses(setting.beside(), "msgr", "newer|9999")
    # As a newer release doesn't do while the node lives: it writes nothing any more.
    unavailable(node, setting.mail)
    setting.database.query("DELETE FROM store_migrations WHERE number > 9000", "n")
    recovers(node, setting.mail)
    setting.mail.check(node)
    node.stop()


@case
def other_encoding(setting: Setting):
    setting.database.make_database("ascii", "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
    refuses(setting.new(setting.database.url("ascii")), "SQL_ASCII", "UTF8")


@case
def other_keys(setting: Setting):
    refuses(setting.beside(data="other"), "apptimist.keys|push.web.key", "is missing", "another node", lines_allowed=2)
    expect(setting.mail.send(setting.node) == 200, "the other node is disturbed")
    # Neither does it help to try again: the refused node has left nothing.
    refuses(setting.beside(data="other"), "apptimist.keys|push.web.key", "is missing", "another node", lines_allowed=2)
    # A folder that has served another database has keys of its own.
    setting.database.make_database("elsewhere")
    elsewhere = setting.new(setting.database.url("elsewhere"), data="other")
    elsewhere.start()
    elsewhere.stop()
    refuses(setting.beside(data="other"), "apptimist.keys|push.web.key", "isn.t the one", "awd keys replace", lines_allowed=2)
    expect(setting.database.query("SELECT count(*) FROM store_nodes", "n") == "1", "a refused node has left its row")
    # Nor when no other node runs.
    setting.node.stop()
    refuses(setting.beside(data="other"), "apptimist.keys|push.web.key", "isn.t the one", "awd keys replace", lines_allowed=2)
    setting.node.start()


def metric(node: Node, name: str) -> int:
    with urllib.request.urlopen(node.url + "/metrics") as response:
        return int(re.search(rf"^{name} ([0-9]+)", response.read().decode(), re.M)[1])


@case
def a_stranger_among_the_roles(setting: Setting):
    """A role without any right floods the channels with what is garbled, and as long as it may be."""
    setting.database.query("CREATE ROLE stranger LOGIN")
    node = setting.beside()
    node.start()
    channels = setting.database.query("SELECT string_agg('awd_' || to_hex(id), ' ') FROM store_nodes", "n").split()
    for channel in channels:
        for text in ("'msgr AA== AA=='", "repeat('A', 7900) || i", "encode(sha256(i::text::bytea), 'base64')"):
            run([programs() / "psql", "-XAtq", "-h", setting.database.folder, "-U", "stranger", "n", "-c",
                 f"SELECT pg_notify('{channel}', {text}) FROM generate_series(1, 5000) i"])
    for each in (setting.node, node):
        wait_until(lambda: metric(each, "awd_bus_refused_total") >= 10_000, f"{each.name} refuses all messages")
    expect(setting.mail.send(node) == 200, "a message is refused")
    setting.mail.check(setting.node, node)
    node.stop()


@case
def notices_again(setting: Setting):
    """A role that has heard what nodes tell each other says it again, to the one that heard it and to another."""
    node = setting.beside()
    node.start()
    channels = dict(row.split("|") for row in setting.database.query(
        "SELECT name, 'awd_' || to_hex(id) FROM store_nodes", "n").splitlines())
    psql = [programs() / "psql", "-XAtq", "-h", setting.database.folder, "-U", "awd", "n"]
    listener = subprocess.Popen([*psql, "-c", f"LISTEN {channels[node.name]}", "-c", "SELECT pg_sleep(3)", "-c", "SELECT 1"],
                                stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    name = f"anna{setting.mail.number}"
    login = {"Username": name, "Password": "a wrong one", "DeviceID": os.urandom(32).hex()}
    for _ in range(3):
        expect(request(setting.node, "/login", login)[0] == 403, "a wrong password is good")
    payloads = re.findall('with payload "(.*?)" received', listener.communicate(timeout=20)[0])
    expect(payloads, "nothing was told")
    before = {each.name: metric(each, "awd_bus_refused_total") for each in (node, setting.node)}
    for each in (node, setting.node):
        run(psql, input="".join(f"SELECT pg_notify('{channels[each.name]}', '{payload}');\n"
                                for payload in payloads for _ in range(130)))
    for each in (node, setting.node):
        wait_until(lambda: metric(each, "awd_bus_refused_total") >= before[each.name] + 130 * len(payloads),
                   f"{each.name} refuses them all", 10)
        status, answer = request(each, "/login", {**login, "Password": PASSWORD})
        expect(status == 200, f"the right password is answered with {status} {answer} at {each.name}")
    node.stop()


@case
def tables_of_others(setting: Setting):
    """Tables of another role, and of a service that this program lacks."""
    setting.database.query("CREATE ROLE tenant LOGIN")
    refuses(setting.beside_as("tenant"), "permission denied for table")
    setting.database.make_database("lacking")
    first = setting.new(setting.database.url("lacking"), data="lacking")
    first.start()
    first.stop()
    setting.database.query("INSERT INTO store_migrations (owner, number, needs) VALUES ('blog', 1, 1)", "lacking")
    refuses(first, "service blog")


# MARK: While nodes run


@case
def away_for_long(setting: Setting):
    """PostgreSQL is away for longer than anything waits, and across a housekeeping, which is done once a minute."""
    database = PostgreSQL(setting.folder, "away")
    database.make()
    database.start()
    database.make_database("n")
    nodes = [setting.new(database.url("n"), data="home", services=LOGGED) for _ in "ab"]
    start_all(nodes)
    pace = Pace(nodes)
    complete(pace.prepare())
    complete(pace.check("the start"))
    time.sleep(max(0, 40 - (time.monotonic() - nodes[0].began)))
    database.end(signal.SIGINT)
    time.sleep(40)
    for node in nodes:
        expect(node.status() == 503, f"/readyz of {node.name} isn't 503")
    database.start()
    start = time.monotonic()
    took = complete(pace.check("PostgreSQL's return"))
    print(f"    all quick {took:.1f} s after its return")
    expect(time.monotonic() - start < 5, f"not all is quick again within 5 s, but {took:.1f} s")
    for node in nodes:
        node.stop()
    database.end()


@case
def read_only(setting: Setting):
    alter = "ALTER DATABASE n SET default_transaction_read_only = "
    setting.database.query(alter + "on")
    refuses(setting.beside(), "read")
    terminate(setting.database)
    unavailable(setting.node, setting.mail)
    setting.database.query(alter + "off")
    terminate(setting.database)
    recovers(setting.node, setting.mail)
    setting.mail.check(setting.node)


@case
def too_few_connections(setting: Setting):
    setting.database.query("CREATE ROLE few LOGIN")
    setting.database.make_database("few", "OWNER few")
    url = setting.database.url("few", user="few")
    # Fewer than a node wants: it serves with those that it gets.
    setting.database.query("ALTER ROLE few CONNECTION LIMIT 6")
    node = setting.new(url, connections=8)
    node.start()
    mail = Mail(node)
    for _ in range(20):
        expect(mail.send(node) == 200, "a message is refused with few connections")
    # None at all.
    setting.database.query("ALTER ROLE few CONNECTION LIMIT 0")
    terminate(setting.database, "few")
    unavailable(node, mail)
    other = setting.new(url, data=node_data(node))
    waits(other, "too many connections")
    setting.database.query("ALTER ROLE few CONNECTION LIMIT -1")
    recovers(node, mail)
    wait_until(other.is_ready, f"{other.name} serves, too", RECOVERY)
    mail.check(node, other)
    for each in (node, other):
        each.stop()


def node_data(node: Node) -> str:
    """The name of a node's folder of keys."""
    return re.search(r'^data = ".*/(.*)"$', node.file.read_text(), re.MULTILINE)[1]


def clock(setting: Setting, difference: int) -> dict[str, str]:
    """The environment in which a program's clock is so many seconds fast."""
    library = setting.folder / "clock.so"
    if not library.exists():
        compiler = shutil.which("clang") or shutil.which("cc")
        expect(compiler, "there is no compiler of C")
        run([compiler, "-shared", "-fPIC", "-O", "-o", library, FOLDER / "clock.c"])
    return {"LD_PRELOAD": str(library), "CLOCK_DIFFERENCE": str(difference)}


@case
def wrong_clock(setting: Setting):
    """Nodes whose clocks are an hour fast and an hour slow: times and leases are the database's."""
    url = setting.database.url("clocks")
    setting.database.make_database("clocks")
    services = SERVICES.replace("[msgr]", f'lock_lease = "{LEASE}s"\n\n[msgr]')
    right, fast, slow = nodes = [
        setting.new(url, data="clocks", services=services, environment=environment)
        for environment in ({}, clock(setting, HOUR), clock(setting, -HOUR))]
    start_all(nodes)
    told = run(["date", "+%s"], env={**os.environ, **clock(setting, HOUR)})
    expect(int(told) - time.time() > HOUR - 60, "the clock is right")
    mail = Mail(fast)
    for node in nodes * 3:
        expect(mail.send(node) == 200, f"{node.name} refuses a message")
    mail.check(*nodes)
    for entry in mail.inbox(right):
        moment = calendar.timegm(time.strptime(entry["Time"][:19], "%Y-%m-%dT%H:%M:%S"))
        expect(abs(moment - time.time()) < 60, f"a message was sent at {entry['Time']}, says a node")
    identifiers = [entry["Id"] for entry in mail.inbox(slow)]
    expect(list(mail.acknowledged.values()) == identifiers, "the messages aren't in the order in which they were sent")
    asyncio.run(leases(right, fast, slow))
    time.sleep(12)  # each has renewed its row twice
    rows = setting.database.query("SELECT name, now() - seen_at FROM store_nodes ORDER BY name", "clocks")
    expect([row.split("|")[0] for row in rows.splitlines()] == [node.name for node in nodes],
           f"nodes took each other for dead, there are:\n{rows}")
    for node in nodes:
        expect(node.status() == 200 and mail.send(node) == 200, f"{node.name} doesn't serve any more")
        node.stop()


async def leases(*nodes: Node):
    """Locks a file at each node. At the others it must be locked until the lease ends, and not longer."""
    document = json.loads((await ask(nodes[0].url, "GET", "/siren/service.json"))[1])
    service = Service("", *(bytes.fromhex(document[name]) for name in ("encryptionKey", "authenticationKey", "signature")),
                      document)
    user = Identity("clock")
    devices = []
    for node in nodes:
        device = await Device.connect(service, url="ws" + node.url.removeprefix("http") + "/siren")
        await device.new(user, uid=user.name)
        await device.login(user)
        await device.barrier()
        devices.append(device)
    for number, (holder, node) in enumerate(zip(devices, nodes)):
        name = f"file{number}"
        start = time.monotonic()
        expect((await holder.file("lock", user.key, name)).error == 0, f"{node.name} gives no lock")
        locked = time.monotonic()
        other = devices[(number + 1) % len(devices)]
        while (answer := await other.file("lock", user.key, name)).error == 3:
            expect(time.monotonic() - locked < LEASE + 10, f"a lock of {node.name} doesn't end")
            await asyncio.sleep(0.2)
        expect(answer.error == 0, f"error {answer.error} for a lock")
        expect(time.monotonic() - start >= LEASE - 0.5, f"a lock of {node.name} ended after {time.monotonic() - start:.1f} s")
        expect(time.monotonic() - locked < LEASE + 3, f"a lock of {node.name} ended after {time.monotonic() - locked:.1f} s")
    for device in devices:
        await device.close()


@case
def clock_steps(setting: Setting):
    """The clock of a server with SQLite steps a year forward, while it runs and before it starts. Nothing is deleted by it."""
    difference = setting.folder / "difference"
    difference.write_text("0")
    environment = {**clock(setting, 0), "CLOCK_FILE": str(difference)}
    node = setting.new("", data="steps", environment=environment)
    node.file.write_text(re.sub(r"(?s)\[store\].*?(?=\[apptimist\])", "", node.file.read_text()))
    node.start()
    mail = Mail(node)
    for _ in range(10):
        expect(mail.send(node) == 200, "a message is refused")
    difference.write_text(str(365 * 24 * HOUR))
    time.sleep(70)  # a housekeeping lies in it
    difference.write_text("0")
    mail.check(node)
    node.stop()
    difference.write_text(str(365 * 24 * HOUR))
    node.start()
    wait_until(lambda: "--trust-clock" in node.said(), "the step is told")
    time.sleep(3)
    node.stop()
    difference.write_text("0")
    node.start()
    mail.check(node)
    node.stop()
    # Unless somebody says that the clock is right.
    difference.write_text(str(365 * 24 * HOUR))
    node.start("--trust-clock")
    time.sleep(3)
    node.stop()
    difference.write_text("0")
    node.start()
    expect(request(node, "/inbox", {"Since": FIRST}, mail.tokens[1])[0] == 403, "a token of a year ago is good")
    node.stop()


@case
def full_disk(setting: Setting):
    """The disk of PostgreSQL, its log of changes included, fills up and is emptied again."""
    if not IS_ROOT:
        print("    left out: only root can have a disk of its own")
        return
    database = PostgreSQL(setting.folder, "small", {"shared_buffers": "16MB", "max_wal_size": "8MB", "min_wal_size": "2MB"},
                          small_disk=120)
    database.make()
    database.start()
    database.make_database("n")
    node = setting.new(database.url("n"))
    node.start()
    mail = Mail(node)
    for _ in range(20):
        expect(mail.send(node) == 200, "a message is refused")
    disk = f"/proc/{database.keeper.pid}/root{database.data}"
    with open(f"{disk}/filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1 << 16))
    end = time.monotonic() + 120
    while (status := mail.send(node)) == 200:
        expect(time.monotonic() < end, "the disk doesn't fill up")
    expect(status == 503, f"a message is answered with {status}, not 503")
    wait_until(lambda: node.status() == 503, "/readyz says 503", 5)
    expect(mail.send(node) == 503 and node.status() == 503, "/readyz says 503 once only")
    before = len(mail.acknowledged)
    os.unlink(f"{disk}/filler")
    # PostgreSQL itself ends when there is no room for its log of changes, and has to be started again.
    time.sleep(1)
    ended = database.process.poll() is not None
    if ended:
        database.start()
    recovers(node, mail)
    mail.check(node)
    print(f"    {before} messages until the disk was full" + ", PostgreSQL had to be started again" * ended)
    node.stop()
    database.remove()


@case
def expired_certificate(setting: Setting):
    port, _ = free_port()
    folder = setting.folder
    database = PostgreSQL(folder, "secure", {"listen_addresses": "127.0.0.1,127.0.0.2", "port": port, "ssl": "on"})
    database.make()

    def certificate(age: int):
        run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "30",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "server.key",
             "-out", folder / "server.crt"], env={**os.environ, **clock(setting, -age)})
        for name in ("server.key", "server.crt"):
            run(["install", *(["-o", "postgres"] if IS_ROOT else []), "-m", "600", folder / name, database.data / name])
        run(["cp", folder / "server.crt", folder / "roots.pem"])

    def replace(age: int):
        certificate(age)
        os.environ["PGPORT"] = str(port)
        database.query("SELECT pg_reload_conf()")
        time.sleep(0.5)
        terminate(database)

    certificate(0)
    os.environ["PGPORT"] = str(port)
    try:
        database.start()
        database.make_database("n")
        url = f"postgresql://awd@127.0.0.1:{port}/n?sslmode=verify-full&sslrootcert={folder}/roots.pem"
        node = setting.new(url)
        node.start()
        mail = Mail(node)
        expect(mail.send(node) == 200, "a message is refused")
        replace(365 * 24 * HOUR)
        refuses(setting.new(url, data=node_data(node)), "certificate verify failed", "expired", "sslrootcert")
        unavailable(node, mail)
        replace(0)
        recovers(node, mail)
        mail.check(node)
        # A certificate for another host.
        refuses(setting.new(url.replace("127.0.0.1", "127.0.0.2"), data=node_data(node)), "does not match host name \"127.0.0.2\"")
        node.stop()
    finally:
        del os.environ["PGPORT"]
        database.end()


def test(program: str, *names: str):
    setting = Setting(program)
    failures = []
    for test_case in cases:
        name = test_case.__name__
        if names and name not in names:
            continue
        print(f"{name}:", flush=True)
        try:
            test_case(setting)
        except Broken as broken:
            failures.append(name)
            print(f"    FAIL: {broken}", flush=True)
    setting.mail.check(setting.node)
    setting.node.stop()
    if failures:
        raise Broken(f"{len(failures)} cases fail: {', '.join(failures)}")
    print("bad: each mistake was told, nothing was lost")


if __name__ == "__main__":
    main(test)

#!/usr/bin/python3
"""howtos.py AWD: tries the files of the guide "Beside other programs" with the programs that they are for.

Each file is taken out of the guide and put below a fresh folder, in place of `/`. What needs root, a user `awd` or systemd
has a stand-in there; Litestream is PyPI's, everything else Debian's.
"""

import asyncio
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
GUIDE = ROOT / "Sources/awd/awd.docc/BesideOthers.md"
sys.path.insert(0, str(ROOT / "Tests/System/Attacks"))
sys.path.append(str(ROOT / "Tests/ApptimistTests/Python"))
from attack import Server  # noqa: E402
from apptimist_device import Identity, Service  # noqa: E402
from apptimist2_device import Device2  # noqa: E402

STANDINS = {
    # install without owners, runuser without another user.
    "install": '#!/bin/sh\nexec /usr/bin/install $(printf "%s\\n" "$@" | sed -z "s/-[og]\\n[a-z]*\\n//g")\n',
    "runuser": '#!/bin/sh\nshift 3\nexec "$@"\n',
    "systemctl": '#!/bin/sh\nkill -HUP "$SERVED_PID"\n',
}


class Place:
    """A folder that stands for `/`, with the guide's files and a server that has its data there."""

    def __init__(self, server: Server):
        self.server = server
        self.root = pathlib.Path(server.folder, "root")
        files = re.findall(r"^`(/[^`]+)`[^\n]*:\n\n```\w+\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
        self.files = dict(files)
        for folder in ("bin", "etc/awd", "var/lib/awd", "var/backups/awd"):
            (self.root / folder).mkdir(parents=True)
        for name, text in STANDINS.items():
            (self.root / "bin" / name).write_text(text)
        (self.root / "bin/awd").symlink_to(server.program)
        (self.root / "bin/litestream").symlink_to(ROOT / ".build/test-tools/bin/litestream")
        for path in [*self.root.glob("bin/[irs]*")]:
            path.chmod(0o755)
        for name, text in files:
            path = self.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.local(text))
            path.chmod(0o755 if text.startswith("#!") else 0o644)

    def path(self, name: str) -> pathlib.Path:
        return self.root / name.lstrip("/")

    def local(self, text: str) -> str:
        text = text.replace("/var/lib/awd/awd.sqlite3", f"{self.server.data}/awd.sqlite3")
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{self.server.port}")
        return re.sub(r"(?<![\w.}])/(etc/awd|etc/prometheus|var/lib/awd|var/backups)", rf"{self.root}/\1", text)

    def run(self, *words: str, **variables: str) -> str:
        environment = {"PATH": f"{self.root}/bin:/usr/sbin:/usr/bin:/bin", "HOME": str(self.root),
                       "SERVED_PID": str(self.server.process.pid), **variables}
        outcome = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment)
        if outcome.returncode:
            raise AssertionError(f"{' '.join(words)}: {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
        return outcome.stdout + outcome.stderr


def post(server: Server, path: str, body: dict, token: str = "") -> tuple[int, bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", json.dumps(body).encode(),
                                     {"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def expect(holds: bool, words: str):
    if not holds:
        raise AssertionError(words)


def fail2ban(place: Place):
    """Refused logins are found, with the address, and nothing else; what a client calls itself doesn't make a line."""
    name = 'anna\n info login refused service=msgr client=192.0.2.9 name=x'
    for user in ("anna", name):
        status, _ = post(place.server, "/login", {"Username": user, "Password": "hunter2", "DeviceID": "stream:phone-0001"})
        expect(status in (400, 403), f"login: {status}")
    end = time.monotonic() + 20
    log = ""
    while "login refused" not in log and time.monotonic() < end:
        time.sleep(0.1)
        log = pathlib.Path(place.server.log_path).read_text()
    expect("hunter2" not in log, "a password is in the log")
    copy = place.root / "awd.log"
    line = next(line for line in log.splitlines() if "login refused" in line)
    network = line.replace("client=127.0.0.1", "client=2001:db8:1:2::/64")
    # As the journal gives it to fail2ban, and with names that pretend.
    forged = line.replace("info ", "warning ").replace("name=", 'name="info login refused service=msgr client=192.0.2.9 ')
    copy.write_text("\n".join([log.rstrip("\n"), network, line.replace(line.split()[0], "host awd[12]:"), forged]) + "\n")
    text = place.run("fail2ban-regex", "-o", "ip", str(copy),
                     str(place.path("/etc/fail2ban/filter.d/awd.conf")))
    expect("127.0.0.1" in text and "2001:db8:1:2::/64" in text, f"not found: {text}")
    expect("192.0.2.9" not in text, f"a name made a line: {text}")
    summary = place.run("fail2ban-regex", str(copy), str(place.path("/etc/fail2ban/filter.d/awd.conf")))
    found = log.count("login refused service=msgr client=") + 2
    expect(f"Failregex: {found} total" in summary, summary)
    with Server('[log]\nformat = "json"\n[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\n') as other:
        for user in ("anna", '","level":"info","message":"login refused","service":"msgr","client":"192.0.2.9","name":"'):
            post(other, "/login", {"Username": user, "Password": "hunter2", "DeviceID": "stream:phone-0001"})
        path = pathlib.Path(other.log_path)
        waiting(lambda: "login refused" in path.read_text(), path)
        copy.write_text(path.read_text().replace('"client":"127.0.0.1"', '"client":"198.51.100.7"'))
    text = place.run("fail2ban-regex", "-o", "ip", str(copy), str(place.path("/etc/fail2ban/filter.d/awd.conf")))
    expect("198.51.100.7" in text and "192.0.2.9" not in text, f"JSON: {text} {copy.read_text()}")


def certbot(place: Place):
    """The hook puts the certificate where awd reads it, tells awd, and leaves the key readable for its group alone."""
    lineage = place.root / "live"
    lineage.mkdir()
    place.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout",
              f"{lineage}/privkey.pem", "-out", f"{lineage}/fullchain.pem")
    place.run(str(place.path("/etc/letsencrypt/renewal-hooks/deploy/awd")), RENEWED_LINEAGE=str(lineage))
    modes = [oct(place.path(f"/etc/awd/{name}.pem").stat().st_mode & 0o777) for name in ("privkey", "fullchain")]
    expect(modes == ["0o640", "0o644"], f"{modes}")
    end = time.monotonic() + 20
    while "reloaded" not in pathlib.Path(place.server.log_path).read_text():
        expect(time.monotonic() < end, "awd was not told")
        time.sleep(0.1)


def restic(place: Place):
    """The script makes a backup that restic gives back and awd takes, and leaves nothing in the clear."""
    configuration = place.path("/etc/awd/awd.toml")
    configuration.write_text(f'[server]\ndata = "{place.server.data}"\n')
    variables = {"RESTIC_REPOSITORY": f"{place.root}/restic", "RESTIC_PASSWORD": "secret"}
    place.run("restic", "init", **variables)
    place.run(str(place.path("/usr/local/sbin/awd-restic")), **variables)
    file = place.path("/var/backups/awd/restic.backup")
    expect(not file.exists(), "the backup stays in the clear")
    place.run("restic", "restore", "latest", "--tag", "awd", "--target", "/", **variables)
    place.run("awd", "restore", "--check", str(file), "--config", str(configuration))
    for unit in ("service", "timer"):
        text = (place.path(f"/etc/systemd/system/awd-restic.{unit}"))
        text.write_text(text.read_text().replace("/usr/local", f"{place.root}/usr/local"))
    found = place.run("systemd-analyze", "verify", "--man=no", *map(str, place.path("/etc/systemd/system").iterdir()))
    expect("awd-restic" not in found, found)


async def login(server: Server, user: Identity, **place):
    """Logs in to Apptimist in a session of its own, and gives the answer."""
    device = await Device2.connect(await Service.at(f"ws://127.0.0.1:{server.port}/siren"))
    await device.new(user)
    answer = await device.login(user, **place)
    await device.close()
    return answer


def litestream(place: Place):
    """What is acknowledged and copied when awd is killed and its store is lost is served again.

    The copy may lack the last messages, whose positions come again: a device with an old place has to read anew.
    """
    server, store = place.server, pathlib.Path(place.server.data, "awd.sqlite3")
    expect((place.root / "bin/litestream").exists(), "no Litestream; make test-deps installs it")
    configuration = str(place.path("/etc/litestream.yml"))
    account = {"Username": "bert", "Password": "a password", "DeviceID": "stream:phone-0002"}
    message = {"UserFrom": "bert", "Password": "a password", "UserTo": "bert"}
    log = place.root / "litestream.log"
    with open(log, "wb") as file:
        process = subprocess.Popen([str(place.root / "bin/litestream"), "replicate", "-config", configuration], stdout=file,
                                   stderr=file)
    try:
        waiting(lambda: any(place.path("/var/backups").rglob("*.ltx")), log)
        user = Identity("carla")
        before = asyncio.run(login(server, user, after=0))
        expect(post(server, "/register", account)[0] == 200, "register")
        for number in range(100):
            expect(post(server, "/message", {**message, "Message": f"note {number}"})[0] == 200, f"message {number}")
    finally:
        server.process.kill()
        server.process.wait()
        # It copies what is left before it ends.
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    for file in [*store.parent.glob("awd.sqlite3*"), *store.parent.glob(".awd.sqlite3*")]:
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    [command] = re.findall(r"^litestream restore .*$", GUIDE.read_text(), re.MULTILINE)
    words = place.local(command).split()
    place.run(*words[:2], "-config", configuration, *words[2:])
    server.start()
    inbox = post(server, "/inbox", account)[1]
    missing = [number for number in range(100) if b'"note %d"' % number not in inbox]
    expect(not missing, f"lost: {missing}\n{log.read_text()}")
    after = asyncio.run(login(server, user, epoch=before.epoch, after=7))
    expect((after.error, after.start) == (0, 0) and after.epoch != before.epoch, f"{before} and then {after}")


def prometheus(place: Place):
    """promtool and amtool take the files; what Alertmanager posts becomes a message."""
    shutil.copy(ROOT / "config/alerts.yml", place.path("/etc/prometheus/awd-alerts.yml"))
    place.path("/etc/prometheus/awd.token").write_text("token")
    text = place.run("promtool", "check", "config", str(place.path("/etc/prometheus/prometheus.yml")))
    expect("1 rule files found" in text, text)
    place.run("amtool", "check-config", str(place.path("/etc/prometheus/alertmanager.yml")))
    account = {"Username": "anna", "Password": "a password", "DeviceID": "stream:phone-0001"}
    expect(post(place.server, "/register", account)[0] == 200, "register")
    configuration = str(place.path("/etc/awd/awd.toml"))
    token = place.run("awd", "token", "new", "anna", "--name", "alerts", "--config", configuration).strip()
    place.path("/etc/prometheus/awd.token").write_text(token)
    command = ["prometheus-alertmanager", f"--config.file={place.path('/etc/prometheus/alertmanager.yml')}",
               f"--storage.path={place.root}/alertmanager", "--web.listen-address=127.0.0.1:0", "--cluster.listen-address="]
    log = place.root / "alertmanager.log"
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        address = waiting(lambda: re.search(r"Listening on\D*address=(127[\d.:]+)", log.read_text()), log)[1]
        place.run("amtool", "alert", "add", f"--alertmanager.url=http://{address}", "AwdDown", "--annotation=summary=gone")
        waiting(lambda: b"gone" in post(place.server, "/inbox", account)[1], log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def waiting(found, log: pathlib.Path):
    end = time.monotonic() + 90
    while not (result := found()):
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {log.read_text()}")
        time.sleep(0.2)
    return result


def grafana(place: Place):
    """The provisioning is YAML of a form that Grafana reads, and promtool takes the dashboard's queries; Debian has no Grafana.

    A test of awd's metrics asks a served awd for each name in them.
    """
    import yaml
    for name, key in (("datasources", "datasources"), ("dashboards", "providers")):
        content = yaml.safe_load(place.path(f"/etc/grafana/provisioning/{name}/awd.yml").read_text())
        expect(content["apiVersion"] == 1 and {"name", "type"} <= content[key][0].keys(), f"{content}")
    dashboard = json.loads((ROOT / "config/grafana-dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    for name, value in {"$instance": ".*", "$__rate_interval": "1m"}.items():
        queries = [query.replace(name, value) for query in queries]
    expect(not any("$" in query for query in queries), f"a variable that Grafana doesn't have: {queries}")
    rules = place.root / "dashboard.json"
    rules.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": [
        {"record": f"panel:query{number}", "expr": query} for number, query in enumerate(queries)]}]}))
    text = place.run("promtool", "check", "rules", str(rules))
    expect(f"{len(queries)} rules found" in text and len(queries) > 10, text)


def main():
    failures = []
    with Server('[log]\nlevel = "info"\n[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\n') as server:
        place = Place(server)
        for howto in (fail2ban, certbot, restic, prometheus, grafana, litestream):
            try:
                howto(place)
            except (AssertionError, StopIteration) as error:
                failures.append(f"{howto.__name__}: {error}")
    if failures:
        sys.exit("FAIL\n" + "\n".join(failures))
    print("ok")


main()

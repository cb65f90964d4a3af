#!/usr/bin/python3
"""image.py AWD: builds the container image out of the program AWD by `make image`, and serves from it with podman, as root.

The containers are made with what config/container/compose.yaml says of them, but for their network: they have none, and are
asked from inside. Images, containers and volumes lie in a temporary folder, and go with it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
ACCOUNT = '{"Username":"anna","Password":"a password","DeviceID":"stream:phone-0001"}'


def run(*words: str) -> str:
    outcome = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if outcome.returncode:
        raise AssertionError(f"{' '.join(words)}: {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
    return outcome.stdout


def expect(holds: bool, words: str):
    if not holds:
        raise AssertionError(words)


class Container:
    """A container of compose.yaml's service, with a volume of its own."""

    def __init__(self, *options: str, **variables: str):
        service = yaml.safe_load((ROOT / "config/container/compose.yaml").read_text())["services"]["awd"]
        variables = {**service["environment"], "AWD_SERVER_PUBLIC_URL": "https://awd.example.org", **variables}
        words = ["--network=none", "--ulimit=host", "--health-interval=disable",
                 f"--read-only={str(service['read_only']).lower()}"]
        words += [f"--cap-drop={name}" for name in service["cap_drop"]]
        words += [f"--security-opt={name}" for name in service["security_opt"]]
        words += [f"--tmpfs={name}" for name in service["tmpfs"]] + [f"--volume={name}" for name in service["volumes"]]
        words += [f"--env={name}={value}" for name, value in variables.items()]
        self.patience = service["stop_grace_period"].rstrip("s")
        self.id = run("podman", "run", "--detach", *words, *options, service["image"]).strip()

    def inspect(self, path: str) -> str:
        return run("podman", "inspect", "--format", "{{" + path + "}}", self.id).strip()

    def log(self) -> str:
        outcome = subprocess.run(["podman", "logs", self.id], capture_output=True, text=True)
        return outcome.stdout + outcome.stderr

    def healthy(self) -> bool:
        return subprocess.run(["podman", "healthcheck", "run", self.id], capture_output=True).returncode == 0

    def wait(self):
        """Waits until the health check says that awd is ready."""
        end = time.monotonic() + 60
        while not self.healthy():
            expect(time.monotonic() < end and self.inspect(".State.Running") == "true", f"not healthy\n{self.log()}")
            time.sleep(0.2)

    def ask(self, path: str, body: str) -> str:
        return run("podman", "exec", self.id, "curl", "-fsS", f"http://127.0.0.1:8080{path}", "-d", body)

    def stop(self):
        """Stops it as `docker stop` does, and looks that awd ended by itself."""
        run("podman", "stop", "--time", self.patience, self.id)
        expect(self.inspect(".State.ExitCode") == "0", f"ended with {self.inspect('.State.ExitCode')}\n{self.log()}")
        expect("stopped" in self.log(), self.log())


def confined(container: Container):
    """It is no root, has no capability, and can't write to its root."""
    process = pathlib.Path("/proc", container.inspect(".State.Pid"))
    status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
    expect(status["Uid"].split() == ["10001"] * 4 and status["Gid"].split() == ["10001"] * 4, f"{status}")
    expect(int(status["CapEff"], 16) == 0 and int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"] == "1", f"{status}")
    mounts = {line.split()[4]: line.split()[5].split(",") for line in (process / "mountinfo").read_text().splitlines()}
    expect("ro" in mounts["/"] and "rw" in mounts["/var/lib/awd"], f"{mounts}")


def serves(folder: pathlib.Path):
    """Variables configure it; data outlives it; a file configures it too."""
    first = Container(AWD_LOG_LEVEL="debug")
    first.wait()
    confined(first)
    first.ask("/register", ACCOUNT)
    invitation = run("podman", "exec", first.id, "awd", "invite", "new", "--config", "/etc/awd/awd.toml")
    expect(len(invitation.strip()) > 10, invitation)
    first.stop()

    configuration = folder / "awd.toml"
    configuration.write_text('[server]\nlisten = ["0.0.0.0:8080"]\nadmin_listen = "http://127.0.0.1:9090"\n'
                             'data = "/var/lib/awd"\nservices = ["msgr"]\n')
    configuration.chmod(0o644)
    second = Container(f"--volume={configuration}:/etc/awd/awd.toml:ro")
    second.wait()
    expect("Token" in second.ask("/login", ACCOUNT), "the account is gone")
    second.stop()


def refuses():
    """Without a proxy it says what to do, and is never healthy."""
    container = Container(AWD_SERVER_TRUSTED_PROXIES="")
    run("podman", "wait", container.id)
    expect(container.inspect(".State.ExitCode") != "0" and "trusted_proxies" in container.log(), container.log())


def labelled(awd: str):
    """Its tag and its label are the program's version, and it runs as awd."""
    version = re.match(r"awd (\S+)", run(awd, "version"))[1]
    image = json.loads(run("podman", "image", "inspect", f"localhost/awd:{version}"))[0]
    expect(image["Config"]["Labels"]["org.opencontainers.image.version"] == version, f"{image['Config']}")
    expect(image["Config"]["User"] == "10001:10001", f"{image['Config']}")
    print(f"image of {image['Size'] / 1e6:.0f} MB")


def main():
    awd = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="awd-image-") as name:
        folder = pathlib.Path(name)
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n')
        # Neither systemd nor the right to raise a limit is needed. runc works with both kinds of control groups.
        (folder / "containers.conf").write_text(
            '[containers]\ndefault_ulimits = []\n[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n'
            'events_logger = "file"\n')
        os.environ["CONTAINERS_CONF"] = str(folder / "containers.conf")
        os.environ["CONTAINERS_STORAGE_CONF"] = str(folder / "storage.conf")
        run("make", "-C", str(ROOT), "-o", "build", "image", f"AWD={awd}", f"IMAGE={folder}/image")
        try:
            labelled(awd)
            serves(folder)
            refuses()
        finally:
            subprocess.run(["podman", "rm", "--all", "--force"], capture_output=True)
    print("ok")


main()

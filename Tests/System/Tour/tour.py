#!/usr/bin/python3
"""tour.py AWD CONFIGURATION GUIDE …: does what the guides show, and compares what comes out with what they show.

The blocks of a guide that begin with "$ " are pasted into one shell, in order. Times, keys and identifiers may differ; "…" stands
for anything, and alone on a line for any lines. A command of which the guide shows no output has to exit with 0. A chat is a
terminal of its own: its lines that begin with "* " or "NAME> " are shown, the others are typed.

The README is for somebody in a clone, where AWD serves CONFIGURATION. The other guides are for the operator of the package: AWD
serves config/production.toml as the user `awd`. Root runs every line as it stands, in namespaces of its own: with the paths, the
ports, the user and the host name that the guides have. Who isn't root runs the lines with other paths and ports.
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.request

PATIENCE = 60
ROOT = pathlib.Path(__file__).resolve().parents[3]
INSIDE = "--inside"
NAMESPACES = ["unshare", "--mount", "--net", "--propagation", "private"]
HOST = "awd.example.org"
MASKS = [
    (r"\b(0x)?[0-9a-fA-F]{16,64}\b", "<hex>"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", "<date>"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\b\d+(\.\d+)? (B|KiB|MiB|GiB)\b", "<size>"),
]


def masked(text: str) -> str:
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return text


def seen(text: str) -> str:
    """What is left to see of it on a terminal."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r\n", "\n")
    return re.sub(r"^[^\n]*\r", "", text, flags=re.MULTILINE)


def matches(shown: list[str], printed: list[str]) -> bool:
    pattern = ""
    for line in shown:
        if line.strip() == "…":
            pattern += r"(.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in masked(line).split("…")) + r"\n"
    return re.fullmatch(pattern, "".join(masked(line) + "\n" for line in printed)) is not None


def blocks(guide: pathlib.Path) -> list[list[str]]:
    """The guide's blocks of shell lines and their output."""
    found = re.findall(r"^```\n(\$ .*?)^```$", guide.read_text(), re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in found]


def steps(block: list[str]) -> list[tuple[str, list[str]]]:
    """The block's commands, each with the output that is shown below it."""
    result: list[tuple[str, list[str]]] = []
    for line in block:
        if line.startswith("$ "):
            result.append((line[2:], []))
        elif result[-1][0].endswith("\\"):
            result[-1] = (result[-1][0] + "\n" + line, [])
        else:
            result[-1][1].append(line)
    return result


class Terminal:
    """A program that writes to a terminal, as some programs print more where they don't."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: pathlib.Path):
        ours, theirs = pty.openpty()
        attributes = termios.tcgetattr(theirs)
        attributes[1] &= ~termios.ONLCR
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        termios.tcsetwinsize(theirs, (50, 500))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=environment,
                                        cwd=folder, text=True, bufsize=1)
        os.close(theirs)
        self.condition = threading.Condition()
        self.text = ""
        self.read = 0
        threading.Thread(target=self.collect, args=(ours,), daemon=True).start()

    def collect(self, descriptor: int):
        while True:
            try:
                piece = os.read(descriptor, 65536)
            except OSError:
                piece = b""
            with self.condition:
                self.text += piece.decode(errors="replace")
                self.condition.notify_all()
            if not piece:
                return

    def type(self, line: str):
        self.process.stdin.write(line + "\n")

    def until(self, pattern: str) -> re.Match | None:
        """Waits for the pattern in what has not been read yet, and reads as far as its end."""
        with self.condition:
            def look():
                return re.compile(pattern, re.MULTILINE).search(self.text, self.read)
            if found := self.condition.wait_for(look, PATIENCE):
                self.read = found.end()
            return found

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Machine:
    """What stands for the operator's machine: this one, in namespaces in which nothing of it is changed."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.chmod(0o755)
        self.run("ip", "link", "set", "lo", "up")
        # The unit may bind ports below 1024.
        pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
        etc = folder / "etc"
        etc.mkdir()
        self.run("cp", "-a", "/etc/.", etc)
        for path, line in {"passwd": "awd:x:990:990::/var/lib/awd:/usr/sbin/nologin", "group": "awd:x:990:",
                           "hosts": f"127.0.0.1 localhost {HOST}"}.items():
            file = etc / path
            file.write_text("".join(other + "\n" for other in file.read_text().splitlines() if not other.startswith("awd:")) + line + "\n")
        (etc / "awd").mkdir(exist_ok=True)
        self.run("mount", "--bind", etc, "/etc")
        for path in ("/var/lib", "/var/backups"):
            self.run("mount", "-t", "tmpfs", "tmpfs", path)
        # What the package and systemd make.
        for path in ("/var/lib/awd", "/var/lib/awd/repository", "/var/backups/awd"):
            self.run("install", "-d", "-m", "0700", "-o", "awd", "-g", "awd", path)
        self.certificate = pathlib.Path("/etc/awd/certificate.pem")
        self.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                 f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", "/etc/awd/key.pem", "-out", self.certificate)
        text = (ROOT / "config/production.toml").read_text()
        for old, new in {'listen = ["127.0.0.1:8080"]': 'listen = ["http://127.0.0.1:8080", "https://127.0.0.1:443"]',
                         'public_url = ""': f'public_url = "https://{HOST}"\ntls = {{ certificate = "/etc/awd/certificate.pem", key = "/etc/awd/key.pem" }}'}.items():
            if old not in text:
                sys.exit(f"FAIL config/production.toml lacks {old}")
            text = text.replace(old, new)
        pathlib.Path("/etc/awd/awd.toml").write_text(text)
        self.run("chown", "-R", "root:awd", "/etc/awd")
        self.run("chmod", "-R", "g=rX", "/etc/awd")

    @staticmethod
    def run(*words):
        subprocess.run(list(map(str, words)), check=True, capture_output=True)


class Tour:
    """A fresh folder, a server in it or of the package, a shell, and the chats that are going on."""

    def __init__(self, awd: str, configuration: str, machine: Machine | None, is_clone: bool):
        self.machine = machine
        self.is_clone = is_clone
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="awd-tour-"))
        self.folder.chmod(0o755)
        self.address = "127.0.0.1:8080" if machine else self.free_address()
        self.failures: list[str] = []
        self.chats: list[tuple[str, Terminal, threading.Thread]] = []
        self.server: subprocess.Popen | None = None
        for folder in (".build/release", "bin", "config", "backups/awd"):
            (self.folder / folder).mkdir(parents=True)
        for path in (".build/release/awd", "bin/awd"):
            (self.folder / path).symlink_to(awd)
        text = pathlib.Path(configuration).read_text()
        (self.folder / "config/dev.toml").write_text(self.ported(text))
        # Debian's sudo isn't everywhere.
        sudo = 'user=$2; shift 2\nexec runuser -u "$user" -- "$@"\n' if machine else 'shift 2\nexec "$@"\n'
        (self.folder / "bin/sudo").write_text(f"#!/bin/sh\n{sudo}")
        (self.folder / "bin/sudo").chmod(0o755)
        self.environment = {"PATH": f"{self.folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        if machine:
            self.environment["CURL_CA_BUNDLE"] = str(machine.certificate)

    @staticmethod
    def free_address() -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return f"127.0.0.1:{probe.getsockname()[1]}"

    def ported(self, text: str) -> str:
        return text.replace("127.0.0.1:8080", self.address)

    def local(self, command: str) -> str:
        """The command as it is written; where this isn't root, but for the port and the places that only root may write to."""
        if self.machine:
            return command
        command = self.ported(command).replace("/etc/awd/awd.toml", "config/dev.toml")
        command = command.replace("/var/backups/", "backups/").replace("/var/lib/awd", "var/dev")
        command = command.replace(f"https://{HOST}", f"http://{self.address}")
        return command.replace("wallet chat", f"wallet chat --server ws://{self.address}/siren")

    def serve(self):
        command = ["bin/awd", "serve", "--config", "config/dev.toml"]
        if self.machine and not self.is_clone:
            command = ["runuser", "-u", "awd", "--", "awd", "serve", "--config", "/etc/awd/awd.toml"]
        with open(self.folder / "serve.log", "ab") as log:
            self.server = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=self.environment)
        end = time.monotonic() + PATIENCE
        host, port = self.address.split(":")
        while time.monotonic() < end:
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit(f"FAIL no server: {(self.folder / 'serve.log').read_text()}")

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(PATIENCE)

    def register(self, *names: str):
        """Makes the accounts that guides of the package take for granted."""
        for name in names:
            fields = {"Username": name, "Password": "correct horse", "DeviceID": f"stream:{name}s-phone"}
            request = urllib.request.Request(f"http://{self.address}/register", json.dumps(fields).encode(),
                                             {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=PATIENCE).close()

    def fail(self, command: str, shown: list[str], printed: list[str]):
        self.failures.append("\n".join(["$ " + command, "--- the guide shows", *shown, "--- it prints", *printed]))

    def chat(self, block: list[str]):
        """Starts a chat, which goes on beside the rest."""
        command, *lines = block
        terminal = Terminal(["bash", "-c", "exec " + self.local(command[2:])], self.environment, self.folder)

        def talk():
            for line in lines:
                if re.match(r"\* |[^>]+> ", line):
                    if terminal.until("^" + ".*".join(pattern(part) for part in line.split("…")) + "$") is None:
                        return self.fail(command[2:], lines, terminal.text.splitlines())
                else:
                    terminal.type(line)
        thread = threading.Thread(target=talk)
        thread.start()
        self.chats.append((command, terminal, thread))

    def end_chats(self):
        for _, _, thread in self.chats:
            thread.join()
        for _, terminal, _ in self.chats:
            terminal.close()

    def systemctl(self, word: str):
        {"stop": self.stop, "start": self.serve}[word]()

    def paste(self, shell: Terminal, block: list[str]):
        for command, shown in steps(block):
            if match := re.fullmatch(r"systemctl (\w+) awd", command):
                self.systemctl(match[1])
                continue
            shell.type(self.local(command))
            shell.type("printf '\\n<ended with %s>\\n' $?")
            start = shell.read
            ended = shell.until(r"^<ended with (\d+)>\n")
            if ended is None:
                sys.exit(f"FAIL without end: {command}\n{shell.text[start:]}")
            text = shell.text[start:ended.start()].replace(self.address, "127.0.0.1:8080")
            printed = seen(text).rstrip("\n").splitlines()
            if (shown and not matches(shown, printed)) or (not shown and ended[1] != "0"):
                self.fail(command, shown, printed)

    def follow(self, guides: list[str]) -> int:
        self.serve()
        if not self.is_clone:
            self.register("anna", "bert")
        shell = Terminal(["bash", "--norc"], self.environment, self.folder)
        count = 0
        for guide in guides:
            for block in blocks(pathlib.Path(guide)):
                count += 1
                if "wallet chat" in block[0]:
                    self.chat(block)
                else:
                    self.paste(shell, block)
            self.end_chats()
            self.chats = []
        shell.close()
        self.stop()
        return count


def pattern(part: str) -> str:
    """What matches a part of a shown line, with other keys."""
    return re.escape(masked(part)).replace(re.escape("<hex>"), "[0-9a-f]+")


def may_use_namespaces() -> bool:
    """Whether this is root on a machine where what `Machine` does is allowed."""
    tried = "ip link set lo up && echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start && mount -t tmpfs tmpfs /var/backups"
    return os.geteuid() == 0 and subprocess.run([*NAMESPACES, "sh", "-c", tried], capture_output=True).returncode == 0


def follow_all(words: list[str], stack: contextlib.ExitStack) -> tuple[int, list[str]]:
    """Follows the README in a clone, and the other guides elsewhere; what that leaves goes with the stack."""
    machine = None
    if INSIDE in words:
        words.remove(INSIDE)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="awd-tour-machine-", ignore_cleanup_errors=True))
        machine = Machine(pathlib.Path(folder))
    awd, configuration, *guides = words
    count, failures = 0, []
    parts = [[guide for guide in guides if guide.endswith("README.md")], [guide for guide in guides if not guide.endswith("README.md")]]
    for part, is_clone in zip(parts, (True, False)):
        if not part:
            continue
        tour = Tour(os.path.realpath(awd), configuration, machine, is_clone)
        try:
            count += tour.follow(part)
        finally:
            if tour.server and tour.server.poll() is None:
                tour.server.kill()
                tour.server.wait()
            shutil.rmtree(tour.folder)
        failures += tour.failures
    return count, failures


def main():
    words = sys.argv[1:]
    if INSIDE not in words and may_use_namespaces():
        os.execvp("unshare", [*NAMESPACES, sys.executable, "-B", __file__, INSIDE, *words])
    is_inside = INSIDE in words
    with contextlib.ExitStack() as stack:
        count, failures = follow_all(words, stack)
    if failures or not count:
        sys.exit("FAIL\n" + "\n\n".join(failures))
    print(f"ok {count} blocks" + (", as they stand" if is_inside else ""))


main()

#!/usr/bin/python3
"""tour.py AWD CONFIGURATION GUIDE …: does what the guides show, in a fresh folder in which AWD serves CONFIGURATION.

The blocks of the README and of other guides that begin with "$ " are pasted into one shell, in order, and what comes out is
compared with what the guide shows. Times, keys and identifiers may differ; "…" stands for anything, and alone on a line
for any lines. A command of which the guide shows no output has to exit with 0. A chat is a terminal of its own: its lines
that begin with "* " or "NAME> " are shown, the others are typed. What needs root has a stand-in in `bin`.
"""

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

PATIENCE = 60
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


class Tour:
    """A fresh folder, a server in it, a shell, and the chats that are going on."""

    def __init__(self, awd: str, configuration: str):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="awd-tour-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.failures: list[str] = []
        self.chats: list[tuple[str, Terminal, threading.Thread]] = []
        self.server: subprocess.Popen | None = None
        for folder in (".build/release", "bin", "config", "backups"):
            (self.folder / folder).mkdir(parents=True)
        for path in (".build/release/awd", "bin/awd"):
            (self.folder / path).symlink_to(awd)
        text = pathlib.Path(configuration).read_text()
        (self.folder / "config/dev.toml").write_text(self.ported(text))
        (self.folder / "bin/sudo").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
        (self.folder / "bin/systemctl").write_text('#!/bin/sh\necho "$1" >&7\nread -r done <&8\n')
        for name in ("sudo", "systemctl"):
            (self.folder / "bin" / name).chmod(0o755)
        self.environment = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}

    def ported(self, text: str) -> str:
        return text.replace("127.0.0.1:8080", self.address)

    def local(self, command: str) -> str:
        """The command as it is written, but for the port and the places that only root may write to."""
        command = self.ported(command).replace("/etc/awd/awd.toml", "config/dev.toml")
        command = command.replace("/var/backups/", "backups/").replace("/var/lib/awd", "var/dev")
        command = command.replace("https://awd.example.org", f"http://{self.address}")
        return command.replace("wallet chat", f"wallet chat --server ws://{self.address}/siren")

    def serve(self):
        with open(self.folder / "serve.log", "ab") as log:
            self.server = subprocess.Popen(["bin/awd", "serve", "--config", "config/dev.toml"], cwd=self.folder, stdout=log,
                                           stderr=log, env=self.environment)
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

    def take(self, guides: list[str]) -> int:
        self.serve()
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


def main():
    awd, configuration, *guides = sys.argv[1:]
    tour = Tour(awd, configuration)
    try:
        count = tour.take(guides)
    finally:
        if tour.server and tour.server.poll() is None:
            tour.server.kill()
    shutil.rmtree(tour.folder)
    if tour.failures or not count:
        sys.exit("FAIL\n" + "\n\n".join(tour.failures))
    print(f"ok {count} blocks")


main()

#!/usr/bin/python3
"""Types at the terminal of `awd wallet chat`, as a person does, and prints what became of it as JSON.

terminal.py AWD SERVER FOLDER WHOM LONG: LONG is the length of the long line.
"""

import json
import os
import pty
import select
import signal
import sys
import termios
import time

AWD, SERVER, FOLDER, WHOM, LONG = sys.argv[1:]


class Terminal:
    def __init__(self):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(AWD, [AWD, "wallet", "chat", "--server", SERVER, "--folder", FOLDER, "--name",
                           "Typist", "--with", WHOM])
        self.before = termios.tcgetattr(self.master)
        self.screen = b""

    def read(self, seconds: float) -> bool:
        """Reads what the program shows; false once it has ended."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            self.screen += os.read(self.master, 65_536)
        except OSError:
            return False
        return True

    def until(self, text: bytes):
        end = time.monotonic() + 60
        while text not in self.screen:
            if time.monotonic() > end or not self.read(1):
                sys.exit(f"never shown: {text!r} in {self.screen[-2000:]!r}")

    def type(self, text: bytes):
        os.set_blocking(self.master, False)
        while text:
            self.read(0)
            _, ready, _ = select.select([], [self.master], [], 0.1)
            if not ready:
                continue
            try:
                text = text[os.write(self.master, text[:4_096]):]
            except BlockingIOError:
                pass
        os.set_blocking(self.master, True)

    def ended(self) -> tuple[int, bool]:
        """The wait status, and whether the terminal is as it was."""
        after = termios.tcgetattr(self.master)
        while self.read(1):
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                after = termios.tcgetattr(self.master)
                return status, after == self.before
        _, status = os.waitpid(self.pid, 0)
        return status, after == self.before


terminal = Terminal()
terminal.until(b"* you talk to")
long = b"long" * (int(LONG) // 4)
terminal.type(long + b"\n")
terminal.type(b"wrong\x7f\x7f\x7f\x7f\x7fright\n")
terminal.until(b"right\r\n")
terminal.type(b"/messages\n")
terminal.until("“right”".encode())
# What comes while somebody types stands above what is typed.
terminal.type(b"half")
terminal.until(b"> in between")
terminal.until(b"> in between\r\nhalf")
terminal.type(b" a line\n")
terminal.until(b"half a line\r\n")
terminal.type(b"\x04")
status, isRestored = terminal.ended()
interrupted = Terminal()
interrupted.until(b"* you talk to")
interrupted.type(b"never sent\x03")
signalled, isGivenBack = interrupted.ended()
print(json.dumps({
    "code": os.waitstatus_to_exitcode(status), "isRestored": isRestored,
    "interrupted": os.waitstatus_to_exitcode(signalled) == -signal.SIGINT,
    "isGivenBack": isGivenBack, "isEchoed": long in terminal.screen.replace(b"\r\n", b"")}))

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
        # The other side stays open, as a shell's does: else the system would give the terminal back by itself.
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.master)
            os.login_tty(self.slave)
            os.execv(AWD, [AWD, "wallet", "chat", "--server", SERVER, "--folder", FOLDER, "--name",
                           "Typist", "--with", WHOM])
        self.screen = b""

    def read(self, seconds: float):
        """Reads what the program shows."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.screen += os.read(self.master, 65_536)

    def until(self, text: bytes):
        end = time.monotonic() + 60
        while text not in self.screen:
            if time.monotonic() > end:
                sys.exit(f"never shown: {text!r} in {self.screen[-2000:]!r}")
            self.read(1)

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
        """The exit code, and whether the terminal is as it was."""
        done, status = 0, 0
        while not done:
            self.read(0.1)
            done, status = os.waitpid(self.pid, os.WNOHANG)
        flags = slice(0, 4)
        is_restored = termios.tcgetattr(self.slave)[flags] == self.before[flags]
        return os.waitstatus_to_exitcode(status), is_restored


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
code, is_restored = terminal.ended()
interrupted = Terminal()
interrupted.until(b"* you talk to")
interrupted.type(b"never sent\x03")
signalled, is_given_back = interrupted.ended()
print(json.dumps({
    "code": code, "isRestored": int(is_restored), "interrupted": int(signalled == -signal.SIGINT),
    "isGivenBack": int(is_given_back), "isEchoed": int(long in terminal.screen)}))

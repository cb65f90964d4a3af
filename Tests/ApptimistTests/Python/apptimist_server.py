"""Starts the built awd with a configuration of its own in a temporary folder."""

import asyncio
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from apptimist_device import Missing, Service, http


def kept_port() -> socket.socket:
    """A socket with a port that the system gives to nobody else: it is bound, and doesn't listen."""
    keeper = socket.socket()
    # The server's own socket allows it too, and so can share the port.
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    return keeper


class Server:
    """One awd process, restartable on the same data and port."""

    def __init__(self, awd: str, settings: dict | None = None, sections: str = "",
                 path: str = "/siren", level: str = "debug", public: bool = True):
        self.awd = awd
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="apptimist-"))
        self.keeper = kept_port()
        self.port = self.keeper.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}{path}"
        self.process: subprocess.Popen | None = None
        self.service: Service | None = None
        self.configuration = self.folder / "awd.toml"
        lines = "\n".join(f"{key} = {self.toml(value)}" for key, value in (settings or {}).items())
        self.configuration.write_text(
            f'[server]\nlisten = ["127.0.0.1:{self.port}"]\nservices = ["apptimist"]\n'
            f'data = "data"\n' + f'public_url = "http://127.0.0.1:{self.port}"\n' * public +
            f'[log]\nlevel = "{level}"\n'
            f'[apptimist]\npath = "{path}"\n{lines}\n{sections}\n')

    @staticmethod
    def toml(value) -> str:
        return str(value) if isinstance(value, int) else f'"{value}"'

    async def start(self) -> "Server":
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen([self.awd, "serve", "--config", str(self.configuration)],
                                        stdout=self.log, stderr=self.log)
        for _ in range(600):
            if self.process.poll() is not None:
                break
            try:
                status, _, _ = await http(
                    "127.0.0.1", self.port,
                    b"GET /readyz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                if status == 200:
                    self.service = await Service.at(self.url)
                    return self
            except (OSError, asyncio.IncompleteReadError):
                pass
            await asyncio.sleep(0.05)
        raise Missing(f"awd doesn't start:\n{(self.folder / 'log').read_text()[-2000:]}")

    async def end(self, how=signal.SIGTERM, within: float = 60) -> int:
        """Sends the signal and gives the exit status."""
        self.process.send_signal(how)
        status = await asyncio.get_running_loop().run_in_executor(
            None, lambda: self.process.wait(within))
        self.log.close()
        return status

    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        """Runs another command of awd on the same configuration."""
        return subprocess.run([self.awd, *arguments, "--config", str(self.configuration)],
                              capture_output=True, text=True, timeout=60)

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.keeper.close()
        shutil.rmtree(self.folder, ignore_errors=True)

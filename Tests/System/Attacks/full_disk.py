"""Fills the disk below a running server, and makes room again. /readyz must tell the truth, and the server live on."""

import os
import time

from attack import Server, verdict


class SmallDisk(Server):
    """A server whose data lies on a file system of 24 MiB that only it sees."""

    def command(self) -> list[str]:
        mount = 'mkdir -p "$0" && mount -t tmpfs -o size=24m tmpfs "$0" && exec "$@"'
        return ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "sh", "-c", mount, self.data]

    def inside(self, name: str) -> str:
        return f"/proc/{self.pid}/root{self.data}/{name}"

    def wait_for(self, status: int, limit: float = 6) -> tuple[bool, str]:
        end = time.monotonic() + limit
        while True:
            response = self.get("/readyz")
            if response.status == status or time.monotonic() > end:
                return response.status == status, response.body.decode()
            time.sleep(0.2)


with SmallDisk("[log]\nlevel = \"error\"\n") as server:
    with open(server.inside("filler"), "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(1 << 16))
        except OSError:
            pass
    is_told, text = server.wait_for(503)
    is_named = "full" in text
    page = server.get("/status", source="127.0.0.1").body
    os.unlink(server.inside("filler"))
    recovers, _ = server.wait_for(200)
    # Asked in a loop, it writes no more than a row a second.
    before = server.metric("awd_store_groups_total")
    start = time.monotonic()
    while time.monotonic() - start < 3:
        server.get("/readyz")
    written = server.metric("awd_store_groups_total") - before
    verdict("full_disk", told=is_told, named=is_named, on_the_page=b"not ready" in page, recovers=recovers,
            commits_in_3_s=(int(written), 6))

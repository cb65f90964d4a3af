"""The disk of the store is full when a newer file is published: the old one stays, and the newer one comes with room."""

import os
import pathlib
import subprocess
import time

from attack import Server, verdict

CONFIGURATION = '''[server]
disk_reserve = "0B"
[log]
level = "error"
[tokenscript]
repository = "repository"
[tokenscript.publish]
policy = "open"
'''
CONTRACT = "0x6b175474e89094c44da98b954eedeac495271d0f"
PLACE = f"/2020/06/chain/1/{CONTRACT}"
SCRIPT = (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">'
          f'<ts:address network="1">{CONTRACT}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/>'
          f'</ts:origins><!--{"x" * 100_000}--></ts:token>').encode()


class SmallDisk(Server):
    """A server whose data lies on a file system of 24 MiB that only it sees."""

    def command(self) -> list[str]:
        os.makedirs(self.data, exist_ok=True)
        mount = 'mount -t tmpfs -o size=24m tmpfs "$0" && exec "$@"'
        return ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "sh", "-c", mount, self.data]

    @property
    def inside(self) -> pathlib.Path:
        return pathlib.Path(f"/proc/{self.pid}/root{self.data}")


with SmallDisk(CONFIGURATION, files={"repository/none.txt": b""}) as server:
    key, path = (os.path.join(server.folder, name) for name in ("key.pem", "file.tsml"))
    subprocess.run(["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", key], check=True)

    def sign():
        pathlib.Path(path).write_bytes(SCRIPT)
        subprocess.run([server.program, "repo", "sign", "--key", key, path], check=True, capture_output=True)
        return pathlib.Path(path).read_bytes()

    old = sign()
    time.sleep(1.1)  # The signing time counts seconds.
    new = sign()
    first = server.request("PUT", PLACE, old).status
    with open(server.inside / "filler", "wb") as filler:
        try:
            while True:
                filler.write(bytes(1 << 16))
                filler.flush()
        except OSError:
            pass
    refusal = server.request("PUT", PLACE, new)
    stays = server.get(PLACE).body == old
    os.unlink(server.inside / "filler")
    last = server.request("PUT", PLACE, new).status
    verdict("publishing_full_disk", first=(201, first, 201), refusal=(507, refusal.status, 507),
            reason=b"no room" in refusal.body, stays=stays, last=(200, last, 200),
            comes=server.get(PLACE).body == new)

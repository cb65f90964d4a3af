#!/usr/bin/python3
"""package_links.py AWD: whoever has taken over awd puts links into its folder before an upgrade. The package's script, which
runs as root, gives nothing away by them, and keeps the configuration from other users.

It runs a copy of the script on folders of its own, in a mount namespace with users of its own, and needs root.
"""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

if os.geteuid() != 0:
    sys.exit("package_links needs root")
if "inside" not in sys.argv:
    os.execvp("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv, "inside"])

from attack import verdict

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "config/debian/postinst"
AWD = 64_999


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="awd-attack-"))
    atexit.register(shutil.rmtree, folder)
    run = lambda line: subprocess.run(line, shell=True, check=True, cwd=folder)
    run(f"cp /etc/passwd /etc/group . && echo awd:x:{AWD}:{AWD}::/:/bin/false >> passwd && echo awd:x:{AWD}: >> group")
    # What else the script calls does nothing.
    run("mkdir bin && printf '#!/bin/sh\\n' > bin/adduser && chmod 755 bin/adduser && for name in deb-systemd-helper"
        " deb-systemd-invoke systemctl; do cp bin/adduser bin/$name; done")
    run("mount --bind passwd /etc/passwd && mount --bind group /etc/group")
    run("mkdir data etc secret && chmod 755 secret && chown awd:awd data && ln -s ../secret data/repository")
    run("echo '# secret' > etc/awd.toml && chmod 644 etc/awd.toml")
    text = SCRIPT.read_text().replace("/var/lib/awd", f"{folder}/data").replace("/etc/awd", f"{folder}/etc").replace("/var/backups/awd", f"{folder}/backups")
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", text, "postinst", "configure", "0.1.0"], env=environment, capture_output=True)
    target, configuration = (folder / "secret").stat(), (folder / "etc/awd.toml").stat()
    verdict("package_links", exit_code=(done.returncode, 0), given_away=(int(target.st_uid == AWD), 0),
            target_mode=(target.st_mode & 0o777 == 0o755),
            configuration=(configuration.st_uid, configuration.st_gid, configuration.st_mode & 0o777) == (0, AWD, 0o640))


main()

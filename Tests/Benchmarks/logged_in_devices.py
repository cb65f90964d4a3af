#!/usr/bin/env python3
"""logged_in_devices.py AWD GENERATOR [DEVICES] [MESSAGES]: the memory of Apptimist's devices. Each line is measured on a
fresh server with one event loop. Memory is the process's own pages (Private_Clean, Private_Dirty and Swap of
smaps_rollup). Measured are 10,000 devices that do nothing, of either version of the protocol, 64 sessions of one user, a
device that stops reading while 100,000 messages arrive for it, and the login of a user's next device while 10,000 messages
wait. Fails if a device costs more than 8 KiB, one of version 2 more than 4 KiB, or the reader more than 4 MiB."""
import json, os, resource, subprocess, sys
from support import awd_command, free_port, running, temporary_folder, wait_for_port

AWD, GENERATOR = map(os.path.abspath, sys.argv[1:3])
# All devices have one address.
UNLIMITED = ("[apptimist]\nall_sessions = 100000\nsessions_per_address = 100000\n"
             "accounts_per_address = 1000000\n")
DEVICES = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
MESSAGES = int(sys.argv[4]) if len(sys.argv) > 4 else 100_000
needed = DEVICES + 500
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
if limit[0] < needed:
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, max(needed, limit[1])))


def measure(*arguments):
    with temporary_folder() as folder:
        port = free_port()
        with running(awd_command(AWD, folder, port, "apptimist", UNLIMITED), stdout=subprocess.DEVNULL) as server:
            wait_for_port(port, server)
            command = [GENERATOR, *arguments[0].split(), port, server.pid, *arguments[1:]]
            output = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            if output.returncode:
                sys.exit(f"{arguments}: {output.stderr}")
            return json.loads(output.stdout)


idle = {}
for version, name in [(1, "apptimist"), (2, "apptimist-2")]:
    idle[version] = found = measure(f"idle {name}", DEVICES)
    print(f"{found['devices']} idle devices of version {version}: {found['bytes_each']:.0f} bytes each, "
          f"{found['memory'] / 1024:.1f} MiB in all", flush=True)
sessions = measure("sessions", 64)
print(f"{sessions['sessions']} sessions of one user: {sessions['delivered']:.0f} messages delivered per second", flush=True)
stuck = measure("stuck", MESSAGES)
print(f"{stuck['messages']} messages of 1 KB for a device that stopped reading: at most {stuck['with'] / 1024:.1f} MiB more; "
      f"the same for an absent device: {stuck['without'] / 1024:.1f} MiB")
login = measure("login", 10_000)
print(f"{login['messages']} messages of 1 KB that wait for a device: {login['median']:.0f} ms from its connection to the last "
      f"({login['least']:.0f} to {login['most']:.0f}), {login['cost']:.1f} us of the server's CPU each")
sys.exit(idle[1]["bytes_each"] > 8192 or idle[2]["bytes_each"] > 4096 or stuck["with"] > 4 << 10)

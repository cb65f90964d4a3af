#!/usr/bin/env python3
"""logged_in_devices.py AWD GENERATOR [DEVICES] [MESSAGES]: what logged-in devices cost awd. Each line is measured on a
fresh server with one event loop; memory is the process's own pages (Private_Clean, Private_Dirty, Swap of smaps_rollup):
10,000 devices that do nothing, a device that stops reading while 100,000 messages come in for it, and 64 sessions of
one user. Ends with an error if a device costs more than 8 KiB, or the reader more than 4 MiB."""
import json, os, resource, shutil, signal, socket, subprocess, sys, tempfile, time

AWD, GENERATOR = map(os.path.abspath, sys.argv[1:3])
DEVICES = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
MESSAGES = int(sys.argv[4]) if len(sys.argv) > 4 else 100_000
needed = DEVICES + 500
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
if limit[0] < needed:
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, max(needed, limit[1])))


def measure(*arguments):
    folder = tempfile.mkdtemp(prefix="awd-devices-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(f"{folder}/awd.toml", "w") as file:
        # One peer opens all connections here.
        file.write(f'[server]\nlisten = ["127.0.0.1:{port}"]\nservices = ["apptimist"]\nthreads = 1\n'
                   f'data = "{folder}/data"\n[log]\nlevel = "warning"\n')
    server = subprocess.Popen([AWD, "serve", "--config", f"{folder}/awd.toml"], stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        command = [GENERATOR, arguments[0], port, server.pid, *arguments[1:]]
        output = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if output.returncode:
            sys.exit(f"{arguments}: {output.stderr}")
        return json.loads(output.stdout)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


idle = measure("idle", DEVICES)
print(f"{idle['devices']} idle devices: {idle['bytes_each']:.0f} bytes each, {idle['memory'] / 1024:.1f} MiB in all",
      flush=True)
sessions = measure("sessions", 64)
print(f"{sessions['sessions']} sessions of one user: {sessions['delivered']:.0f} messages delivered a second", flush=True)
stuck = measure("stuck", MESSAGES)
print(f"{stuck['messages']} messages for a device that stopped reading: {stuck['with'] / 1024:.1f} MiB more at most; "
      f"before, for one that isn't there: {stuck['without'] / 1024:.1f} MiB")
sys.exit(idle["bytes_each"] > 8192 or stuck["with"] > 4 << 10)

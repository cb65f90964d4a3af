#!/usr/bin/python3
"""pushserver_forgeries.py AWD: 20,000 messages that aren't the relay's, from one address and from 200 more, with every fault that
a signature, a timestamp or a body can have, and tokens of wallets with every fault of theirs. None registers, deletes or pushes
anything or costs the store a write, and the relay's own messages go on, also from the forgers' address. What the relay has
signed is pushed once to each client, however often it comes. Tokens and signatures are made by PyNaCl."""

import http.client
import json
import multiprocessing
import os
import time

import nacl.signing

from attack import ATTACKER, CANARY, Canary, Server, verdict
from Push.relay import RELAY, TOML, URL, encoded, identifier, signed, token

OTHER = nacl.signing.SigningKey.generate()
FORGERIES, PROCESSES, ADDRESSES = 20_000, 4, 200
SUCCESS = {"status": "SUCCESS", "errors": None, "fields": None}


def message(text: str) -> bytes:
    return json.dumps({"topic": "t" * 64, "tag": 4002, "message": text}).encode()


def wrong_tokens(wallet: nacl.signing.SigningKey) -> list[str]:
    now, good = int(time.time()), token(wallet)
    head, claims, signature = good.split(".")
    none = encoded(json.dumps({"typ": "JWT", "alg": "none"}).encode())
    return [
        "", "Bearer ", "Bearer x", good[:-2], good + ".x", f"{head}.{claims}.", f"{none}.{claims}.", f"{none}.{claims}.{signature}",
        f"{head}.{encoded(b'[]')}.{signature}", f"{head}.!.{signature}", "Basic " + good,
        token(wallet, {"typ": "JWT", "alg": "HS256"}), token(wallet, {"typ": "jwt", "alg": "EdDSA"}), token(wallet, {"alg": "EdDSA"}),
        token(wallet, {"typ": "JWT", "alg": "EdDSA", "crit": ["b64"]}), token(wallet, by=OTHER), token(OTHER),
        token(wallet, iss=identifier(wallet)), token(wallet, iss="did:key:z1" + identifier(wallet)[1:]), token(wallet, iss=None),
        token(wallet, aud="https://other.example"), token(wallet, aud=URL + "//"), token(wallet, aud=None), token(wallet, iat=now + 180),
        token(wallet, iat=None), token(wallet, iat="now"), token(wallet, exp=now - 180), token(wallet, exp="x"),
        # Without an end it is good for a day.
        token(wallet, iat=now - 86400 - 180, exp=None)]


def wrong_proofs(body: bytes) -> list[dict[str, str]]:
    now, good = time.time(), signed(body)
    signature, timestamp = good["X-Ed25519-Signature"], good["X-Ed25519-Timestamp"]
    order = (2**252 + 27742317777372353535851937790883648493).to_bytes(32, "little")
    half = bytes.fromhex(signature)[32:]
    malleable = (int.from_bytes(half, "little") + int.from_bytes(order, "little")).to_bytes(32, "little").hex()
    return [
        {}, {"X-Ed25519-Signature": signature}, {"X-Ed25519-Timestamp": timestamp},
        {**good, "X-Ed25519-Signature": signature[:-1]}, {**good, "X-Ed25519-Signature": "0x" + signature[2:]},
        {**good, "X-Ed25519-Signature": "0" * 128}, {**good, "X-Ed25519-Signature": signature[:64] + malleable},
        {**good, "X-Ed25519-Timestamp": str(int(timestamp) + 1)}, {**good, "X-Ed25519-Timestamp": timestamp + "000"},
        signed(body, by=OTHER), signed(body + b" "), signed(body, "0"), signed(body, f"-{timestamp}"), signed(body, f"+{timestamp[1:]}"),
        signed(body, str(int(now) - 3 * 86400 - 60)), signed(body, str(int(now) + 360)),
        signed(body, str(int((now - 3 * 86400 - 60) * 1000))), signed(body, str(int((now + 360) * 1000)))]


def forge(port: int, number: int, refused, served, forgers):
    """Sends a share of the forgeries over kept connections, in a process of its own that gives way."""
    os.nice(19)
    body = message("forged" * 100)
    path = f"/clients/{identifier(OTHER)}"
    proofs = [{"X-Ed25519-Signature": os.urandom(64).hex(), "X-Ed25519-Timestamp": str(int(time.time()))} for _ in range(100)]
    share = FORGERIES // PROCESSES
    count = 0
    while count < share:
        # Half of them come from one address.
        source = ATTACKER if number < PROCESSES // 2 else f"127.0.1.{1 + (number + count // 50 * PROCESSES) % ADDRESSES}"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(source, 0))
        for _ in range(50):
            connection.request("POST", path, body, proofs[count % len(proofs)])
            response = connection.getresponse()
            response.read()
            count += 1
            with forgers.get_lock():
                forgers.value += 1
            with (refused if response.status in (401, 503) else served).get_lock():
                (refused if response.status in (401, 503) else served).value += 1
        connection.close()


def main():
    context = multiprocessing.get_context("fork")
    refused, served, forgers = (context.Value("i", 0) for _ in range(3))
    with Server(TOML) as server:
        wallet = nacl.signing.SigningKey.generate()
        path = f"/clients/{identifier(wallet)}"
        faults: list[str] = []

        def expect(what: str, response, *statuses: int, body: dict | None = None):
            if response.status not in statuses or body is not None and json.loads(response.body) != body:
                faults.append(f"{what}: {response.status} {response.body[:200]!r}")

        def register(authorization: str | None, address: str = "fcm-" + "t" * 60, prefix: str = "", **members):
            fields = {"Authorization": authorization} if authorization is not None else {}
            body = {"client_id": identifier(wallet), "type": "fcm", "token": address, "always_raw": True, **members}
            return server.request("POST", f"{prefix}/clients", json.dumps(body).encode(), fields, source=CANARY)

        def push(body: bytes, proof: dict[str, str], source: str = CANARY, to: str = path):
            return server.request("POST", to, body, proof, source=source)

        # Wallets with every fault.
        for number, text in enumerate(wrong_tokens(wallet)):
            expect(f"registration {number}", register(text), 401)
            expect(f"deletion {number}", server.request("DELETE", path, fields={"Authorization": text}, source=CANARY), 401)
        expect("without a token", register(None), 401)
        expect("unregistered", push(message("0"), signed(message("0"))), 202, body=SUCCESS)
        expect("registration", register(token(wallet)), 200, body=SUCCESS)
        expect("with a slash", register("Bearer " + token(wallet, aud=URL + "/"), prefix="/wallet-1"), 200, body=SUCCESS)
        expect("another project", register(token(wallet), prefix="/wallet-2"), 404)

        # Messages with every fault, of which none reaches the store, and the same ones again and again.
        body = message("1")
        for number, proof in enumerate(wrong_proofs(body)):
            expect(f"proof {number}", push(body, proof, source=f"127.0.2.{number + 1}"), 401)
        proof = signed(body)
        expect("message", push(body, proof), 202)
        for number in range(50):
            expect("again", push(body, proof, to=("/wallet-1" if number % 2 else "") + path), 200)
        expect("signed anew", push(body, signed(body, str(int(time.time() * 1000)))), 200)
        expect("as a DID", push(body, proof, to=f"/clients/did:key:{identifier(wallet)}"), 200)
        expect("another's", push(body, proof, to=f"/clients/{identifier(OTHER)}"), 202, body=SUCCESS)
        # The signature names no client: for a second one the same call is good, and once.
        second = nacl.signing.SigningKey.generate()
        second_path = f"/clients/{identifier(second)}"
        place = json.dumps({"client_id": identifier(second), "type": "fcm", "token": "fcm-" + "u" * 60, "always_raw": True}).encode()
        expect("second client", server.request("POST", "/clients", place, {"Authorization": token(second)}, source=CANARY), 200)
        expect("for the second", push(body, proof, to=second_path), 202)
        for number in range(20):
            expect("for the second again", push(body, proof, to=second_path, source=f"127.0.2.{number + 1}"), 200)
        written = server.metric("awd_store_writes_total")

        sent = [0]

        def push_as_the_relay():
            sent[0] += 1
            body = message(f"canary {sent[0]}")
            return push(body, signed(body)).status == 202

        processes = [context.Process(target=forge, args=(server.port, number, refused, served, forgers), daemon=True)
                     for number in range(PROCESSES)]
        memory = server.rss
        start = time.monotonic()
        with Canary(server, push_as_the_relay) as canary:
            for process in processes:
                process.start()
            while any(process.is_alive() for process in processes) and time.monotonic() < start + 40:
                time.sleep(0.1)
        for process in processes:
            process.kill()
        grown = server.rss - memory
        # The relay gets through at the forgers' own address, and is no forger afterwards.
        got_through = 0
        for number in range(40):
            body = message(f"from there {number}")
            status = push(body, signed(body), source=ATTACKER).status
            got_through += status == 202
            if status == 503:
                time.sleep(0.15)
        # Each of its messages is a write, as are its lease and its end; and housekeeping is a few.
        accepted = 2 + sent[0] + got_through
        writes = server.metric("awd_store_writes_total") - written - 3 * accepted
        lines = server.get("/metrics", source="127.0.0.1").body.decode().splitlines()
        counted = {line.split('"')[1]: float(line.split()[-1]) for line in lines if line.startswith("awd_pushserver_requests_total")}
        for fault in faults[:10]:
            print(fault)
        verdict("pushserver_forgeries", canary, faults=(len(faults), 0), forged=(FORGERIES, forgers.value, None),
                refused=(FORGERIES, refused.value, None), served=(served.value, 0), other_writes=(round(writes), 40),
                got_through=(30, got_through, 40), accepted=(accepted, round(counted["accepted"]), accepted),
                grown_MiB=(grown >> 20, 64), log_KiB=(len(server.log) >> 10, 64), seconds=round(time.monotonic() - start) < 50)


if __name__ == "__main__":
    main()

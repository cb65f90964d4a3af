#!/usr/bin/python3
"""A device that talks with the web app of somebody, and sends what that must not believe.

  web_app_peer.py URL KEY FORUM    URL is http://host:port/siren; KEY invites it into FORUM
"""

import asyncio
import json
import os
import sys
import time

sys.dont_write_bytecode = True

from apptimist_device import Identity, Service
import apptimist2_protocol as wire
from apptimist2_device import Device2


def same(found, wanted, what: str):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


async def main(url: str, anna: bytes, forum: bytes):
    one = await Device2.connect(await Service.at(url.replace("http", "ws", 1)))
    me = Identity("peer")
    same((await one.new(me, flags=1)).error, 0, "new")
    same((await one.login(me)).error, 0, "login")
    print("ready", file=sys.stderr, flush=True)

    async def send(content, to: bytes = anna, kind: int = 1) -> int:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        now = int(time.time())
        return (await one.message(to, one.sealed(body, to, now, kind), now)).error

    # The invitation's secret is the forum's, and opens its posts.
    pdu = await one.stream(30)
    content = json.loads(one.unsealed(pdu))
    invitation = content["invitation"]
    same((len(content["id"]), invitation["forum"], invitation["name"]), (16, forum.hex(), "Club"), "invitation")
    club = Identity("Club", secret=bytes.fromhex(invitation["secret"]))
    same(club.key, forum, "the secret's public key")
    post = await one.stream(30)
    plain = wire.unseal(2, post.data, one.service.key, post.fromPubEncrKey, club.secret, post.toPubEncrKey,
                        post.fromPubEncrKey, post.time)
    signature, body = plain[:64], plain[64:]
    author = wire.users(1, (await one.request("searchByKey", pubEncrKey=anna)).data)[0]
    signed = wire.post_signed(one.service.key, forum, anna, post.time, body)
    same(wire.verifies(signature, signed, author["authentication"]), True, "the post's signature")
    same(json.loads(body)["text"], "hello from the browser", "the post")

    # Nothing of this is believed: it isn't a moderator, nobody signed it, these are no forums, and it isn't their author.
    now, stranger = int(time.time()), Identity("stranger")
    published = {"from": anna.hex(), "time": now, "signature": "00" * 64, "content": "{\"text\":\"forged\"}"}
    same(await send({"published": published}, forum, 2), 0, "a forged publication")
    same(await send({"takenBack": wire.sha512(wire.version1_header(post.time, forum, forum, anna), post.data).hex()},
                    forum, 2), 0, "another's post taken back")
    for bad in [
        {"invitation": {"forum": forum.hex(), "secret": stranger.secret.hex(), "name": "evil"}},
        {"invitation": {"forum": stranger.key.hex(), "secret": "00" * 32, "name": "evil"}},
        {"mayIRead": stranger.key.hex()}, {"left": stranger.key.hex()}, {"sent": {"to": anna.hex()}}, {"published": published},
        {"changed": ".people"}, {"takenBack": "00" * 64}, {"file": {"name": "x"}}, b"\xff\xfe",
    ]:
        same(await send(bad), 0, f"{bad}")
    same(await send({"id": os.urandom(8).hex(), "text": "hello from Python"}, forum, 2), 0, "post")
    # Who is among the readers, and asks, gets the secret once more.
    same(await send({"mayIRead": forum.hex()}), 0, "question")
    while True:
        pdu = await one.stream(30)
        if pdu.type == "message" and pdu.toPubEncrKey == me.key and pdu.fromPubEncrKey == anna:
            break
    same(json.loads(one.unsealed(pdu))["invitation"]["secret"], invitation["secret"], "the answer")
    await one.close()


asyncio.run(main(sys.argv[1], bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])))

"""Noise in valid boxes."""

import os
import random

import apptimist_protocol as wire
import websockets
from apptimist_device import Closed, Identity, Missing
from case import Context, case, same, together, until


def noise(dice: random.Random, keys: list[bytes], own: Identity) -> tuple[bytes, bytes]:
    """A header in a valid box: well-formed with odd values, or broken now and then."""
    names = list(wire.LAYOUTS)
    name = dice.choice(names)
    key = lambda: dice.choice(keys + [bytes(32), b"\xff" * 32, dice.randbytes(32)])
    text = lambda: dice.choice([b"", b"a", b"author", b"editors", b"subscribers", b"secret", b"..",
                                b"*" * 50, b"\xff" * 20, dice.randbytes(dice.randrange(255))])
    fields = {}
    for kind, what in wire.LAYOUTS[name][1]:
        if kind == "text":
            fields[what] = text()
        elif kind == "keys":
            fields[what] = [key() for _ in range(dice.randrange(4))]
        elif kind.startswith("len"):
            continue
        elif what == 32:
            fields[kind] = key()
        elif what == 64:
            fields[kind] = dice.choice([bytes(64), b"\xff" * 64, dice.randbytes(64)])
        else:
            fields[kind] = dice.choice([0, 1, 5, 65_535])
    if "fromPubEncrKey" in fields and dice.random() < 0.8:
        fields["fromPubEncrKey"] = own.key
    header = wire.encode(name, **fields)
    if dice.random() < 0.02:
        header = header[:dice.randrange(len(header))] + dice.randbytes(dice.randrange(3))
    return header, dice.randbytes(dice.choice([0, 0, 1, 16, 80, 3000]))


@case("noise in valid boxes: sessions end or go on, everybody else is served")
async def fuzz(c: Context, devices: int = 6, each: int = 200):
    seed = int.from_bytes(os.urandom(4), "big")
    dice = random.Random(seed)
    witness, friend = await c.online(), await c.online()
    forum = await c.forum(witness, subscribers=[witness.user.key])
    keys = [witness.user.key, friend.user.key, forum.key]

    async def attack():
        left = each
        while left > 0:
            device = await c.online()
            keys[4:] = keys[5:][-8:] + [device.user.key]
            try:
                while left > 0:
                    left -= 1
                    header, edata = noise(dice, keys, device.user)
                    if len(edata) == 3000 and dice.random() < 0.5:
                        edata = c.service.seal(edata, device.user, c.service.key)
                    await device.send_header(header, edata)
                    if left % 20 == 0:
                        await device.barrier()
                        device.waiting.clear()
            except (Missing, Closed, websockets.ConnectionClosed, wire.ProtocolError):
                pass
            finally:
                await device.close()
    await together(*(attack() for _ in range(devices)))
    marker = await friend.message(witness.user.key, b"marker")
    await until(witness, marker)
    same(len(await witness.users("searchByKey", pubEncrKey=forum.key)), 1, f"the forum, seed {seed}")


@case("noise in valid boxes, for longer", slow=True)
async def fuzz_longer(c: Context):
    await fuzz(c, 16, 2_500)

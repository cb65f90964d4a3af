"""Vouchers."""

import apptimist_protocol as wire
from apptimist_device import Device, Identity
from case import Context, case, same, together


async def vouchers(device: Device, key: bytes) -> list[bytes]:
    answer = await device.request("vouchers", subjectPubEncrKey=key)
    same(answer.subjectPubEncrKey, key, "the subject")
    return answer.voucherPubEncrKeys


@case("vouch: the signature must hold and the subject exist; vouchers answers oldest first")
async def vouch(c: Context):
    subject = await c.user()
    people = [await c.online() for _ in range(4)]
    for device in people:
        await device.send("vouch", subjectPubEncrKey=subject.key,
                          signature=wire.sign(subject.key, device.user.seed))
        await device.barrier()
    wanted = [device.user.key for device in people]
    same(await vouchers(people[0], subject.key), wanted, "vouchers")
    await people[0].send("vouch", subjectPubEncrKey=subject.key,
                         signature=wire.sign(subject.key, people[0].user.seed))
    same(await vouchers(people[0], subject.key), wanted, "vouchers after a retry")
    await people[1].send("vouch", subjectPubEncrKey=subject.key, signature=bytes(64))
    await people[1].send("vouch", subjectPubEncrKey=subject.key, signature=bytes(64))
    same(await vouchers(people[1], subject.key), [wanted[0], *wanted[2:]], "after one was revoked")


@case("vouches that don't hold, for oneself or for nobody are ignored")
async def vouch_ignored(c: Context):
    device, subject, stranger = await c.online(), await c.user(), Identity()
    me = device.user
    await device.send("vouch", subjectPubEncrKey=subject.key,
                      signature=wire.sign(subject.key, stranger.seed))
    await device.send("vouch", subjectPubEncrKey=subject.key, signature=me.signature)
    await device.send("vouch", subjectPubEncrKey=me.key, signature=me.signature)
    await device.send("vouch", subjectPubEncrKey=stranger.key,
                      signature=wire.sign(stranger.key, me.seed))
    for key in (subject.key, me.key, stranger.key, bytes(32)):
        same(await vouchers(device, key), [], "vouchers")
    # Later the stranger exists: the vouch from before doesn't count.
    other = await c.device()
    await other.new(stranger, name="no stranger any more")
    await other.login(stranger)
    same(await vouchers(other, stranger.key), [], "vouchers of the newcomer")


@case("a vouchers answer has at most the configured number of keys, the oldest", server="small")
async def voucher_limit(c: Context):
    subject, people = await c.user(), [await c.online() for _ in range(5)]
    for device in people:
        await device.send("vouch", subjectPubEncrKey=subject.key,
                          signature=wire.sign(subject.key, device.user.seed))
        await device.barrier()
    same(await vouchers(people[0], subject.key), [device.user.key for device in people[:3]], "keys")


@case("hundreds of vouchers come in one PDU, larger than any header that a device may send", slow=True)
async def many_vouchers(c: Context):
    subject, wanted = await c.user(), []
    for _ in range(40):
        device = await c.online()
        await device.send("vouch", subjectPubEncrKey=subject.key,
                          signature=wire.sign(subject.key, device.user.seed))
        await device.barrier()
        wanted.append(device.user.key)
    for start in range(0, 160, 8):
        devices = await together(*(c.online() for _ in range(8)))
        for device in devices:
            await device.send("vouch", subjectPubEncrKey=subject.key,
                              signature=wire.sign(subject.key, device.user.seed))
            await device.barrier()
            wanted.append(device.user.key)
    same(await vouchers(device, subject.key), wanted, "vouchers")

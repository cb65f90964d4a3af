"""Redirects when the numbers run out. All slow."""

import asyncio

import apptimist_protocol as wire
import websockets
from apptimist_device import Device, Identity
from case import Context, case, expect, same
from cases_process import QUICK


@case("redirect when the device's numbers pass 65,000: last PDU, no query, then 1001", slow=True)
async def redirect_device(c: Context):
    device = await c.online()
    device.waiting.clear()
    try:
        while device.channel.next_sent <= wire.LAST_SEQ:
            await device.send("pause")
        over = device.channel.next_sent
        await device.send("pause")
        for _ in range(3):
            await device.send("pause")
    except websockets.ConnectionClosed:
        pass
    pdu = await device.next()
    same(pdu.type, "redirect", f"what comes after number {over}")
    same(pdu.uri.decode().split("?")[0], pdu.uri.decode(), "URI without a query")
    expect(pdu.uri.decode().endswith(c.service.path), f"URI {pdu.uri}")
    same(await device.closed(), 1001, "close code")
    again = await Device.connect(c.service, url=pdu.uri.decode())
    await again.login(device.user)
    await again.barrier()
    await again.close()


@case("redirect when the service's numbers pass 65,000, in the middle of an answer", slow=True)
async def redirect_service(c: Context):
    device = await c.online()
    word = c.word()
    for number in range(900):
        await device.new(Identity(f"{word} {number}"))
    await device.barrier()
    count = 0
    while True:
        await device.send("searchByName", name=word)
        last = None
        for _ in range(900):
            pdu = await device.next()
            if pdu.type == "redirect":
                expect(device.channel.next_received - 2 > wire.LAST_SEQ, "redirected too early")
                expect(device.channel.next_received - 2 <= wire.LAST_SEQ + 4,
                       f"redirect has number {device.channel.next_received - 2}")
                expect(last is not None and last.count > 0, "not in the middle of an answer")
                same(await device.closed(), 1001, "close code")
                return
            last = pdu
            count += 1
        expect(count < 40_000, "never redirected")


@case("redirect in the middle of the stream: nothing is lost or comes twice", server="own", slow=True)
async def redirect_stream(c: Context):
    each = 9_000
    # The senders may be done before the reader has read: nothing is dropped meanwhile.
    await c.own({**QUICK, "queue_messages": 4 * each})
    device = await c.online()
    user = device.user

    async def send(sender: Device):
        return [await sender.message(user.key, b"%d" % number, boxed=False)
                for number in range(each)]
    senders = [await c.online() for _ in range(4)]
    sending = asyncio.gather(*(send(sender) for sender in senders))
    came = []
    while (pdu := await device.next()).type == "message":
        came.append(pdu.message_id)
    same(pdu.type, "redirect", "what ends the stream")
    expect(device.channel.next_received - 2 > wire.LAST_SEQ, "redirected too early")
    same(await device.closed(), 1001, "close code")
    again = await c.again(user, head=came[-1])
    sent = await sending
    came += [(await again.stream()).message_id for _ in range(4 * each - len(came))]
    same(len(set(came)), 4 * each, "messages, each once")
    for ids in sent:
        mine = set(ids)
        same([one for one in came if one in mine], ids, "one sender's messages in order")


@case("without public_url a redirect at 65,000 names the address that the device asked", server="own",
      slow=True)
async def redirect_unconfigured(c: Context):
    server = await c.own(QUICK, public=False)
    device = await c.online()
    try:
        while device.channel.next_sent <= wire.LAST_SEQ + 2:
            await device.send("resume")
    except websockets.ConnectionClosed:
        pass
    pdu = await device.next()
    same((pdu.type, pdu.uri.decode()), ("redirect", server.url), "the last PDU")
    same(await device.closed(), 1001, "close code")

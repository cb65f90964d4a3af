"""Identity providers."""

import asyncio

from apptimist_device import Identity
from case import Context, case, same, together


@case("invite: a token opens one account; a retry with it is accepted", server="own")
async def invitations(c: Context):
    server = await c.own({"identity": "invite", "refusal_min": "1s", "refusal_max": "1100ms"})

    def invite(*options: str) -> str:
        result = server.command("invite", "new", *options)
        same(result.returncode, 0, f"exit of awd invite new: {result.stderr}")
        return result.stdout.split()[-1] if len(result.stdout.split()) == 1 else next(
            word for word in result.stdout.split() if len(word) >= 20)

    async def attempt(user: Identity, uid: str, token: str) -> bool:
        device = await c.device()
        await device.new(user, uid, token)
        await device.login(user)
        try:
            await device.barrier()
            return True
        except Exception:
            return False
    token = invite()
    first, second = Identity("first"), Identity("second")
    same(await attempt(Identity("x"), "u", "no such token"), False, "a wrong token")
    same(await attempt(Identity("x"), "u", ""), False, "no token")
    same(await attempt(first, "u", token), True, "a good token")
    same(await attempt(second, "u", token), False, "the token again, for another")
    same(await attempt(first, "u", token), True, "a retry of the first")
    bound = invite("--uid", "ada")
    same(await attempt(Identity("x"), "eve", bound), False, "another's invitation")
    same(await attempt(Identity("x"), "ada", bound), True, "the invitation of that uid")
    twice = invite("--uses", "2")
    same([await attempt(Identity("x"), "u", twice) for _ in range(3)], [True, True, False],
         "an invitation for two")


@case("facebook: debug_token decides; PDUs behind a new that waits keep their order", server="own")
async def facebook(c: Context):
    asked = []

    async def graph(reader, writer):
        """As much of Graph as `debug_token` needs; tokens are OUTCOME-UID."""
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(request.split()[1])
        token = request.split("input_token=")[1].split("&")[0].split(" ")[0]
        outcome, _, uid = token.partition("-")
        await asyncio.sleep({"slow": 0.5, "hang": 30}.get(outcome, 0))
        body = ('{"data":{"app_id":"%s","type":"USER","is_valid":%s,"user_id":"%s",'
                '"expires_at":%d,"scopes":[]}}' % (
                    "999" if outcome == "otherapp" else "123",
                    "false" if outcome == "invalid" else "true", uid,
                    1_000_000_000 if outcome == "expired" else 4_000_000_000))
        head = "500 Error" if outcome == "broken" else "200 OK"
        writer.write(f"HTTP/1.1 {head}\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        writer.close()
    stand_in = await asyncio.start_server(graph, "127.0.0.1", 0)
    c.stack.callback(stand_in.close)
    port = stand_in.sockets[0].getsockname()[1]
    await c.own({"identity": "facebook", "refusal_min": "1s", "refusal_max": "1100ms"}, sections=(
        '[apptimist.facebook]\napp_id = "123"\napp_secret = "s3cret"\n'
        f'graph_url = "http://127.0.0.1:{port}"\n'))

    async def attempt(uid: str, token: str) -> bool:
        device, user = await c.device(), Identity("f")
        await device.new(user, uid, token)
        await device.login(user)
        try:
            await device.barrier()
            return True
        except Exception:
            return False
    rows = [("7", "ok-7", True), ("7", "slow-7", True), ("8", "ok-7", False),
            ("7", "invalid-7", False), ("7", "expired-7", False), ("7", "otherapp-7", False),
            ("7", "broken-7", False), ("7", "hang-7", False)]
    results = await together(*(attempt(uid, token) for uid, token, _ in rows))
    for (uid, token, wanted), result in zip(rows, results):
        same(result, wanted, f"uid {uid} with {token}")
    same(len(asked), len(rows), "how often Graph was asked")

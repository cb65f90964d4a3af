"""Searches of thousands of words on a repository of thousands of rows."""

from attack import Canary, CANARY, Server, attack_apart, verdict

CONFIGURATION = '[tokenscript]\nrepository = "repository"\nsignature = "off"\ntrust = "off"\n'
ROWS = 5000


def script(number):
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin{number}">'
            f'<ts:address network="1">0x{number:040x}</ts:address></ts:contract>'
            f'<ts:origins><ts:ethereum contract="Coin{number}"/></ts:origins></ts:token>').encode()


files = {f"repository/{number}.tsml": script(number) for number in range(ROWS)}
LONG = "/?q=" + "+".join(["0"] * 4000)
COSTLY = "/?q=0x+coin+tsml+served+0+x+o+e"

with Server(CONFIGURATION, files=files) as server:
    def search():
        response = server.get("/?q=coin4711", source=CANARY)
        return response.status == 200 and b"Coin4711" in response.body

    try:
        refusal = server.get(LONG).status
    except OSError:
        refusal = 0

    def cost():
        before = server.cpu
        try:
            server.get(COSTLY)
        except OSError:
            pass
        return server.cpu - before

    # The server may do something else meanwhile, but not each time.
    least = min(cost() for _ in range(3))
    with Canary(server, search) as canary:
        attack_apart([lambda: server.get(LONG)] * 4 + [lambda: server.get(COSTLY)] * 4, 6)
    verdict("repository_search", canary, refusal=(400, refusal, 414), one_s=(least, 0.2))

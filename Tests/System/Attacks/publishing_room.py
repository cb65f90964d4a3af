"""Strangers at 31 addresses, with a key each, publish files with as many contracts as they can, until the repository takes no
more of theirs: one address can't take all the room, and an owner's new file and a stranger's newer one still come.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import time

from attack import Canary, Server, verdict

OWNED = "0x6b175474e89094c44da98b954eedeac495271d0f"
STRANGE = "0x" + "22" * 20
ADDRESSES, FILES, ORIGINS = 31, 8, 32


def configuration(owner):
    return f'''[tokenscript]
repository = "repository"
[tokenscript.publish]
policy = "open"
[tokenscript.deployers]
"{OWNED}" = "{owner}"
'''


def script(address, chains, note=""):
    places = "".join(f'<ts:address network="{chain}">{address}</ts:address>' for chain in chains)
    return (f'<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"><ts:contract name="Coin" interface="erc20">'
            f'{places}</ts:contract><ts:origins><ts:ethereum contract="Coin"/></ts:origins><!--{note}--></ts:token>').encode()


with Server(configuration("0x" + "11" * 20), files={"repository/none.txt": b""}) as server:
    folder = pathlib.Path(server.folder)

    def sign(name, content, number=0):
        key, file = folder / f"{name}.pem", folder / f"{name}-{number}.tsml"
        if not key.exists():
            subprocess.run(["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", key], check=True)
        file.write_bytes(content)
        subprocess.run([server.program, "repo", "sign", "--key", key, file], check=True, capture_output=True)
        return file.read_bytes()

    def put(content, address, chain, source):
        return server.request("PUT", f"/2020/06/chain/{chain}/{address}", content, source=source, timeout=20).status

    # The deployer's key is known only now.
    owners = sign("owner", script(OWNED, [1]))
    listed = subprocess.run([server.program, "repo", "verify", "--json", folder / "owner-0.tsml"], capture_output=True, text=True)
    owner = listed.stdout.partition('"key"')[2].split('"')[1]
    pathlib.Path(server.configuration).write_text(configuration(owner))
    server.stop()
    server.start()

    def flood(number):
        source, statuses = f"127.0.1.{number + 1}", []
        for file in range(FILES + 1):
            first = (number * (FILES + 1) + file) * ORIGINS + 1
            content = sign(f"key{number}", script(STRANGE, range(first, first + ORIGINS)), file)
            statuses.append(put(content, STRANGE, first, source))
        return statuses

    with Canary(server) as canary, concurrent.futures.ThreadPoolExecutor(4) as threads:
        floods = list(threads.map(flood, range(ADDRESSES)))
    taken = sum(statuses.count(201) for statuses in floods)
    refused = sum(statuses.count(507) for statuses in floods)
    time.sleep(1.1)  # The signing time counts seconds.
    newer = sign("key0", script(STRANGE, range(1, ORIGINS + 1), "newer"), 99)
    another = sign("another", script(STRANGE, range(900_000, 900_000 + ORIGINS)))
    last = [put(owners, OWNED, 1, "127.0.1.1"), put(newer, STRANGE, 1, "127.0.1.1"),
            put(another, STRANGE, 900_000, "127.0.2.1")]
    verdict("publishing_room", canary, of_one_address=(max(statuses.count(201) for statuses in floods), FILES),
            contracts=(taken * ORIGINS, 7500), others=(taken + refused, taken + refused, ADDRESSES * (FILES + 1)),
            full=floods[0][-1] == 507, owner_comes=last[0] == 201, newer_comes=last[1] == 200,
            stranger_waits=last[2] == 507)

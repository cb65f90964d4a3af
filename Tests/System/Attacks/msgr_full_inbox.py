#!/usr/bin/python3
"""msgr_full_inbox.py AWD: Mallory's twenty publishers fill Bert's inbox. What Bert's own publisher, a friend and the friend's
publisher have sent stays, and so do a stranger's few messages: all publishers of one user are one sender."""

import itertools
import json

from attack import ATTACKER, CANARY, Canary, Server, attack, verdict

TOML = ('[server]\nservices = ["msgr"]\n[msgr]\npassword_memory = "8KiB"\npassword_passes = 1\ninbox_messages = 60\n')
PUBLISHERS, SECONDS = 20, 10


def main():
    with Server(TOML) as server:
        def post(path, fields, token=None, source=CANARY):
            header = {"Authorization": f"Bearer {token}"} if token else {}
            return server.request("POST", path, json.dumps(fields).encode(), header, source=source)

        def join(name, source=CANARY):
            fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-00000001"}
            return json.loads(post("/register", fields, source=source).body)["Token"]

        def publisher(name, owner):
            return json.loads(post("/tokens", {"Name": name, "To": ["bert"]}, owner).body)["Token"]

        bert, cleo, dora, mallory = join("bert"), join("cleo"), join("dora"), join("mallory", ATTACKER)
        post("/add", {"AddUser": "bert"}, cleo)
        post("/add", {"AddUser": "cleo"}, bert)
        tokens = [publisher(f"p{number}", mallory) for number in range(PUBLISHERS)]
        own, friends = publisher("backup", bert), publisher("ci", cleo)
        for number in range(8):
            for token in (own, friends):
                assert post("/publish", {"message": f"kept {number}"}, token).status == 200
            assert post("/message", {"UserTo": "bert", "Message": f"kept {number}"}, cleo).status == 200
        for number in range(2):
            assert post("/message", {"UserTo": "bert", "Message": f"kept {number}"}, dora).status == 200
        numbers = itertools.count()

        def publish():
            post("/publish", {"message": "x"}, tokens[next(numbers) % PUBLISHERS], ATTACKER)

        def look():
            return post("/inbox", {}, bert).status == 200

        with Canary(server, look) as canary:
            attack([publish] * 4, SECONDS)
        inbox = json.loads(post("/inbox", {}, bert).body)
        kept = [message["UserFrom"] for message in inbox if message["Message"].startswith("kept")]
    verdict("msgr_full_inbox", canary, inbox=(60, len(inbox), 60), published=(300, next(numbers), None),
            own=(8, kept.count("bert/backup"), None), friend=(8, kept.count("cleo"), None),
            friends_publisher=(8, kept.count("cleo/ci"), None), stranger=(2, kept.count("dora"), None))


if __name__ == "__main__":
    main()

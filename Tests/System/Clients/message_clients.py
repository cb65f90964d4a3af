#!/usr/bin/python3
"""message_clients.py AWD: asks AWD what ntfy's and Gotify's clients ask, and decodes each response as the strictest of them do.

Kotlin, Swift and Go have one type for each member: a whole number is no fraction, what must be there is there, and there is
no `null` but where Gotify's own server has one. A member that isn't in the tables below is a failure too, as are the line
breaks at which Swift and Kotlin split a stream. Prints a line for each failed check, and ends with 1 if there is one.
"""

import base64
import json
import os
import pathlib
import re
import socket
import struct
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Attacks"))
from attack import Server  # noqa: E402

TOML = """[server]
services = ["msgr"]
[msgr]
password_memory = "8KiB"
password_passes = 1
registrations_burst = 100
[msgr.topics]
access = "open"
burst = 1000
subscribe_burst = 1000
keepalive = "1s"
"""

failures: list[str] = []
count = 0


def expect(holds, words, seen=""):
    """Counts a check, and keeps what was seen if it fails."""
    global count
    count += 1
    if not holds:
        failures.append(f"{words}: {seen!r}"[:600])


# The types

class Optional:
    """A member that may be absent, and is never null."""

    def __init__(self, kind):
        self.kind = kind


class Nullable:
    """A member that is there, and may be null."""

    def __init__(self, kind):
        self.kind = kind


class Map:
    """An object whose members all have one type."""

    def __init__(self, kind):
        self.kind = kind


class Anything:
    """JSON of somebody else's."""


class Number:
    """A number that clients read as a double."""


def text(pattern=".*"):
    return re.compile(pattern, re.DOTALL)


RFC3339 = text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TOPIC_ID = text("[A-Za-z0-9]{12}")
URL = text("https?://[^ ]+")


def decode(value, kind, where):
    """Checks a value against a type."""
    if isinstance(kind, re.Pattern):
        expect(type(value) is str and kind.fullmatch(value), f"{where} is a text like {kind.pattern}", value)
    elif isinstance(kind, set):
        expect(type(value) in (str, int, bool) and any(value is one or value == one and type(value) is type(one) for one in kind), f"{where} is one of {kind}", value)
    elif kind in (int, bool):
        expect(type(value) is kind, f"{where} is a {kind.__name__}", value)
        expect(kind is bool or type(value) is not int or abs(value) < 1 << 53, f"{where} fits into a double", value)
    elif kind is Number:
        expect(type(value) in (int, float), f"{where} is a number", value)
    elif kind is Anything:
        pass
    elif isinstance(kind, list):
        expect(type(value) is list, f"{where} is a list", value)
        for index, element in enumerate(value if type(value) is list else []):
            decode(element, kind[0], f"{where}[{index}]")
    elif isinstance(kind, Map):
        expect(type(value) is dict, f"{where} is an object", value)
        for name, element in (value if type(value) is dict else {}).items():
            decode(element, kind.kind, f"{where}.{name}")
    elif isinstance(kind, Nullable):
        if value is not None:
            decode(value, kind.kind, where)
    else:
        expect(type(value) is dict, f"{where} is an object", value)
        if type(value) is not dict:
            return
        expect(not set(value) - set(kind), f"{where} has known members only", sorted(set(value) - set(kind)))
        for name, inner in kind.items():
            if isinstance(inner, Optional):
                if name in value:
                    decode(value[name], inner.kind, f"{where}.{name}")
            elif name in value:
                decode(value[name], inner, f"{where}.{name}")
            else:
                expect(False, f"{where} has {name}", value)


def parse(body: bytes, where: str, is_line=True):
    """Reads JSON in which no name stands twice, and with `is_line` one with no line break of any kind but at its end."""
    def unique(pairs):
        names = [name for name, _ in pairs]
        expect(len(set(names)) == len(names), f"{where} has each member once", names)
        # Go takes a name in any case for a member.
        lower = [name.lower() for name in names]
        expect(len(set(lower)) == len(lower) or "headers" in where, f"{where} has each member in one case", names)
        return dict(pairs)

    line = body.decode().removesuffix("\n")
    expect(not is_line or line.splitlines() == [line], f"{where} is one line", line)
    try:
        return json.loads(line, object_pairs_hook=unique)
    except ValueError as error:
        expect(False, f"{where} is JSON ({error})", line)
        return None


ACTION = {
    "id": text(".{10}"), "action": {"view", "broadcast", "http", "copy"}, "label": text(), "clear": bool, "url": Optional(text()),
    "method": Optional(text()), "headers": Optional(Map(text())), "body": Optional(text()), "intent": Optional(text()),
    "extras": Optional(Map(text())), "value": Optional(text()),
}
ATTACHMENT = {"name": text(".+"), "url": URL, "type": Optional(text("[a-z]+/[^; ]+")), "size": Optional(int), "expires": Optional(int)}
MESSAGE = {
    "id": TOPIC_ID, "time": int, "expires": int, "event": {"message"}, "topic": text("[-_A-Za-z0-9]{1,64}"),
    "message": text(), "sequence_id": Optional(text("[-_A-Za-z0-9]{1,64}")), "title": Optional(text(".+")), "priority": Optional({1, 2, 4, 5}),
    "tags": Optional([text(".+")]), "click": Optional(text()), "icon": Optional(URL), "actions": Optional([ACTION]),
    "attachment": Optional(ATTACHMENT), "content_type": Optional({"text/markdown"}), "encoding": Optional({"base64"}),
    "notes": Optional([text(".+")]),
}
SIGN = {"id": TOPIC_ID, "time": int, "event": {"open", "keepalive"}, "topic": text()}
CLOSING = {
    "id": TOPIC_ID, "time": int, "expires": int, "event": {"message_clear", "message_delete"}, "topic": text(),
    "sequence_id": text("[-_A-Za-z0-9]{1,64}"),
}
NTFY_ERROR = {"code": int, "http": int, "error": text(".+"), "link": Optional(URL)}
LIMITS = dict.fromkeys([
    "messages", "messages_expiry_duration", "emails", "calls", "reservations", "attachment_total_size", "attachment_file_size",
    "attachment_expiry_duration", "attachment_bandwidth"], int) | {"basis": {"ip", "tier"}}
STATS = dict.fromkeys([
    "messages", "messages_remaining", "emails", "emails_remaining", "calls", "calls_remaining", "reservations",
    "reservations_remaining", "attachment_total_size", "attachment_total_size_remaining"], int)
CONFIGURATION = dict.fromkeys([
    "enable_login", "require_login", "enable_signup", "enable_payments", "enable_calls", "enable_emails", "enable_reservations",
    "enable_web_push"], bool) | {
    "base_url": URL, "app_root": text("/.*/"), "billing_contact": text(), "web_push_public_key": text(), "disallowed_topics": [text(".+")]}

GOTIFY_MESSAGE = {
    "id": int, "appid": int, "message": text(".+"), "title": text(".+"), "priority": int, "date": RFC3339,
    "extras": Optional(Map(Anything)), "notes": Optional([text(".+")]),
}
APPLICATION = {
    "id": int, "token": text("A[A-Za-z0-9]{14}"), "name": text(".+"), "description": text(), "internal": {False}, "image": text("[^/].*"),
    "defaultPriority": int, "createdAt": RFC3339, "lastUsed": Nullable(RFC3339),
}
FOREIGN = {**APPLICATION, "internal": {True}}
del FOREIGN["token"]
CLIENT = {"id": int, "name": text(".+"), "createdAt": RFC3339, "lastUsed": Nullable(RFC3339)}
PAGING = {"size": int, "limit": int, "since": int, "next": Optional(URL)}
GOTIFY_ERROR = {"error": text(".+"), "errorCode": int, "errorDescription": text(".+")}


class Client:
    """Asks as a program with an account's password or with a token does."""

    def __init__(self, server: Server, splits_lines: bool):
        self.server, self.splits_lines = server, splits_lines

    def ask(self, method, path, kind=None, body=b"", status=200, where="", **fields):
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = self.server.request(method, path, body, fields, source="127.0.0.1")
        where = where or f"{method} {path}"
        expect(response.status == status, f"{where} is {status}", (response.status, response.body))
        if kind is None:
            return response
        expect(response.fields.get("content-type", "").startswith("application/"), f"{where} says that it is JSON", response.fields)
        value = parse(response.body, where, self.splits_lines)
        decode(value, kind, where)
        return value

    def lines(self, path, **fields):
        response = self.ask("GET", path, **fields)
        return [line + b"\n" for line in response.body.split(b"\n") if line]

    def stream(self, path, first, fields=""):
        """Opens a stream, and returns its connection and what it begins with."""
        connection = socket.create_connection(("127.0.0.1", self.server.port), 30)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        head = read_until(connection, b"\r\n\r\n")
        expect(head.startswith(f"HTTP/1.1 {first}".encode()), f"{path} begins with {first}", head)
        return connection


def read(connection, length: int) -> bytes:
    bytes_ = b""
    while len(bytes_) < length:
        piece = connection.recv(length - len(bytes_))
        if not piece:
            raise ConnectionError("the stream has ended")
        bytes_ += piece
    return bytes_


def read_until(connection, end: bytes) -> bytes:
    bytes_ = b""
    while not bytes_.endswith(end):
        bytes_ += read(connection, 1)
    return bytes_


def chunk(connection) -> bytes:
    length = int(read_until(connection, b"\r\n"), 16)
    return read(connection, length + 2)[:-2]


def frame(connection) -> bytes:
    """Returns the next text message of a WebSocket."""
    while True:
        first, second = read(connection, 2)
        length = second & 127
        if length == 126:
            length, = struct.unpack("!H", read(connection, 2))
        elif length == 127:
            length, = struct.unpack("!Q", read(connection, 8))
        payload = read(connection, length)
        if first & 15 == 1:
            return payload


UPGRADE = ("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n")
TRICKY = "a\u0085b\u2028c\u2029d\u000be\u000cf\rg \"q\" \\ \u00e4 \U0001f600"


def ntfy(server: Server):
    client = Client(server, True)
    anna = "Basic " + base64.b64encode(b"anna:correct horse").decode()
    wrong = "Basic " + base64.b64encode(b"anna:wrong").decode()
    client.ask("POST", "/register", body={"Username": "anna", "Password": "correct horse", "DeviceID": "stream:anna-00000001"})

    entries = [
        client.ask("PUT", "/alerts", MESSAGE, b"plain"),
        client.ask("PUT", "/alerts", MESSAGE, TRICKY.encode(), where="an awkward text", Title="=?UTF-8?B?w6TDtg==?=", Priority="5",
                   Tags="warning,a b", Click="https://example.org/", Icon="https://example.org/i.png", Markdown="yes",
                   Actions="view, Open, https://h/, clear=true; http, Do, https://h/, method=PUT, headers.A=b, body=x; "
                           "broadcast, Say, extras.c=d, intent=x.y; copy, Code, 42"),
        client.ask("PUT", "/alerts", MESSAGE, b"linked", where="a linked file", Attach="https://example.org/f.jpg"),
        client.ask("PUT", "/alerts", MESSAGE, bytes(range(256)), where="a file", Filename="a \xe4.bin".encode().decode("latin-1")),
        client.ask("PUT", "/alerts/series-1", MESSAGE, b"first", where="a sequence"),
        client.ask("POST", "/", MESSAGE, {"topic": "alerts", "message": "json", "priority": 1, "tags": ["x"], "markdown": True,
                                          "actions": [{"action": "view", "label": "l", "url": "https://h/", "clear": False}]}),
        client.ask("GET", "/alerts/publish?message=query&priority=4", MESSAGE),
        client.ask("PUT", "/alerts", MESSAGE, b"", where="no text"),
        client.ask("PUT", "/alerts", MESSAGE, b"x", where="what is cut", Title="t" * 1000, Priority="99", Icon="ftp://x", Email="a@b"),
        client.ask("PUT", "/alerts", MESSAGE, b"later", where="a message that waits", In="30 min"),
    ]
    expect(entries[1]["priority"] == 5 and len(entries[1]["actions"]) == 3, "all parts are there", entries[1])
    expect(entries[8].get("notes"), "what was cut is told", entries[8])
    client.ask("PUT", "/alerts/series-1/clear", CLOSING)
    client.ask("DELETE", "/alerts/series-1", CLOSING)

    lines = client.lines("/alerts/json?poll=1&sched=1")
    kinds = {"message": MESSAGE, "message_clear": CLOSING, "message_delete": CLOSING}
    seen = [parse(line, "an entry of a poll") for line in lines]
    for entry in seen:
        decode(entry, kinds.get(entry.get("event"), MESSAGE), "an entry of a poll")
    expect({entry["event"] for entry in seen} == set(kinds), "all events come", seen)
    expect({entry["id"] for entry in entries} - {entry["id"] for entry in seen} == {entries[4]["id"]}, "all but what was deleted comes")
    alone = client.ask("GET", f"/alerts/json?poll=1&id={entries[1]['id']}", MESSAGE)
    expect(alone == {name: value for name, value in entries[1].items() if name != "notes"}, "one message alone is the published one", alone)
    raw = client.lines("/alerts/raw?poll=1&message=plain")
    expect(raw == [b"plain\n"], "a raw line is the text", raw)

    # Streams: what is there, what comes, and signs of life.
    streams = [client.stream("/alerts/json?since=all", 200), client.stream("/alerts/sse", 200),
               client.stream("/alerts/ws", 101, UPGRADE)]
    readers = [lambda: chunk(streams[0]), lambda: chunk(streams[1]).split(b"data: ")[1].removesuffix(b"\n"), lambda: frame(streams[2])]
    for name, reader in zip(["json", "sse", "ws"], readers):
        decode(parse(reader(), f"the opening of {name}"), SIGN | {"event": {"open"}}, f"the opening of {name}")
    while True:
        last = parse(readers[0](), "an old entry of json")
        decode(last, kinds.get(last.get("event"), MESSAGE), "an old entry of json")
        if last["event"] == "message_delete":
            break
    live = client.ask("PUT", "/alerts", MESSAGE, b"live", where="a live message", Title="t")
    for name, reader in zip(["json", "sse", "ws"], readers):
        came = parse(reader(), f"a live entry of {name}")
        while came.get("event") == "keepalive":
            decode(came, SIGN, f"a sign of life of {name}")
            came = parse(reader(), f"a live entry of {name}")
        expect(came == live, f"a live entry of {name} is the published one", came)
    for name, reader in list(zip(["json", "sse"], readers)):
        decode(parse(reader(), f"the sign of life of {name}"), SIGN | {"event": {"keepalive"}}, f"the sign of life of {name}")
    for stream in streams:
        stream.close()

    # What the apps and Home Assistant ask beside.
    client.ask("GET", "/alerts/auth", {"success": {True}})
    client.ask("GET", "/v1/health", {"healthy": {True}})
    client.ask("GET", "/v1/stats", {"messages": int, "messages_rate": Number})
    client.ask("GET", "/v1/config", CONFIGURATION)
    client.ask("GET", "/v1/version", {"version": text(".+"), "commit": text(), "date": RFC3339}, Authorization=anna)
    account = {"username": text(".+"), "role": {"user", "anonymous"}, "limits": LIMITS, "stats": STATS}
    expect(client.ask("GET", "/v1/account", account)["username"] == "*", "nobody is called *")
    expect(client.ask("GET", "/v1/account", account, Authorization=anna)["username"] == "anna", "an account has its name")
    token = client.ask("POST", "/v1/account/token", {
        "token": text("tk_[a-z0-9]{29}"), "label": text(), "expires": int, "last_access": int, "last_origin": Optional(text())},
        {"label": "script"}, Authorization=anna)
    client.ask("PUT", "/alerts", MESSAGE, b"by token", where="by token", Authorization=f"Bearer {token['token']}")
    client.ask("GET", "/upABCDEFGHIJKL?up=1", {"unifiedpush": {"version": int}})
    client.ask("GET", "/_matrix/push/v1/notify", {"unifiedpush": {"gateway": {"matrix"}}})
    notification = {"notification": {"devices": [{"pushkey": "https://elsewhere.example/upABCDEFGHIJKL?up=1"}]}}
    client.ask("POST", "/_matrix/push/v1/notify", {"rejected": [URL]}, notification)

    # Errors.
    for status, code, arguments in [
            (401, 40101, dict(method="PUT", path="/alerts", body=b"x", Authorization=wrong)),
            (403, 40301, dict(method="GET", path="/v1/version")), (404, 40401, dict(method="GET", path="/v1/tiers")),
            (400, 40009, dict(method="PUT", path="/a.b", body=b"x")), (400, 40010, dict(method="PUT", path="/metrics2/../v1", body=b"x")),
            (400, 40008, dict(method="GET", path="/alerts/json?poll=1&since=!")), (400, 40024, dict(method="POST", path="/", body=b"{")),
            (404, 40401, dict(method="GET", path="/file/none.txt")), (507, 50701, dict(method="POST", path="/upABCDEFGHIJKM?up=1", body=b"x"))]:
        if code == 40010:
            arguments["path"] = "/v1"
        method, path = arguments.pop("method"), arguments.pop("path")
        error = client.ask(method, path, NTFY_ERROR, status=status, **arguments)
        expect(error and error["code"] == code and error["http"] == status, f"{method} {path} has {code}", error)


def gotify(server: Server):
    client = Client(server, False)
    basic = "Basic " + base64.b64encode(b"anna:correct horse").decode()
    client.ask("GET", "/version", {"name": Optional(text(".+")), "version": text(".+"), "commit": text(), "buildDate": text(), "date": Optional(text())})
    client.ask("GET", "/health", {"health": {"green"}, "database": {"green"}})
    client.ask("GET", "/gotifyinfo", {"version": text(".+"), "oidc": {False}, "register": {False}})
    user = {"id": int, "name": {"anna"}, "admin": {False}, "createdAt": Optional(RFC3339)}
    client.ask("GET", "/current/user", user, Authorization=basic)
    made = client.ask("POST", "/client", CLIENT | {"token": text("C[A-Za-z0-9]{14}")}, {"name": "phone"}, Authorization=basic)
    key = made["token"]
    client.ask("GET", "/current/user", user, X_Gotify_Key=key)
    client.ask("GET", "/client", [CLIENT], X_Gotify_Key=key)
    client.ask("PUT", f"/client/{made['id']}", CLIENT, {"name": "renamed"}, X_Gotify_Key=key)
    application = client.ask("POST", "/application", APPLICATION, {"name": "backup", "description": "d", "defaultPriority": 3},
                             X_Gotify_Key=key)
    client.ask("PUT", f"/application/{application['id']}", APPLICATION, {"name": "backups"}, X_Gotify_Key=key)
    # The token that ntfy's client has made is an application too.
    listed = client.ask("GET", "/application", [APPLICATION], X_Gotify_Key=key)
    listed = [one for one in listed if one["id"] == application["id"]]
    image = client.ask("GET", f"/{listed[0]['image']}")
    expect(image.fields.get("content-type", "").startswith("image/"), "an application has an image", image.fields)
    stream = client.stream(f"/stream?token={key}", 101, UPGRADE)
    sent = []
    for number, arguments in enumerate([
            dict(body={"message": TRICKY}),
            dict(body={"message": "m", "title": "t", "priority": 8, "extras": {
                "client::display": {"contentType": "text/markdown"}, "client::notification": {"click": {"url": "https://h/"}},
                "any::thing": [1, 2.5, None, {"x": True}]}}),
            dict(body=urllib.parse.urlencode({"message": "form", "priority": "0"}).encode(), Content_Type="application/x-www-form-urlencoded"),
            dict(body={"message": "x", "title": "t" * 1000})]):
        sent.append(client.ask("POST", f"/message?token={listed[0]['token']}", GOTIFY_MESSAGE, where=f"message {number}", **arguments))
        came = parse(frame(stream), "a message of the stream", False)
        decode(came, GOTIFY_MESSAGE, "a message of the stream")
        whole = {name: value for name, value in sent[-1].items() if name != "notes"}
        expect(came == whole, f"message {number} of the stream is the published one", (came, whole))
    stream.close()
    expect([message["id"] for message in sent] == sorted({message["id"] for message in sent}), "numbers rise")
    # A topic that the account has subscribed to is an application of somebody else's.
    client.ask("POST", "/msgr/topics/subscribe", body={"Username": "anna", "Password": "correct horse", "Topic": "alerts"})
    client.ask("PUT", "/alerts", body=b"of a topic")
    both = client.ask("GET", "/application", X_Gotify_Key=key)
    for one in parse(both.body, "all applications", False):
        decode(one, FOREIGN if one["internal"] else APPLICATION, "all applications")
    first = client.ask("GET", "/message?limit=2", {"messages": [GOTIFY_MESSAGE], "paging": PAGING}, X_Gotify_Key=key)
    expect("next" in first["paging"] and first["paging"]["size"] == 2, "there are more", first["paging"])
    last = client.ask("GET", f"/message?limit=100&since={first['paging']['since']}", {"messages": [GOTIFY_MESSAGE], "paging": PAGING},
                      X_Gotify_Key=key)
    expect("next" not in last["paging"], "there is a last page", last["paging"])
    client.ask("GET", f"/application/{application['id']}/message", {"messages": [GOTIFY_MESSAGE], "paging": PAGING}, X_Gotify_Key=key)
    client.ask("GET", "/plugin", [Anything], X_Gotify_Key=key)
    for status, method, path, fields in [
            (401, "GET", "/client", {}), (401, "POST", "/message?token=Awrong", {}), (404, "DELETE", "/message/999999", {"X_Gotify_Key": key}),
            (404, "DELETE", "/application/1", {"X_Gotify_Key": key}), (400, "GET", "/message?limit=500", {"X_Gotify_Key": key}),
            (400, "POST", f"/message?token={listed[0]['token']}", {}), (404, "POST", "/user", {"X_Gotify_Key": key})]:
        error = client.ask(method, path, GOTIFY_ERROR, b"{}" if method == "POST" else b"", status, **fields)
        expect(error and error["errorCode"] == status, f"{method} {path} tells its status", error)
    for path in (f"/message/{sent[0]['id']}", f"/application/{application['id']}/message", "/message", f"/application/{application['id']}",
                 f"/client/{made['id']}"):
        deleted = client.ask("DELETE", path, X_Gotify_Key=key)
        expect(deleted.body == b"", f"DELETE {path} has no body", deleted.body)
    client.ask("GET", "/client", GOTIFY_ERROR, status=401, X_Gotify_Key=key)


def main():
    with Server(TOML) as server:
        for part in (ntfy, gotify):
            try:
                part(server)
            except (KeyError, TypeError, IndexError, OSError) as error:
                # What was expected before says why.
                expect(False, f"{part.__name__} goes on", error)
    for failure in failures:
        print(failure)
    print(f"{count - len(failures)} of {count} checks hold")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""topics_benchmark.py AWD [SECONDS] [ROUNDS]: topics beside Msgr's own messages, in turn, each over a fresh store.

Streams: messages to a topic that 100 streams of ntfy's kind read (`json`), and messages to a person who has 100 of Msgr's own
streams, with 8 publishers; the next message is sent when all streams have a former one. What counts is what arrives.
Publishing: by PUT to a topic that nobody reads, and by `/message` to a person, with 64 keep-alive clients by token; each
response is sent after the fsync. The table shows the medians of the rounds and their spread, the server's CPU time for each
message that arrives or is published, and the topic's share of Msgr's own, round by round."""
import base64, contextlib, json, os, select, socket, statistics, subprocess, sys, time, urllib.request
from support import awd_command, cpu_seconds, free_port, running, spread, temporary_folder, wait_for_port, wrk

AWD = os.path.abspath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
STREAMS, PUBLISHERS, CLIENTS = 100, 8, 64
MESSAGE = "Hello there, this is a message."
SETTINGS = """[msgr]
push = "off"
messages_per_minute = 1000000000
registrations_per_minute = 1000000000
registrations_per_day = 1000000000
inbox_messages = 1000000
password_memory = "8KiB"
streams_per_account = 1000
streams_per_address = 1000
[msgr.topics]
messages = 1000000
burst = 1000000
refill = "1ms"
subscribe_burst = 1000000
streams_per_address = 1000
"""


@contextlib.contextmanager
def daemon():
    with temporary_folder() as folder:
        port = free_port()
        with running(awd_command(AWD, folder, port, "msgr", SETTINGS, threads=0, level="error"),
                     stdout=subprocess.DEVNULL) as process:
            wait_for_port(port, process)
            yield port, process.pid


def register(port, name):
    fields = {"Username": name, "Password": "correct horse", "DeviceID": f"stream:{name}-0000"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/register", json.dumps(fields).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["Token"]


def request(method, path, token, body):
    return (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def to_topic(port, tokens):
    return request("PUT", "/news", tokens[0], MESSAGE)


def to_person(port, tokens):
    return request("POST", "/message", tokens[1], json.dumps({"UserTo": "reader", "Message": MESSAGE}))


def connected(port, head=b""):
    connection = socket.create_connection(("127.0.0.1", port), 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(head)
    return connection


def topic_stream(port, token):
    return connected(port, f"GET /news/json HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())


def own_stream(port, token):
    key = base64.b64encode(os.urandom(16)).decode()
    return connected(port, "GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nAuthorization: Bearer {token}\r\n\r\n"
                           .encode())


def stream(kind):
    """Returns the messages that arrive in a second, and the CPU time of each."""
    open_stream, message = (topic_stream, to_topic) if kind == "topic" else (own_stream, to_person)
    mark = MESSAGE.encode()
    with daemon() as (port, pid):
        tokens = [register(port, "reader"), register(port, "sender")]
        sent = message(port, tokens)
        # The first one makes the topic.
        with connected(port, sent) as first:
            assert b" 200 " in first.recv(65536)
        poll = select.epoll()
        streams, publishers = {}, {}
        for _ in range(STREAMS):
            connection = open_stream(port, tokens[0])
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(4096)
            assert b" 200 " in head[:20] or b" 101 " in head[:20], head
            streams[connection.fileno()] = connection
        time.sleep(0.5)
        for connection in streams.values():
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.recv(1 << 16)
            poll.register(connection.fileno(), select.EPOLLIN)
        for _ in range(PUBLISHERS):
            connection = connected(port)
            publishers[connection.fileno()] = connection
            poll.register(connection.fileno(), select.EPOLLIN)
        arrived, published, counted, rest, ready = 0, 0, None, {}, list(publishers)
        start = time.monotonic()
        while True:
            now = time.monotonic()
            if counted is None and now - start > 0.5:
                counted, before, begin = arrived, cpu_seconds(pid), now
            if counted is not None and now - begin > SECONDS:
                break
            while ready and published * STREAMS - arrived < PUBLISHERS * STREAMS:
                publishers[ready.pop()].sendall(sent)
                published += 1
            for descriptor, _ in poll.poll(1):
                if descriptor in publishers:
                    response = publishers[descriptor].recv(65536)
                    assert b" 200 " in response[:20], response
                    ready.append(descriptor)
                    continue
                bytes_ = rest.get(descriptor, b"") + streams[descriptor].recv(1 << 16)
                count = bytes_.count(mark)
                arrived += count
                # What may be the beginning of the next one.
                rest[descriptor] = bytes_[bytes_.rfind(mark) + len(mark):][-len(mark):] if count else bytes_[-len(mark):]
        count = arrived - counted
        cost = (cpu_seconds(pid) - before) / count * 1e6
        rate = count / (time.monotonic() - begin)
        for connection in [*streams.values(), *publishers.values()]:
            connection.close()
        return rate, cost


def publish(kind):
    """Returns the messages that are published in a second, and the CPU time of each."""
    with daemon() as (port, pid), temporary_folder() as folder:
        tokens = [register(port, "reader"), register(port, "sender")]
        if kind == "topic":
            head, path, method, body = tokens[0], "/news", "PUT", MESSAGE
        else:
            head, path, method = tokens[1], "/message", "POST"
            body = json.dumps({"UserTo": "reader", "Message": MESSAGE})
        with open(f"{folder}/wrk.lua", "w") as file:
            file.write(f'wrk.method = "{method}"\nwrk.body = [[{body}]]\nwrk.headers["Authorization"] = "Bearer {head}"\n')
        before = cpu_seconds(pid)
        count, rate, *_ = wrk(f"http://127.0.0.1:{port}{path}", SECONDS, CLIENTS, "--timeout", "20s", "-s",
                              f"{folder}/wrk.lua", prefix=[])
        return rate, (cpu_seconds(pid) - before) / count * 1e6


ROWS = {
    "to 100 streams": (stream, "Msgr's own", "a topic's"),
    "published": (publish, "by /message", "by PUT to a topic"),
}
print(f"{'':18}{'':20}{'messages/s':>12}{'spread':>8}{'CPU us':>9}  of Msgr's own: speed, CPU")
for title, (measure, own, topic) in ROWS.items():
    results = {"own": [], "topic": []}
    for _ in range(ROUNDS):
        for kind in results:
            results[kind].append(measure(kind))
    for kind, label in (("own", own), ("topic", topic)):
        rates = [rate for rate, _ in results[kind]]
        cost = statistics.median(cost for _, cost in results[kind])
        against = ""
        if kind == "topic":
            speed = statistics.median(a[0] / b[0] for a, b in zip(results["topic"], results["own"]))
            thrift = statistics.median(b[1] / a[1] for a, b in zip(results["topic"], results["own"]))
            against = f"  {speed:.2f} x, {thrift:.2f} x"
        print(f"{title:18}{label:20}{statistics.median(rates):12.0f}{spread(rates):>8}{cost:9.1f}{against}", flush=True)

#!/usr/bin/env python3
"""stream_memory.py AWD [STREAMS]: the user-space memory of Msgr's streams, measured as the growth of awd's resident set.
First STREAMS (10,000) idle streams, each of an account of its own: at most 8 KiB each, none is dropped, and a message to
one of them arrives. Then as many of ntfy's kind, of one topic: at most 1.25 times as much each. Then 20 streams whose peers don't read, each with an inbox of 15 MB to come: at most the high-water
mark each. Exits with 0 if all holds."""
import base64, contextlib, http.client, json, os, resource, select, socket, sys, threading, time, urllib.request
from support import awd_command, free_port, running, temporary_folder, wait_for_port

AWD = os.path.abspath(sys.argv[1])
STREAMS = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
IDLE_LIMIT, HIGH_WATER, STUCK = 8 << 10, 2 << 20, 20
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
failures = []


def check(holds, text):
    print(("ok    " if holds else "FAIL  ") + text)
    if not holds:
        failures.append(text)


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))


class Client:
    def __init__(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def post(self, path, fields, token=None):
        header = {"Authorization": f"Bearer {token}"} if token else {}
        self.connection.request("POST", path, json.dumps(fields), header)
        response = self.connection.getresponse()
        body = response.read()
        assert response.status == 200, (path, response.status, body)
        return json.loads(body)


def register(names, tokens):
    client = Client()
    for name in names:
        fields = {"Username": name, "Password": "a password", "DeviceID": f"stream:{name}-0000"}
        tokens[name] = client.post("/register", fields)["Token"]


def open_stream(token, query=""):
    stream = socket.create_connection(("127.0.0.1", port), 10)
    key = base64.b64encode(os.urandom(16)).decode()
    stream.sendall(
        f"GET /stream{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return stream


def accept(stream):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += stream.recv(1)
    assert b" 101 " in head[:20], head


@contextlib.contextmanager
def daemon():
    """Starts a fresh awd, so that nothing is served from memory that an earlier part has freed."""
    global port
    with temporary_folder() as folder:
        port = free_port()
        command = awd_command(
            AWD, folder, port, "msgr",
            '[msgr]\nmessages_per_minute = 1000000\npassword_memory = "8KiB"\npassword_passes = 1\n'
            'registrations_per_minute = 1000000\nregistrations_per_day = 1000000\n'
            f'streams = {2 * STREAMS}\nstreams_per_address = {2 * STREAMS}\n'
            'password_queue = 1000\ninbox_messages = 10000\nstream_ping = "10m"\n[msgr.topics]\neveryone = "read"\n'
            'subscribe_burst = 1000000\nkeepalive = "10m"\n', threads=0, level="error")
        with running(command) as process:
            wait_for_port(port, process)
            yield process.pid


def register_all():
    names, tokens = [f"user{number}" for number in range(STREAMS)], {}
    threads = [threading.Thread(target=register, args=(names[part::16], tokens)) for part in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return names, tokens


def idle_streams(pid):
    names, tokens = register_all()
    # The first streams set up what is set up once.
    for name in names[:50]:
        with open_stream(tokens[name]) as stream:
            accept(stream)
    time.sleep(1)
    before = resident(pid)
    streams = []
    for name in names:
        streams.append(open_stream(tokens[name]))
        accept(streams[-1])
    time.sleep(2)
    each = (resident(pid) - before) / STREAMS
    check(each <= IDLE_LIMIT, f"{STREAMS} idle streams: {each:.0f} bytes each")
    fields = {"UserFrom": names[0], "Password": "a password", "UserTo": names[-1], "Message": "hello"}
    sent = Client().post("/message", fields)["Id"]
    streams[-1].settimeout(10)
    check(sent.encode() in streams[-1].recv(65536), "a message comes on one of them")
    poll = select.poll()
    # The sender has a copy of its own.
    for stream in streams[1:-1]:
        poll.register(stream, select.POLLIN)
    check(not poll.poll(0), "nothing came on the others, none was dropped")
    for stream in streams:
        stream.close()
    return each


def open_topic_stream(token):
    stream = socket.create_connection(("127.0.0.1", port), 10)
    stream.sendall(f"GET /news/json HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    # The head, and the line that says that the stream is open.
    begun = b""
    while b'"event":"open"' not in begun:
        begun += stream.recv(4096)
    return stream


def idle_topic_streams(pid, own):
    names, tokens = register_all()

    def publish(text):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/news", text.encode(), method="PUT",
                                         headers={"Authorization": f"Bearer {tokens[names[0]]}"})
        urllib.request.urlopen(request, timeout=30).close()

    publish("the first one makes the topic")
    for name in names[:50]:
        open_topic_stream(tokens[name]).close()
    time.sleep(1)
    before = resident(pid)
    streams = [open_topic_stream(tokens[name]) for name in names]
    time.sleep(2)
    each = (resident(pid) - before) / STREAMS
    check(each <= 1.25 * own, f"{STREAMS} idle streams of ntfy's kind: {each:.0f} bytes each, {each / own:.2f} times as much")
    publish("hello")
    came = 0
    for stream in streams:
        stream.settimeout(10)
        came += b"hello" in stream.recv(65536)
    check(came == STREAMS, f"a message comes on {came} of them")
    for stream in streams:
        stream.close()


def stuck_streams(pid):
    tokens, client = {}, Client()
    register(["anna", "bert"], tokens)
    fields = {"UserFrom": "anna", "Password": "a password", "UserTo": "bert", "Message": "x" * 3000}
    for _ in range(5000):
        client.post("/message", fields)
    with open_stream(tokens["bert"]) as stream:
        accept(stream)
    time.sleep(1)
    before = resident(pid)
    streams = [open_stream(tokens["bert"], "?since=0000000000000000") for _ in range(STUCK)]
    time.sleep(3)
    each = (resident(pid) - before) / STUCK
    check(each <= HIGH_WATER, f"{STUCK} streams that don't read, 15 MB behind: {each / 1024:.0f} KiB each")
    fields |= {"UserTo": "anna", "Message": "hello"}
    start = time.time()
    client.post("/message", fields)
    check(time.time() - start < 1, "others are served meanwhile")
    for stream in streams:
        stream.close()


with daemon() as pid:
    each = idle_streams(pid)
with daemon() as pid:
    idle_topic_streams(pid, each)
with daemon() as pid:
    stuck_streams(pid)
sys.exit(bool(failures))

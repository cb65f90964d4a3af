"""A hundred sockets full of pipelined requests, and of pings: the loop's turns stay short."""

import base64
import os
import socket
import time
import threading

from attack import Canary, Server, verdict

GET = b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n" * 1800
PINGS = b"\x89\x80\0\0\0\0" * 10900


def flood(server, content, begin, is_over):
    def one():
        while not is_over.is_set():
            try:
                with begin(server) as connection:
                    connection.setblocking(False)
                    view = memoryview(content)
                    while not is_over.is_set():
                        try:
                            view = view[connection.send(view):] or memoryview(content)
                        except BlockingIOError:
                            pass
                        try:
                            connection.recv(1 << 20)
                        except BlockingIOError:
                            time.sleep(0.005)
            except OSError:
                time.sleep(0.05)

    for _ in range(50):
        threading.Thread(target=one, daemon=True).start()


def web_socket(server):
    connection = server.connect()
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(
        f"GET /siren?{os.urandom(32).hex()} HTTP/1.1\r\nHost: t\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
    connection.recv(4096)
    return connection


with Server() as server:
    is_over = threading.Event()
    flood(server, GET, lambda server: server.connect(), is_over)
    flood(server, PINGS, web_socket, is_over)
    time.sleep(1)
    with Canary(server) as canary:
        time.sleep(10)
    is_over.set()
    verdict("turns", canary, longest_turn_seconds=(server.metric("awd_loop_turn_seconds_max"), 0.25))

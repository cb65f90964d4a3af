"""One address keeps two thousand connections full of requests that are answered at once, and takes the responses."""

import multiprocessing
import os
import resource
import select
import socket
import time

from attack import ATTACKER, Canary, Server, verdict

CONNECTIONS, PROCESSES, SECONDS = 2000, 2, 10
TOML = '[server]\nservices = ["msgr"]\nlimits = { connections = 12000 }\n[log]\nlevel = "warning"\n'
REQUESTS = b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n" * 500


def flood(server: Server, answered, ready):
    """Sends and takes as much as it can, in a process of its own that gives way."""
    os.nice(19)
    epoll, sockets, rests = select.epoll(), {}, {}
    for _ in range(CONNECTIONS // PROCESSES):
        connection = server.connect(ATTACKER)
        connection.setblocking(False)
        sockets[connection.fileno()], rests[connection.fileno()] = connection, REQUESTS
        epoll.register(connection, select.EPOLLIN | select.EPOLLOUT)
    with ready.get_lock():
        ready.value += len(sockets)
    while True:
        for number, event in epoll.poll():
            try:
                if event & select.EPOLLIN:
                    received = len(sockets[number].recv(1 << 18))
                    if not received:
                        epoll.unregister(number)
                    with answered.get_lock():
                        answered.value += received
                if event & select.EPOLLOUT:
                    sent = sockets[number].send(rests[number])
                    rests[number] = rests[number][sent:] or REQUESTS
            except BlockingIOError:
                pass
            except OSError:
                epoll.unregister(number)


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    context = multiprocessing.get_context("fork")
    answered, ready = context.Value("q", 0), context.Value("i", 0)
    with Server(TOML) as server:
        processes = [context.Process(target=flood, args=(server, answered, ready), daemon=True) for _ in range(PROCESSES)]
        for process in processes:
            process.start()
        end = time.monotonic() + 20
        while ready.value < CONNECTIONS and time.monotonic() < end:
            time.sleep(0.1)
        before = answered.value
        with Canary(server, interval=0.04) as canary:
            time.sleep(SECONDS)
        received = answered.value - before
        turn = server.metric("awd_loop_turn_seconds_max")
        for process in processes:
            process.kill()
    verdict("pipelines", canary, connections=(CONNECTIONS, ready.value, None), received_MiB=(10, received >> 20, None),
            longest_turn_s=(round(turn, 3), 0.25))


if __name__ == "__main__":
    main()

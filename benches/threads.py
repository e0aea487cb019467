"""Threads that fetch at once: `python -m benches.threads [--rows N] [--threads N] [--rounds N]`.

The answers of a real server to one fetch are recorded, and separate processes replay them to every
connection, which leaves the processors to the clients. This shows whether the interpreter lock is
released while columns are read and decoded: it compares the time of several fetches one after the
other with the time of as many threads that fetch at once.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import select
import socket
import socketserver
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

from colonnade import embedded, sync

# The most expensive types for a client: numeric, sent as digits, and arrays.
_QUERY = """
SELECT g::numeric(12, 2) AS a, (g * 0.25)::numeric(12, 2) AS b, (g / 7.0)::numeric(20, 8) AS c,
    (g * 1.5)::numeric(12, 2) AS d, ARRAY[g, g + 1, NULL]::int4[] AS e, ARRAY['x', 'y'] AS f
FROM generate_series(1, {rows}) AS g
"""
_CHUNK_BYTES = 1 << 20


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print the times and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(words)
    query = _QUERY.format(rows=arguments.rows)
    with embedded.start(tcp=True) as server:
        answers = _recorded(server.port, query)
    in_turn: list[float] = []
    at_once: list[float] = []
    busy: list[float] = []
    with _played(answers) as dsn, ThreadPoolExecutor(arguments.threads) as threads:
        fetches = [dsn] * arguments.threads
        fetch = functools.partial(_fetch, query)
        for _ in range(arguments.rounds):
            in_turn.append(_seconds(lambda: list(map(fetch, fetches)))[0])
            wall, processor = _seconds(lambda: list(threads.map(fetch, fetches)))
            at_once.append(wall)
            busy.append(processor / wall)
    one, many = statistics.median(in_turn), statistics.median(at_once)
    size = sum(map(len, answers)) / 1e6
    print(f"{size:.0f} MB a fetch, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"{arguments.threads} fetches: in turn {one:.3f} s, at once {many:.3f} s", end=", ")
    print(f"{one / many:.2f} x; processors busy with this process: {statistics.median(busy):.2f}")


def _fetch(query: str, dsn: str) -> int:
    with sync.connect(dsn) as connection:
        return len(connection.fetch_columns(query))


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time and the processor time of this process."""
    started, before = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - before


def _dsn(port: int) -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"


def _recorded(server_port: int, query: str) -> list[bytes]:
    """Record the server's side of one fetch: an answer for each time that the client sends."""
    answers: list[bytearray] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = threading.Thread(target=_relay, args=(listener, server_port, answers))
        relay.start()
        _fetch(query, _dsn(listener.getsockname()[1]))
        relay.join()
    return [bytes(answer) for answer in answers]


def _relay(listener: socket.socket, server_port: int, answers: list[bytearray]) -> None:
    client, _ = listener.accept()
    with client, socket.create_connection(("127.0.0.1", server_port)) as server:
        is_asked = False
        while True:
            for speaker in select.select([client, server], [], [])[0]:
                data = speaker.recv(_CHUNK_BYTES)
                if not data:
                    return
                if speaker is client:
                    is_asked = True
                    server.sendall(data)
                    continue
                if is_asked:
                    answers.append(bytearray())
                    is_asked = False
                answers[-1] += data
                client.sendall(data)


@contextlib.contextmanager
def _played(answers: list[bytes]) -> Iterator[str]:
    """Give an address where separate processes send every client the same answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        player = get_context("fork").Process(target=_play, args=(listener, answers), daemon=False)
        player.start()
        try:
            yield _dsn(listener.getsockname()[1])
        finally:
            player.terminate()
            player.join()


def _play(listener: socket.socket, answers: list[bytes]) -> None:
    class Player(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            for answer in answers:
                if not self.request.recv(_CHUNK_BYTES):
                    return
                self.request.sendall(answer)
            self.request.recv(_CHUNK_BYTES)

    server = socketserver.ForkingTCPServer(listener.getsockname(), Player, bind_and_activate=False)
    server.socket = listener
    server.serve_forever()


if __name__ == "__main__":
    main()

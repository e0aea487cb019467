"""Readers of tables over harmed connections, and the books of what became of them."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import socket
import struct
import types
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

import colonnade
from colonnade import serve
from colonnade.errors import IncompleteTableError
from tests.serve.cutting import Plan, Relay
from tests.serve.serving import serving
from tests.support.until import until
from tests.support.unused_tls import UNUSED_TLS

if TYPE_CHECKING:
    from collections.abc import MutableMapping

SQL = "SELECT i AS number, repeat('x', 100) || i AS text FROM generate_series(1, $1::int) AS i"
#: Rows and about the bytes of their answer: some fit into a socket's buffers, some do not.
SIZES = ((300, 34_000), (3_000, 338_000), (60_000, 6_770_000))
#: Too large for the buffers on the way.
_LARGE = (400_000, 45_000_000)
_WEIGHTS = (70, 25, 5)
_CONCURRENCY = 4
#: Shorter than what anybody would set, so that many readers are cut off; and how long one stalls.
_STALL_TIMEOUT = 0.25
_STALLED_SECONDS = 3 * _STALL_TIMEOUT
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_HOPELESS = struct.pack("ii", 1, 0)
# A checkout's own folder may be named colonnade, too, and then has these tests.
_PACKAGE = f"{Path(colonnade.__file__).parent}{os.sep}"


@dataclass
class Books:
    """The outcomes, and whatever must not happen."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    def report(self) -> str:
        """A line for each harm and outcome."""
        return "\n".join(
            f"{harm:16} {outcome:12} {count:7,}"
            for (harm, outcome), count in sorted(self.outcomes.items())
        )


class _Export:
    """An application: the path says how many rows, and in which batches."""

    def __init__(self, pool: colonnade.Pool) -> None:
        self._pool = pool

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        rows = int(scope["path"].strip("/"))
        response = serve.TableResponse(
            lambda: self._pool.iter_columns(SQL, rows, batch_rows=max(50, rows // 7)),
            stall_timeout=_STALL_TIMEOUT,
        )
        await response(scope, receive, send)


async def run(dsn: str, tries: int, seed: int) -> Books:
    """Read that many tables, by `serve.read` and by raw sockets, and check what is left."""
    loop = asyncio.get_running_loop()
    books = Books()
    loop.set_exception_handler(
        lambda _, context: books.complaints.append(f"the loop reports {context}")
    )
    before = asyncio.all_tasks()
    async with (
        colonnade.create_pool(dsn, min_size=2, max_size=_CONCURRENCY) as pool,
        serving(_Export(pool)) as address,
    ):
        chance = random.Random(seed)
        port = urlsplit(address).port or 0
        resting = asyncio.all_tasks()
        left = iter(range(tries))
        readers = [_read_many(left, random.Random(chance.random()), port, books) for _ in range(4)]
        await asyncio.gather(*readers)
        try:
            await until(lambda: pool.get_idle_size() == pool.get_size())
            await until(lambda: asyncio.all_tasks() <= resting)
        except AssertionError:
            books.complaints.append(
                f"{pool.get_idle_size()} of {pool.get_size()} connections are idle, and there are "
                f"tasks left: {asyncio.all_tasks() - resting}"
            )
        books.complaints += [f"an open generator: {each}" for each in open_generators()]
    if asyncio.all_tasks() - before:
        books.complaints.append(f"tasks left: {asyncio.all_tasks() - before}")
    loop.set_exception_handler(None)
    return books


def open_generators() -> list[str]:
    """The asynchronous generators of `colonnade.serve` that have begun and not ended."""
    gc.collect()
    return [
        each.__qualname__
        for each in gc.get_objects()
        # By its type: the classes of some objects in memory answer no question.
        if type(each) is types.AsyncGeneratorType
        and each.ag_frame is not None
        and each.ag_code.co_filename.startswith(_PACKAGE)
    ]


async def _read_many(left: Any, chance: random.Random, port: int, books: Books) -> None:
    async with Relay.before(port) as (relay, relay_port):
        for _ in left:
            ((rows, size),) = chance.choices(SIZES, _WEIGHTS)
            relay.plan = plan = Plan.drawn(chance, size)
            url = f"http://127.0.0.1:{relay_port}/{rows}"
            try:
                async with asyncio.timeout(30):
                    if chance.random() < 0.8:
                        outcome = await _by_colonnade(url, rows)
                    else:
                        outcome = await _by_socket(chance, relay_port, rows, size)
            except Exception as error:  # noqa: BLE001 - every other error is a complaint
                books.complaints.append(f"{plan}, {rows} rows: {type(error).__name__}: {error}")
                outcome = "complaint"
            if outcome == "whole" and plan.ends_answer and plan.after < size // 2:
                books.complaints.append(f"{plan}: {rows} rows arrived nevertheless")
            books.outcomes[plan.harm.value, outcome] += 1


async def _by_colonnade(url: str, rows: int) -> str:
    try:
        async with httpx2.AsyncClient(timeout=20, verify=UNUSED_TLS) as client:
            columns = await serve.read(url, client=client)
    except IncompleteTableError:
        return "incomplete"
    except httpx2.TransportError:
        return "no answer"
    numbers = columns["number"]
    assert len(columns) == rows, f"{len(columns)} rows of {rows} without an error"
    assert int(numbers.sum()) == rows * (rows + 1) // 2
    return "whole"


async def _by_socket(chance: random.Random, port: int, rows: int, size: int) -> str:
    """Behave badly as a client: read some of the answer slowly, and leave in one of some ways."""
    loop = asyncio.get_running_loop()
    way = chance.choice(["close", "reset", "half-close", "stall", "half-close and stall"])
    if "stall" in way:
        rows, size = _LARGE
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        await loop.sock_connect(sock, ("127.0.0.1", port))
        try:
            await loop.sock_sendall(sock, b"GET /%d HTTP/1.1\r\nhost: x\r\n\r\n" % rows)
            left = drawn = chance.randrange(min(size, SIZES[-1][1]))
            while left > 0 and (data := await loop.sock_recv(sock, min(left, 1 << 16))):
                left -= len(data)
                if chance.random() < 0.05:
                    await asyncio.sleep(0.01)
            if "half-close" in way:
                sock.shutdown(socket.SHUT_WR)
            if "stall" in way:
                await asyncio.sleep(_STALLED_SECONDS)
            if way == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _HOPELESS)
            elif way != "close":
                await _rest(sock, drawn - left, size)
        except OSError:
            return "broken"
    return f"raw {way}"


async def _rest(sock: socket.socket, taken: int, size: int) -> None:
    """Read to the end, which is polite after a whole table alone."""
    tail = b""
    while data := await asyncio.get_running_loop().sock_recv(sock, 1 << 16):
        taken += len(data)
        tail = (tail + data)[-len(_LAST_CHUNK) :]
    assert tail != _LAST_CHUNK or taken > 0.9 * size, f"a polite end after {taken} bytes"

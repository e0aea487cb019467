"""Clients of `/export` that take nothing: the other routes keep a connection."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

import colonnade
from colonnade import serve
from examples.service.admission.gate import Gate
from examples.service.admission.middleware import Admission
from examples.service.admission.rules import rules_of
from examples.service.settings import Settings
from tests.serve.serving import serving
from tests.support.until import until

# A series in FROM would be written to disk before its first row.
SQL = "SELECT i, repeat('x', 100) AS t FROM (SELECT generate_series(1, 100000000) AS i) AS series"


async def test_six_stalled_exports_leave_a_connection(dsn: str) -> None:
    settings = Settings(dsn=dsn, suppliers=(), pool_size=3)
    gate = Gate(rules_of(settings), {})
    async with colonnade.create_pool(dsn, min_size=1, max_size=settings.pool_size) as pool:
        table = serve.TableResponse(lambda: pool.iter_columns(SQL), stall_timeout=1)
        async with serving(Admission(table, gate)) as address:
            with contextlib.ExitStack() as block:
                clients = [block.enter_context(asking(address)) for _ in range(6)]
                await until(lambda: gate.refused["pool"] == 4)
                assert await pool.fetchval("SELECT 1") == 1
                answered = sorted([await status(client) for client in clients])
                assert answered == [b"HTTP/1.1 200"] * 2 + [b"HTTP/1.1 503"] * 4
                # Those that were admitted are cut off, and others have their turn.
                await until(lambda: gate.load == 0)
                await until(lambda: pool.get_stats().busy == 0)
            with asking(address) as client:
                assert await status(client) == b"HTTP/1.1 200"


def asking(address: str) -> socket.socket:
    """A client that has asked, and does not read."""
    sock = socket.create_connection(("127.0.0.1", urlsplit(address).port or 0))
    sock.sendall(b"GET /export HTTP/1.1\r\nhost: x\r\n\r\n")
    return sock


async def status(client: socket.socket) -> bytes:
    client.setblocking(False)
    return await asyncio.get_running_loop().sock_recv(client, 12)


def test_one_connection_serves_an_export() -> None:
    rules = rules_of(Settings(dsn="", suppliers=(), pool_size=1))
    assert rules["/export"].at_once_max == 1

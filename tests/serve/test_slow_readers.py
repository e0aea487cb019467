"""Readers that stall or go away: their cost to the server."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
import warnings
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import pytest

import colonnade
from colonnade import serve
from tests.serve.exporting import BATCH_BYTES, Exporter
from tests.serve.serving import serving
from tests.serve.soak.storm import open_generators
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.every_loop

ROWS = 400_000
# The process has more than its batches: 1 MiB that was encoded, the compressor's tables, the heaps
# of threads with what was freed in between.
SLACK_BYTES = BATCH_BYTES
_RESET = struct.pack("ii", 1, 0)


@pytest.fixture
def exporter(dsn: str) -> Iterator[Exporter]:
    with Exporter(dsn) as exporter:
        yield exporter


def ask(port: int, path: str) -> socket.socket:
    """A client whose socket takes little, and which has read nothing yet."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    sock.connect(("127.0.0.1", port))
    sock.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    return sock


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_a_stalled_reader_holds_three_batches(exporter: Exporter, codec: str) -> None:
    with ask(exporter.port, f"/20000?{codec}") as sock:
        while sock.recv(1 << 20):
            pass
    rest = exporter.resident_bytes()
    with ask(exporter.port, f"/{ROWS}?{codec}") as sock:
        most = 0
        for _ in range(8):
            for _ in range(20):
                sock.recv(1 << 18)
            time.sleep(0.25)
            most = max(most, exporter.resident_bytes())
    # The whole export is 400 MB.
    assert most - rest <= 3 * BATCH_BYTES + SLACK_BYTES


@pytest.mark.parametrize("way", ["close", "reset"])
async def test_a_reader_that_goes_away_ends_the_query(dsn: str, way: str) -> None:
    sql = (
        "SELECT i AS number, 'gone' AS text, pg_sleep(CASE WHEN i > 2000 THEN 60 END) "
        "FROM generate_series(1, 100000) AS i"
    )
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        app = serve.TableResponse(lambda: pool.iter_columns(sql, batch_rows=1000))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            async with serving(app) as address:
                resting = asyncio.all_tasks()
                reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
                writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                assert (await reader.read(100)).startswith(b"HTTP/1.1 200")
                with psycopg.connect(dsn, autocommit=True) as watcher:
                    assert running(watcher, sql)
                    if way == "reset":
                        sock = writer.get_extra_info("socket")
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    writer.transport.abort() if way == "reset" else writer.close()
                    left = time.monotonic()
                    await until(lambda: not running(watcher, sql))
                    # Within a second, unless the machine is starved.
                    assert time.monotonic() - left < 5
                await until(lambda: pool.get_idle_size() == pool.get_size() == 1)
                await until(lambda: asyncio.all_tasks() <= resting)
                assert open_generators() == []
                assert await pool.fetchval("SELECT 1") == 1


def running(watcher: psycopg.Connection, sql: str) -> bool:
    """Whether a backend runs this query."""
    found = watcher.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = %s", (sql,)
    ).fetchone()
    return bool(found and found[0])

"""The ways to export the table, each an ASGI application made of a pool's DSN."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import colonnade
from colonnade import serve

SQL = "SELECT * FROM export"
COLUMNS = (
    "i::int8 AS id, (i % 977)::int4 AS account, i * 0.25::float8 AS amount, "
    "timestamptz '2013-01-01' + i * interval '1 second' AS at, i % 3 = 0 AS is_paid, "
    "'customer ' || i % 5000 AS name"
)
_CURSOR_ROWS = 1000
_PIECE_BYTES = 256 << 10
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"

Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Export: TypeAlias = Callable[[Any, Any, Send], Awaitable[None]]


@contextlib.asynccontextmanager
async def colonnade_plain(dsn: str) -> AsyncGenerator[Export]:
    """`TableResponse`, an Arrow stream."""
    async with _table_response(dsn, "none") as export:
        yield export


@contextlib.asynccontextmanager
async def colonnade_zstd(dsn: str) -> AsyncGenerator[Export]:
    """`TableResponse`, an Arrow stream with zstd buffers."""
    async with _table_response(dsn, "zstd") as export:
        yield export


@contextlib.asynccontextmanager
async def _table_response(dsn: str, codec: str) -> AsyncGenerator[Export]:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:

        async def export(scope: Any, receive: Any, send: Send) -> None:
            asked = {**scope, "query_string": f"format=arrow&codecs={codec}".encode()}
            await serve.TableResponse(lambda: pool.iter_columns(SQL))(asked, receive, send)

        yield export


@contextlib.asynccontextmanager
async def asyncpg_cursor(dsn: str) -> AsyncGenerator[Export]:
    """The cursor of asyncpg, and orjson for each row."""
    import asyncpg
    import orjson

    async with asyncpg.create_pool(dsn, min_size=1, max_size=2) as pool:

        async def export(_: Any, __: Any, send: Send) -> None:
            await _begin(send)
            async with pool.acquire() as connection, connection.transaction():
                cursor = await connection.cursor(SQL)
                while rows := await cursor.fetch(_CURSOR_ROWS):
                    lines = b"".join(
                        orjson.dumps(dict(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows
                    )
                    await _send(send, lines)
            await _end(send)

        yield export


@contextlib.asynccontextmanager
async def asyncpg_fetch(dsn: str) -> AsyncGenerator[Export]:
    """All rows by asyncpg's fetch, and orjson for one document."""
    import asyncpg
    import orjson

    async with asyncpg.create_pool(dsn, min_size=1, max_size=2) as pool:

        async def export(_: Any, __: Any, send: Send) -> None:
            rows = await pool.fetch(SQL)
            document = orjson.dumps([dict(row) for row in rows])
            await _begin(send)
            await _send(send, document)
            await _end(send)

        yield export


@contextlib.asynccontextmanager
async def adbc_thread(dsn: str) -> AsyncGenerator[Export]:
    """ADBC and pyarrow's stream writer, each step in a thread."""
    import adbc_driver_postgresql.dbapi

    connection = await asyncio.to_thread(adbc_driver_postgresql.dbapi.connect, dsn)

    async def export(_: Any, __: Any, send: Send) -> None:
        with connection.cursor() as cursor:
            await asyncio.to_thread(cursor.execute, SQL)
            reader = await asyncio.to_thread(cursor.fetch_record_batch)
            await _begin(send)
            await _send(send, await asyncio.to_thread(reader.schema.serialize))
            while (piece := await asyncio.to_thread(_next_bytes, reader)) is not None:
                await _send(send, piece)
            await _send(send, _END_OF_STREAM)
            await _end(send)

    try:
        yield export
    finally:
        await asyncio.to_thread(connection.close)


def _next_bytes(reader: Any) -> bytes | None:
    batch = next(reader, None)
    return None if batch is None else bytes(batch.serialize())


WAYS = {
    "colonnade": ("TableResponse, Arrow", colonnade_plain),
    "colonnade-zstd": ("TableResponse, Arrow zstd", colonnade_zstd),
    "asyncpg-cursor": ("asyncpg cursor + orjson", asyncpg_cursor),
    "asyncpg-fetch": ("asyncpg fetch + orjson", asyncpg_fetch),
    "adbc": ("ADBC + pyarrow, thread", adbc_thread),
}


async def _begin(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def _send(send: Send, data: bytes) -> None:
    for first in range(0, len(data), _PIECE_BYTES):
        piece = data[first : first + _PIECE_BYTES]
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _end(send: Send) -> None:
    await send({"type": "http.response.body", "body": b"", "more_body": False})

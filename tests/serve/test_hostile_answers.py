"""Answers that `serve.read` refuses, with messages that any terminal can print."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from typing import TYPE_CHECKING

import httpx
import pytest

from colonnade import serve
from colonnade.errors import FaultyTableError, IncompleteTableError
from tests.serve.arrow_streams import complete

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.every_loop

TYPE = b"content-type: application/vnd.apache.arrow.stream\r\n"
TABLE = complete().data
PROBLEM = json.dumps({"detail": "\x1b[2Jgone\n"}).encode()


@contextlib.asynccontextmanager
async def answering(head: bytes, body: bytes) -> AsyncGenerator[str]:
    """A server that sends these bytes to everybody; the value is its address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + head + b"\r\n" + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


def of_length(body: bytes, more: int = 0) -> bytes:
    return b"content-length: %d\r\n" % (len(body) + more)


REFUSED = {
    "no table": (b"204 No Content\r\n", b"", FaultyTableError, "no content type"),
    "a strange type": (b"200 OK\r\ncontent-type: a\x1b[2J\r\n", b"", FaultyTableError, "x1b"),
    "nothing": (b"200 OK\r\n" + TYPE, b"", IncompleteTableError, "after 0 rows"),
    "no end": (b"200 OK\r\n" + TYPE, TABLE[:-8], IncompleteTableError, "after 300 rows"),
    "less than told": (
        b"200 OK\r\n" + TYPE + of_length(TABLE, 1),
        TABLE,
        IncompleteTableError,
        "lost after 300 rows",
    ),
    "more after the end": (b"200 OK\r\n" + TYPE, TABLE + b"x", FaultyTableError, "after its end"),
    "no gzip": (
        b"200 OK\r\ncontent-encoding: gzip\r\n" + TYPE,
        TABLE,
        FaultyTableError,
        "encoding is invalid after 0 rows",
    ),
    "a bomb": (
        b"200 OK\r\ncontent-encoding: gzip\r\n" + TYPE,
        gzip.compress(complete(1, 100_000).data),
        FaultyTableError,
        "more than 20000 bytes",
    ),
    "a status with escapes": (b"500 \x1b[2J\r\n", b"", httpx.HTTPStatusError, r"500 \\x1b"),
    "a problem with escapes": (
        b"500 Oops\r\n" + of_length(PROBLEM),
        PROBLEM,
        httpx.HTTPStatusError,
        r"500 Oops: \\x1b\[2Jgone\\n",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_answer_is_refused(name: str) -> None:
    head, body, error, message = REFUSED[name]
    async with answering(head, body) as url:
        with pytest.raises(error, match=message) as caught:
            await serve.read(url, max_bytes=20_000)
        assert str(caught.value).isprintable()
        with pytest.raises(error):
            await asyncio.to_thread(serve.sync.read, url, max_bytes=20_000)


async def test_the_whole_table_is_taken() -> None:
    async with answering(b"200 OK\r\n" + TYPE + of_length(TABLE), TABLE) as url:
        assert len(await serve.read(url)) == 300

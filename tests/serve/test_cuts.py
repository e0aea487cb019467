"""Tables whose bytes do not all arrive, from servers that fail, break off or lie."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
from typing import TYPE_CHECKING

import httpx
import pytest

from colonnade import serve
from colonnade.errors import FaultyTableError, IncompleteTableError
from tests.serve.arrow_streams import complete
from tests.serve.soak.storm import run
from tests.support.unused_tls import UNUSED_TLS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

STREAM = complete()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.apache.arrow.stream\r\n"


@contextlib.asynccontextmanager
async def answering(*pieces: bytes) -> AsyncGenerator[str]:
    """A server that answers a request with these bytes, and repeats the last ones without end.

    If the last piece is empty, it closes the connection instead.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.writelines(pieces[:-1])
            while pieces[-1]:
                writer.write(pieces[-1])
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_harmed_connections(dsn: str) -> None:
    books = await run(dsn, 150, seed=1)
    assert books.complaints == []
    assert books.outcomes.total() == 150
    assert {"whole", "incomplete"} <= {outcome for _, outcome in books.outcomes}


async def test_a_cut_at_and_within_every_message() -> None:
    """The reader's own tests cut at every byte; here, HTTP brings the bytes."""
    ends = [0, *STREAM.ends]
    within = [(start + end) // 2 for start, end in itertools.pairwise(ends)]
    cuts = sorted({at + by for at in [*ends, *within] for by in (-1, 0, 1)})
    cuts = [at for at in cuts if 0 <= at < len(STREAM.data)]
    # HTTP/1.0 style: only the end of the connection ends the body, so HTTP notices no cut.
    served = iter(cuts)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"connection: close\r\n\r\n" + STREAM.data[: next(served)])
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, httpx.AsyncClient(verify=UNUSED_TLS) as client:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for _ in cuts:
            with pytest.raises(IncompleteTableError):
                await serve.read(url, client=client)
    assert next(served, None) is None


async def test_a_whole_body_is_read() -> None:
    async with answering(HEAD + b"\r\n" + STREAM.data, b"") as url:
        assert len(await serve.read(url)) == 300
        assert len(await asyncio.to_thread(serve.sync.read, url)) == 300


async def test_headers_without_an_end() -> None:
    async with answering(HEAD, b"x: " + b"y" * 1000 + b"\r\n") as url:
        with pytest.raises(httpx.RemoteProtocolError):
            await serve.read(url)


async def test_a_body_that_stops_is_given_up() -> None:
    async with answering(
        HEAD + b"content-length: 999999999999\r\n\r\n" + STREAM.data[:-20], b""
    ) as url:
        with pytest.raises(IncompleteTableError):
            await serve.read(url)

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n" + STREAM.data[:-20])
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(IncompleteTableError, match="connection was lost"):
            await serve.read(url, timeout=0.2)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff\xff\xff\xff\xff\xff\xff\x7f", id="metadata of 2 GiB"),
        pytest.param(STREAM.data + b"x", id="bytes after the end"),
        pytest.param(b"{}" * 100, id="JSON"),
        pytest.param(b"\0" * 100, id="zeros"),
    ],
)
async def test_a_body_without_an_end_that_is_no_table(body: bytes) -> None:
    async with answering(HEAD + b"\r\n", body) as url:
        with pytest.raises(FaultyTableError):
            await serve.read(url)


async def test_a_status_of_success_with_another_type() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/problem+json\r\n\r\n"
    async with answering(head, b"{}") as url:
        with pytest.raises(FaultyTableError, match=r"application/problem\+json"):
            await serve.read(url)


@pytest.mark.parametrize("status", [b"500 Oops", b"404 Gone"])
async def test_a_problem_without_an_end(status: bytes) -> None:
    head = b"HTTP/1.1 " + status + b"\r\ncontent-type: application/problem+json\r\n\r\n"
    async with answering(head, b'{"detail": "' + b"x" * 10_000) as url, asyncio.timeout(20):
        with pytest.raises(httpx.HTTPStatusError):
            await serve.read(url)
        with pytest.raises(httpx.HTTPStatusError):
            await asyncio.to_thread(serve.sync.read, url)


async def test_a_redirect_is_not_followed_unasked() -> None:
    head = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
    async with answering(head, b"") as url:
        with pytest.raises(httpx.HTTPStatusError, match="302"):
            await serve.read(url)


async def test_a_compressed_body_is_read_and_a_bomb_of_bombs_refused() -> None:
    one = gzip.compress(STREAM.data)
    async with answering(HEAD + b"content-encoding: gzip\r\n\r\n" + one, b"") as url:
        assert len(await serve.read(url)) == 300
    bomb = gzip.compress(gzip.compress(bytes(1 << 26)))
    async with answering(HEAD + b"content-encoding: gzip, gzip\r\n\r\n" + bomb, b"") as url:
        with pytest.raises(FaultyTableError, match="gzip, gzip"):
            await serve.read(url)


async def test_a_table_of_more_bytes_than_the_caller_wants() -> None:
    async with answering(HEAD + b"\r\n" + STREAM.data, b"") as url:
        assert len(await serve.read(url, max_bytes=1 << 20)) == 300
        with pytest.raises(
            FaultyTableError, match="more than 100 bytes: its schema and 0 rows in 0 batches take 0"
        ):
            await serve.read(url, max_bytes=100)
        with pytest.raises(FaultyTableError, match="more than 100 bytes"):
            await asyncio.to_thread(serve.sync.read, url, max_bytes=100)
        with pytest.raises(ValueError, match="max_bytes must be"):
            await serve.read(url, max_bytes=0)

"""Tables over HTTP: reports of users of other servers, frameworks and readers."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import fastapi
import httpx2
import pyarrow as pa
import pytest
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware

import colonnade
from colonnade import serve
from colonnade.errors import FaultyTableError, IncompleteTableError
from colonnade.serve import starlette as for_starlette
from tests.serve.serving import client_of, serving
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ARROW = "application/vnd.apache.arrow.stream"
ROWS = "SELECT i AS number, 'text ' || i AS text FROM generate_series(1, $1::int) AS i"
# A series in FROM would be written to disk before its first row.
ENDLESS = "SELECT i, repeat('x', 100) AS t FROM (SELECT generate_series(1, 100000000) AS i) AS s"
FAILING = "SELECT 1 / (100000 - i) AS a FROM generate_series(1, 200000) AS i"


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    pool = await colonnade.create_pool(dsn, min_size=1, max_size=3)
    yield pool
    pool.terminate()


def table(pool: colonnade.Pool, rows: int = 3, **options: Any) -> serve.TableResponse:
    return serve.TableResponse(lambda: pool.iter_columns(ROWS, rows, batch_rows=1000), **options)


@contextlib.asynccontextmanager
async def answering(body: bytes, *headers: tuple[bytes, bytes]) -> AsyncIterator[str]:
    """A server that sends these bytes as a table."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        head = [(b"content-type", ARROW.encode()), *headers]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    async with serving(app) as address:
        yield address


def stream(batches: list[pa.RecordBatch]) -> bytes:
    """An Arrow stream with our end mark."""
    rows = sum(map(len, batches))
    mark = {"colonnade.rows": str(rows), "colonnade.batches": str(len(batches))}
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
        writer.write_batch(batches[0].slice(0, 0), custom_metadata=mark)
    return sink.getvalue()


ACCEPTED = {
    # jshttp/negotiator#41, #112, pallets/werkzeug#1679: weights decide, not the order.
    "application/json;q=0.2, text/csv;q=0.9": "text/csv; csv=rfc4180",
    "text/csv;q=0, */*": "application/json",
    # smallrye/smallrye-metrics#151, akka/akka-http#1217: charset made it 406.
    "application/json;charset=UTF-8": "application/json",
    "application/json; charset=iso-8859-1": "application/json",
    # khrt/Raisin#11, xp-framework/xp-framework#163: jQuery's header.
    "application/json, text/javascript, */*; q=0.01": "application/json",
    # vt-elixir/ja_serializer#320, ashleysommer/sanic-restplus#14: browsers.
    "text/html,application/xhtml+xml,*/*;q=0.8,application/signed-exchange;v=b3": (
        "text/csv; csv=rfc4180"
    ),
    # expressjs/express#1563: parameters that are no weight.
    "text/*;q=0.3, text/csv;header=absent, application/json;q=0.5": (
        "text/csv; csv=rfc4180; header=absent"
    ),
    # akka/akka-http#2022: a word that is no media range is skipped: it is no wish for everything.
    "abc, image/png": None,
}


@pytest.mark.parametrize("accept", ACCEPTED)
async def test_an_accept_header_of_the_wild(pool: colonnade.Pool, accept: str) -> None:
    """jshttp/negotiator#41 and those above: the meaning of a header, from any client."""
    async with client_of(table(pool, formats=["csv", "json"])) as client:
        if accept == "text/csv;q=0, */*":
            # A client that refuses CSV alone is refused nothing.
            assert (await client.get("/", headers={"accept": "text/csv;q=0"})).status_code == 406
        response = await client.get("/", headers={"accept": accept})
    expected = ACCEPTED[accept]
    assert response.status_code == (406 if expected is None else 200)
    if expected is not None:
        assert response.headers["content-type"] == expected


@pytest.mark.parametrize(
    ("name", "plain", "encoded"),
    [
        # Kludex/starlette#790, marimo-team/marimo#7739: a UnicodeEncodeError.
        ("报告", "__.csv", "%E6%8A%A5%E5%91%8A.csv"),
        # paradigmxyz/centaur#67, nesquena/hermes-webui#379: quotes and line ends.
        ('a"b\r\nx: y', "a_b__x: y.csv", "a%22b%0D%0Ax%3A%20y.csv"),
        ("100%25", "100_25.csv", "100%2525.csv"),
    ],
)
async def test_a_file_name(pool: colonnade.Pool, name: str, plain: str, encoded: str) -> None:
    """Kludex/starlette#790 and those above: a header for every name."""
    async with client_of(table(pool, filename=name, formats=["csv"])) as client:
        response = await client.get("/")
    told = response.headers["content-disposition"]
    assert told == f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
    assert "x" not in response.headers


async def test_a_condition_is_a_list(pool: colonnade.Pool) -> None:
    """IABTechLab/trusted-server#428, ujeenet/rustango#1258, apache/tomcat#325."""
    async with client_of(table(pool, etag="1")) as client:
        tag = (await client.get("/")).headers["etag"]
        for known in (f'"a", {tag}', f'"a,b",{tag.removeprefix("W/")}', "*"):
            answer = await client.get("/", headers={"if-none-match": known})
            assert (answer.status_code, answer.headers["vary"]) == (304, "accept")
            assert answer.headers["etag"] == tag
        for other in ('"a", "b"', f"W/{tag[3:-2]}", ""):
            answer = await client.get("/", headers={"if-none-match": other})
            assert answer.status_code == 200


async def test_head_runs_no_query_and_sends_no_body(pool: colonnade.Pool) -> None:
    """brekkylab/backlot#151, fastapi/fastapi#1773, Kludex/uvicorn#787: the next answer follows."""
    begun = 0

    def rows() -> Any:
        nonlocal begun
        begun += 1
        return pool.iter_columns(ROWS, 3)

    async with serving(serve.TableResponse(rows, formats=["csv"])) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
        writer.write(b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n" * 2)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answers = (await reader.read()).split(b"HTTP/1.1 ")[1:]
        writer.close()
    assert [answer[:6] for answer in answers] == [b"200 OK"] * 3
    assert answers[0].endswith(b"\r\n\r\n")
    assert answers[2].endswith(b"\r\n0\r\n\r\n")
    assert begun == 1


async def test_a_part_of_a_table_is_the_whole(pool: colonnade.Pool) -> None:
    """huggingface/datasets#7685: 206 for bytes that are made anew would mix two tables."""
    async with client_of(table(pool, formats=["csv"], etag="1")) as client:
        whole = await client.get("/")
        for condition in ({}, {"if-range": whole.headers["etag"]}):
            part = await client.get("/", headers={"range": "bytes=0-3", **condition})
            assert (part.status_code, part.content) == (200, whole.content)
            assert "content-range" not in part.headers


@pytest.mark.parametrize("name", ["csv", "ndjson", "arrow"])
async def test_a_table_that_fails_has_no_last_chunk(pool: colonnade.Pool, name: str) -> None:
    """true-async/server#171, oven-sh/bun#36477, pallets/werkzeug#2090, posit-dev/py-shiny#447."""
    app = serve.TableResponse(lambda: pool.iter_columns(FAILING, batch_rows=10_000))
    async with client_of(app) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("/", params={"format": name})


async def test_middleware_that_hides_an_error(pool: colonnade.Pool) -> None:
    """Kludex/starlette#1433, #1459: the answer of a failed application ended politely."""
    table = serve.TableResponse(lambda: pool.iter_columns(FAILING, batch_rows=10_000))
    app = BaseHTTPMiddleware(table, dispatch=lambda request, call_next: call_next(request))
    async with client_of(app) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("/", params={"format": "csv"})


async def test_a_failed_arrow_stream_is_no_shorter_table(pool: colonnade.Pool) -> None:
    """Basekick-Labs/arc#722: it read as a table of fewer rows, in every reader."""
    app = serve.TableResponse(lambda: pool.iter_columns(FAILING, batch_rows=10_000))
    async with client_of(app) as client:
        data = b""
        with contextlib.suppress(httpx2.RemoteProtocolError):
            async with client.stream("GET", "/") as response:
                async for piece in response.aiter_raw():
                    data += piece
        with pytest.raises(IncompleteTableError, match="the server failed after"):
            await serve.read("/", client=client)
    with pytest.raises((OSError, pa.ArrowInvalid)):
        pa.ipc.open_stream(data).read_all()


async def test_a_stream_that_was_cut_anywhere() -> None:
    """apache/arrow-go#986, #991: an end within a message was taken for the end of the stream."""
    whole = stream([pa.record_batch({"a": [1, 2, 3]})] * 3)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del receive
        head = [(b"content-type", ARROW.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        body = whole[: int(scope["path"].strip("/"))]
        await send({"type": "http.response.body", "body": body})

    async with client_of(app) as client:
        for length in range(0, len(whole), 23):
            with pytest.raises(IncompleteTableError):
                await serve.read(f"/{length}", client=client)
        assert len(await serve.read(f"/{len(whole)}", client=client)) == 9


async def test_a_compressed_stream_is_not_compressed_again(pool: colonnade.Pool) -> None:
    """Kludex/starlette#1901, #803: twice encoded, or with the length of another body."""
    async with client_of(GZipMiddleware(table(pool, 5000))) as client:
        for codec, encoding in (("none", "gzip"), ("zstd", "identity")):
            params = {"format": "arrow", "codecs": codec}
            response = await client.get("/", params=params)
            assert response.headers["content-encoding"] == encoding
            assert pa.ipc.open_stream(response.content).read_all().num_rows == 5000


async def test_nothing_is_fetched_ahead_of_a_slow_client(pool: colonnade.Pool) -> None:
    """Kludex/starlette#1012, oven-sh/bun#32469: the whole answer waited in memory."""
    fetched = 0

    async def rows() -> AsyncIterator[colonnade.Columns]:
        nonlocal fetched
        async for batch in pool.iter_columns(ENDLESS, batch_rows=10_000):
            fetched += batch.nbytes
            yield batch

    app = serve.TableResponse(rows, stall_timeout=0.5)
    async with serving(app) as address:
        with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            # It is cut off when it has taken nothing for half a second.
            await until(lambda: fetched > 0 and pool.get_stats().busy == 0)
    # The buffers of the kernel on both sides, and of the web server.
    assert fetched < 64 << 20


async def test_clients_that_read_nothing_hold_no_pool(pool: colonnade.Pool) -> None:
    """Equal-Vote/bettervoting#1424, ldproxy/ldproxy#1748: every later request hung."""
    app = serve.TableResponse(lambda: pool.iter_columns(ENDLESS), stall_timeout=0.5)
    async with serving(app) as address, contextlib.AsyncExitStack() as block:
        for _ in range(3):
            _, writer = await asyncio.open_connection(
                "127.0.0.1", urlsplit(address).port, limit=1024
            )
            block.callback(writer.close)
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await until(lambda: pool.get_stats().busy == 3)
        async with asyncio.timeout(60):
            assert await pool.fetchval("SELECT 1") == 1


async def test_a_client_that_leaves_at_once(pool: colonnade.Pool) -> None:
    """stemdeckapp/stemdeck#513, sysid/sse-starlette#156, lsst/daf_butler#1407, granian#286."""
    app = serve.TableResponse(lambda: pool.iter_columns("SELECT pg_sleep(60)"))
    async with serving(app) as address:
        for _ in range(6):
            with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0)) as client:
                client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                await until(lambda: pool.get_stats().busy > 0)
        await until(lambda: pool.get_stats().busy == 0)
        assert await pool.fetchval("SELECT 1") == 1


async def test_a_dependency_keeps_its_connection_while_the_table_is_sent(
    pool: colonnade.Pool,
) -> None:
    """sheaf-project/sheaf#226: FastAPI ends it after the answer, so the table may use it."""
    app = fastapi.FastAPI()

    async def connection() -> AsyncIterator[Any]:
        async with pool.acquire() as lent:
            yield lent

    @app.get("/")
    async def export(
        lent: Any = fastapi.Depends(connection),  # noqa: B008, FAST002 - FastAPI's way
    ) -> for_starlette.TableResponse:
        return for_starlette.TableResponse(lambda: lent.iter_columns(ROWS, 5000), formats=["csv"])

    async with client_of(app) as client:
        assert len((await client.get("/")).text.splitlines()) == 5001
        await until(lambda: pool.get_stats().busy == 0)


async def test_json_that_browsers_parse(pool: colonnade.Pool) -> None:
    """jeroen/jsonlite#281, philbooth/bfj#64, cms-nanoAOD/correctionlib#208: NaN is no JSON."""
    query = (
        "SELECT x, 9007199254740993 AS n FROM unnest(ARRAY['NaN', 'Infinity', '-Infinity', 1.5]"
        "::float8[]) AS x"
    )

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    async with client_of(serve.TableResponse(lambda: pool.iter_columns(query))) as client:
        for name in ("json", "ndjson"):
            text = (await client.get("/", params={"format": name})).text
            documents = [text] if name == "json" else text.splitlines()
            for document in documents:
                json.loads(document, parse_constant=refuse)
            # No digit is lost on the way to a reader that keeps them.
            assert "9007199254740993" in text


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_a_bomb(encoding: str) -> None:
    """mnot/httplint#145, curl/curl#21581, JuliaWeb/HTTP.jl#1262: a limit of compressed bytes."""
    zeros = pa.record_batch({"a": pa.array([0] * 1_000_000, pa.int64())})
    options = pa.ipc.IpcWriteOptions(compression="zstd" if encoding == "identity" else None)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, zeros.schema, options=options) as writer:
        writer.write_batch(zeros)
    data = sink.getvalue()
    body = gzip.compress(data) if encoding == "gzip" else data
    assert len(body) < 100_000
    async with answering(body, (b"content-encoding", encoding.encode())) as address:
        with pytest.raises(FaultyTableError, match="more than 1000000 bytes"):
            await serve.read(address, max_bytes=1_000_000)


@pytest.mark.parametrize("values", [128, 129, 200])
async def test_dictionaries_at_the_edge_of_their_keys(values: int) -> None:
    """open-telemetry/otel-arrow#3566, apache/arrow-rs#9366: 256 values of 8 bits panicked."""
    kind = pa.dictionary(pa.uint8(), pa.int64())
    batches = [
        pa.record_batch(
            {
                "a": pa.DictionaryArray.from_arrays(
                    pa.array(range(values), pa.uint8()), pa.array(range(first, first + values))
                ).cast(kind)
            }
        )
        for first in (0, 1000)
    ]
    async with answering(stream(batches)) as address:
        columns = await serve.read(address)
    expected = [*range(values), *range(1000, 1000 + values)]
    assert pa.table(columns)["a"].to_pylist() == expected

"""Tables of unusual shapes in every format, and unusual requests."""

from __future__ import annotations

import asyncio
import io
import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import colonnade
from colonnade import serve
from colonnade.formats.streams import STREAMS
from tests.serve.serving import client_of, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

FORMATS = [form.name for form in STREAMS]
#: A query, its rows and its columns.
SHAPES = {
    "no rows": ("SELECT 1 AS a, 'x' AS b WHERE false", 0, 2),
    "no columns": ("SELECT FROM generate_series(1, 5)", 5, 0),
    "nothing": ("SELECT WHERE false", 0, 0),
    "wide": ("SELECT " + ", ".join(f"{n} AS c{n}" for n in range(1600)), 1, 1600),
    "nulls": ("SELECT NULL AS a FROM generate_series(1, 3)", 3, 1),
    "names": ('SELECT 1 AS "a""\r\n,\t\u202e", 2 AS "=1+1"', 1, 2),
    "large cell": ("SELECT repeat('é\"', 4000000) AS text", 1, 1),
    "deep": ("SELECT (repeat('[', 5000) || repeat(']', 5000))::jsonb AS j", 1, 1),
}
#: They differ by whether the body is sent.
FRAMING = {"date", "content-length", "transfer-encoding"}


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        yield pool


def shape_of(response: httpx2.Response, name: str) -> tuple[int, int]:
    """The rows and columns that arrived."""
    if name == "arrow":
        table = pa.ipc.open_stream(response.content).read_all()
        return table.num_rows, table.num_columns
    if name == "parquet":
        table = pq.read_table(io.BytesIO(response.content))
        return table.num_rows, table.num_columns
    if name == "json":
        document = json.loads(response.content)
        return document["rows"], len(document["columns"])
    lines = response.text.removesuffix("\n").split("\n") if response.content else []
    if name == "ndjson":
        return len(lines), len(json.loads(lines[0])) if lines else 0
    raise AssertionError(name)


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_format_takes_every_shape(pool: colonnade.Pool, shape: str) -> None:
    query, rows, columns = SHAPES[shape]
    app = serve.TableResponse(lambda: pool.iter_columns(query), etag="1")
    async with client_of(app) as client:
        for name in FORMATS:
            response = await client.get("/", params={"format": name})
            head = await client.head("/", params={"format": name})
            assert (response.status_code, head.status_code, head.content) == (200, 200, b"")
            told, asked = ({*each.headers.items()} for each in (response, head))
            assert {key for key, _ in told ^ asked} <= FRAMING
            # The readers of JSON in Python refuse deep documents, and CSV has no fixed shape.
            if name != "csv" and (shape != "deep" or name in {"arrow", "parquet"}):
                # Parquet has no rows without columns, and NDJSON no columns without rows.
                is_known = {"parquet": columns > 0, "ndjson": rows > 0}.get(name, True)
                expected = (rows, columns) if is_known else (0, 0)
                assert shape_of(response, name) == expected, name
        table = await serve.read(str(client.base_url), client=client)
        assert table.shape == (rows, columns)


async def test_requests_may_be_sent_ahead(pool: colonnade.Pool) -> None:
    app = serve.TableResponse(
        lambda: pool.iter_columns("SELECT i FROM generate_series(1, 200000) AS i"), formats=["csv"]
    )
    async with serving(app) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answers = await asyncio.wait_for(reader.read(), 60)
        writer.close()
    assert answers.count(b"HTTP/1.1 200") == answers.count(b"\n200000\r\n") == 2
    assert pool.get_idle_size() == pool.get_size()


async def test_an_unknown_value_of_a_parameter_is_named(pool: colonnade.Pool) -> None:
    columns = await pool.fetch_columns("SELECT 1 AS number")
    async with client_of(serve.TableResponse(columns)) as client:
        for asked, detail in (
            ("?format=csv&csv=excel", "csv of csv must be copy or rfc4180"),
            ("?format=ndjson&numbers=x", "numbers of ndjson must be exact or javascript"),
            ("text/csv; csv=excel", "csv of csv must be copy or rfc4180"),
        ):
            is_query = asked.startswith("?")
            headers = {} if is_query else {"accept": asked}
            response = await client.get(f"/{asked if is_query else ''}", headers=headers)
            assert (response.status_code, response.json()["detail"]) == (406, detail)
        # Without a format, the query is the application's.
        assert (await client.get("/?csv=excel")).status_code == 200

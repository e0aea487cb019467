"""A short test of the driver with every other version of PostgreSQL.

The whole suite runs against one of them with ``make test TEST_ARGS=--server=13``.
"""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING

import pytest

import colonnade
import colonnade.sync
from colonnade import embedded
from tests.cli.program import run
from tests.columns.every_type import SCALARS, query
from tests.support import releases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHERS = [major for major in releases.RELEASES if major != embedded.find_binaries().major]


@pytest.fixture(scope="module", params=OTHERS)
def other(request: pytest.FixtureRequest) -> Iterator[embedded.Server]:
    binaries = releases.at_hand(request.param)
    if binaries is None:
        pytest.skip(f"PostgreSQL {request.param} is missing: `make servers` downloads it")
    with embedded.start(tcp=True, binaries=binaries) as server:
        yield server


def test_rows_and_columns_of_every_type(other: embedded.Server) -> None:
    with colonnade.sync.connect(other.dsn, server_settings={"timezone": "UTC"}) as connection:
        version = connection.get_server_version()
        assert version.major == other.binaries.major
        known = [name for name in SCALARS if version.major >= 14 or "multirange" not in name]
        extensions = "citext", "hstore", "ltree"
        connection.execute("".join(f"CREATE EXTENSION {name};" for name in extensions))
        for name in known:
            rows = [row["v"] for row in connection.fetch(query(name))]
            assert rows[0] is rows[2] is rows[4] is None
            assert connection.fetch_columns(query(name)).to_arrow()["v"].null_count == 3
            again = connection.fetchval(f"SELECT $1::{name}", rows[1])
            assert str(again) == str(rows[1]), name
        assert len(known) >= len(SCALARS) - 3


def test_what_is_asked_of_the_catalogs(other: embedded.Server) -> None:
    with colonnade.sync.connect(other.dsn) as connection:
        connection.execute(
            "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS int CHECK (value < 9);"
            "CREATE TYPE span AS RANGE (subtype = float8);"
            "CREATE TYPE person AS (name text, mood mood, ages small[], life span)"
        )
        text = '(Ann,ok,"{1,2}","[0.5,1)")'
        row = connection.fetchrow("SELECT $1::person AS p, ARRAY[$1::person] AS ps", text)
        assert row is not None
        assert row["p"]["name"] == "Ann"
        assert row["ps"][0]["ages"] == [1, 2]
        columns = connection.fetch_columns("SELECT $1::person AS p", text)
        assert columns.to_pylist() == [{"p": row["p"]}]
        catalog = connection.fetch_columns("SELECT * FROM pg_type t, pg_class c LIMIT 5000")
        assert len(catalog) == 5000


def test_copies_both_ways(other: embedded.Server) -> None:
    with colonnade.sync.connect(other.dsn) as connection:
        connection.execute("CREATE TABLE copied (n int, t text)")
        source = {"n": [1, 2, None], "t": ["a", None, "\N{EURO SIGN}"]}
        assert connection.copy_columns_to_table("copied", source) == "COPY 3"
        connection.copy_records_to_table("copied", records=[(4, "d")])
        with io.BytesIO() as sink:
            connection.copy_from_table("copied", output=sink)
            assert sink.getvalue() == "1\ta\n2\t\\N\n\\N\t\N{EURO SIGN}\n4\td\n".encode()
        columns = connection.fetch_columns("SELECT * FROM copied ORDER BY n")
        assert columns.to_pydict() == {"n": [1, 2, 4, None], "t": ["a", None, "d", "\N{EURO SIGN}"]}


def test_an_imported_file_is_read_to_its_end(other: embedded.Server, tmp_path: Path) -> None:
    path = tmp_path / "marked.csv"
    path.write_bytes(b"a\n1\n\\.\n2\n")
    done = run(other.dsn, "import", str(path), "marked", "--create")
    assert done.returncode == 0, done.stderr
    with colonnade.sync.connect(other.dsn) as connection:
        assert [row[0] for row in connection.fetch("SELECT a FROM marked")] == ["1", "\\.", "2"]


async def test_a_pool_a_pipeline_and_a_cancelled_query(other: embedded.Server) -> None:
    async with colonnade.create_pool(other.dsn, min_size=1, max_size=3) as pool:
        calls = [pool.fetchval("SELECT $1::int", number) for number in range(20)]
        assert await asyncio.gather(*calls) == list(range(20))
        async with pool.pipeline() as pipeline:
            results = [pipeline.fetchval("SELECT $1::text", str(n)) for n in range(20)]
        assert [result.result() for result in results] == [str(n) for n in range(20)]
        async with pool.acquire() as connection:
            with pytest.raises(TimeoutError):
                await connection.fetch("SELECT pg_sleep(60)", timeout=0.02)
            async with connection.transaction():
                rows = [row[0] async for row in connection.cursor("SELECT generate_series(1, 99)")]
            assert rows == list(range(1, 100))
            heard: asyncio.Queue[str] = asyncio.Queue()
            await connection.add_listener("news", lambda *said: heard.put_nowait(said[3]))
            await connection.execute("NOTIFY news, 'yes'")
            assert await asyncio.wait_for(heard.get(), 10) == "yes"
            await connection.reset()
        batches = [batch async for batch in pool.iter_columns("SELECT generate_series(1, 9999)")]
        assert sum(map(len, batches)) == 9999

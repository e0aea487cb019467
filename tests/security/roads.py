"""The driver's roads: every kind of call that runs internal queries.

The callers' SQL names schemas wherever possible, so any other look-up was the driver's. All of it
uses the schema `app`, which `SCRIPT` creates.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import io
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import sqlalchemy as sa
from pyarrow import parquet
from sqlalchemy.ext.asyncio import create_async_engine

import colonnade
from colonnade import adbc, dbapi, parallel, rkt, sync
from tests.cli.program import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Road = Callable[[str, Path], object]

ROWS = 300
SCRIPT = f"""
CREATE SCHEMA app;
CREATE TYPE app.mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN app.few AS integer CHECK (VALUE IS NOT NULL);
CREATE TYPE app.place AS (name text, at point, mood app.mood, few app.few);
CREATE TYPE app.span AS RANGE (SUBTYPE = float8);
CREATE TABLE app.t (
    id bigint PRIMARY KEY, name text, mood app.mood, price numeric(9, 2), day date,
    moment timestamptz, places app.place[], span app.span, doc json, kept app.few,
    twice bigint GENERATED ALWAYS AS (id) STORED
);
INSERT INTO app.t
SELECT i, 'n' || i % 17, (ARRAY['sad', 'ok', 'happy']::app.mood[])[1 + i % 3], i,
    date '2024-01-01' + i, timestamptz '2024-01-01 UTC' + i * interval '1 minute',
    ARRAY[ROW('x', '(1,2)', 'ok', 3)]::app.place[], app.span(i, i + 1), '{{"a": [1]}}', i
FROM generate_series(1, {ROWS}) AS i;
ANALYZE app.t;
CREATE FUNCTION app.same(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1';
CREATE TABLE app.target (id bigint PRIMARY KEY, name text, mood app.mood, few app.few);
CREATE TABLE app.files (id bigint, name text, price numeric(9, 2));
CREATE TABLE app.wide (
    id bigint, name text, place app.place, twice bigint GENERATED ALWAYS AS (id) STORED
);
CREATE TABLE app.typed (i integer, x real, m timestamptz);
INSERT INTO app.typed SELECT i, i, timestamptz '2024-01-01 UTC' + i * interval '1 day'
FROM generate_series(1, 100) AS i;
"""
_ALL = "SELECT * FROM app.t"
# Each type with a Python value.
_PARAMETERS: dict[str, Any] = {
    "app.mood": "ok",
    "app.mood[]": ["ok", None],
    "app.few": 3,
    "app.place": ("x", (1.0, 2.0), "ok", 3),
    "app.place[]": [("x", None, "ok", 3)],
    "app.span": colonnade.Range(1.0, 2.0),
}


def rows(dsn: str, _folder: Path) -> None:
    with sync.connect(dsn) as conn:
        for name, value in _PARAMETERS.items():
            query = f"SELECT $1::{name} AS v"
            assert conn.fetchval(query, value) is not None
            assert conn.fetchrow(query, value) is not None
            assert conn.fetch_columns(query, value).num_rows == 1
            conn.reload_schema_state()
        assert len(conn.fetch(_ALL)) == ROWS
        assert conn.prepare(_ALL).fetchrow() is not None
        conn.execute("SET application_name = 'x'; SHOW application_name")
        conn.executemany("SELECT $1::app.mood", [("ok",), ("sad",)])
        assert conn.fetch_columns(_ALL).num_rows == ROWS
    with sync.connect(dsn, statement_cache_size=0) as conn:
        assert conn.fetch_columns(_ALL).num_rows == ROWS


def kinds_of_servers(dsn: str, _folder: Path) -> None:
    for wanted in ("primary", "read-write", "prefer-standby"):
        sync.connect(dsn, target_session_attrs=wanted).close()


def cursors(dsn: str, _folder: Path) -> None:
    with sync.connect(dsn) as conn:
        with conn.transaction(), conn.transaction():
            cursor = conn.cursor(_ALL).open()
            assert len(cursor.fetch(10)) == 10
            cursor.forward(5)
        with conn.iter_columns(_ALL, batch_rows=100) as batches:
            assert sum(batch.num_rows for batch in batches) == ROWS


def copies_out(dsn: str, _folder: Path) -> None:
    with sync.connect(dsn) as conn:
        out = io.BytesIO()
        conn.copy_from_table("t", schema_name="app", output=out)
        conn.copy_from_query(_ALL, output=out, format="csv")
        filtered = "SELECT id FROM app.t WHERE mood OPERATOR(pg_catalog.=) $1 LIMIT $2"
        conn.copy_from_query(filtered, "ok", 3, output=out)
        names = ["id", "name", "mood", "span", "places"]
        conn.copy_from_table("t", schema_name="app", columns=names, output=out)
        conn.copy_from_table("typed", schema_name="app", output=out)


def copies_in(dsn: str, _folder: Path) -> None:
    with sync.connect(dsn) as conn:
        columns = {"id": [1, 2], "name": ["a", "b"], "mood": ["ok", None], "few": [1, 2]}
        app: Any = {"schema_name": "app"}
        conn.execute("TRUNCATE app.target")
        conn.copy_columns_to_table("target", columns, **app)
        for action in ("update", "nothing"):
            conn.copy_columns_to_table(
                "target", columns, **app, on_conflict=action, conflict_columns="id"
            )
        made = {
            **columns,
            "b": [b"x", b"y"],
            "u": [dt.date(2024, 1, 1)] * 2,
            "j": [{"a": 1}] * 2,
            "m": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 2,
        }
        conn.copy_columns_to_table("made", made, **app, create=True)
        conn.copy_columns_to_table("made_of_arrow", pa.table(columns), **app, create=True)
        fetched = conn.fetch_columns("SELECT id, name, price, mood, places, moment FROM app.t")
        conn.copy_columns_to_table("made_of_own", fetched, **app, create=True)
        conn.execute("DROP TABLE app.made, app.made_of_arrow, app.made_of_own; TRUNCATE app.target")
        conn.copy_records_to_table("target", records=[(1, "a", "ok", 1)], **app)
        conn.copy_records_to_table("wide", records=[(1, "a", ("x", (0, 0), "ok", 1))], **app)
        conn.copy_to_table("target", source=io.BytesIO(b"7\tx\tsad\t1\n"), **app)
        conn.execute("TRUNCATE app.target, app.wide")


def codecs(dsn: str, _folder: Path) -> None:
    with sync.connect(dsn) as conn:
        conn.set_type_codec("mood", schema="app", encoder=str, decoder=str)
        conn.set_type_codec("json", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
        conn.set_type_codec("place", schema="app", encoder=tuple, decoder=tuple, format="tuple")
        conn.set_builtin_type_codec("few", schema="app", codec_name="int4")
        assert len(conn.fetch(_ALL)) == ROWS
        conn.reset_type_codec("mood", schema="app")


def pools(dsn: str, _folder: Path) -> None:
    with sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        for _ in range(2):
            with pool.acquire() as conn:
                conn.execute("SET application_name = 'x'")
                assert len(conn.fetch(_ALL)) == ROWS
                conn.reset()


def listening(dsn: str, _folder: Path) -> None:
    asyncio.run(_listening(dsn))


async def _listening(dsn: str) -> None:
    conn = await colonnade.connect(dsn)
    heard = asyncio.Event()

    def hear(*_told: object) -> None:
        heard.set()

    await conn.add_listener("news", hear)
    await conn.execute("NOTIFY news, 'x'")
    await asyncio.wait_for(heard.wait(), 20)
    await conn.remove_listener("news", hear)
    assert len(await conn.fetch(_ALL)) == ROWS
    await conn.close()
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        for _ in range(2):
            async with pool.acquire() as held, held.transaction():
                assert (await held.fetch_columns(_ALL)).num_rows == ROWS


def parallel_reads(dsn: str, _folder: Path) -> None:
    assert parallel.sync.read("app.t", dsn, parts=3).num_rows == ROWS
    for key in ("id", "name", "mood", "price", "day", "moment", "span", "kept"):
        for source in ("app.t", _ALL):
            found = parallel.sync.read(source, dsn, parts=3, partition_by=key)
            assert found.num_rows == ROWS, key
    for key in ("i", "x", "m"):
        found = parallel.sync.read("app.typed", dsn, parts=3, partition_by=key, cuts="range")
        assert found.num_rows == 100


def frames(dsn: str, _folder: Path) -> None:
    for into in ("pandas", "polars", "arrow"):
        assert len(colonnade.read_sql(_ALL, dsn, into=into)) == ROWS
    written: Any
    for written in (
        pd.DataFrame({"id": [1, 2], "name": ["a", "b"]}),
        pl.DataFrame({"id": [1, 2], "name": ["a", "b"]}),
        pa.table({"id": [1, 2], "name": ["a", "b"], "n": [Decimal("1.5"), None]}),
        {"id": np.arange(2), "at": np.array(["2024-01-01", "NaT"], "M8[s]")},
    ):
        for if_exists in ("replace", "append", "truncate"):
            colonnade.write_table(
                written, "written", dsn, schema_name="app", if_exists=if_exists, nan_as_null=True
            )
        with contextlib.suppress(colonnade.DuplicateTableError):
            colonnade.write_table(written, "written", dsn, schema_name="app", if_exists="fail")
    with sync.connect(dsn) as conn, conn.transaction():
        colonnade.write_table(written, "written", conn, schema_name="app", if_exists="replace")
    with sync.connect(dsn) as conn:
        conn.execute("DROP TABLE app.written")


def arrays(dsn: str, _folder: Path) -> None:
    asyncio.run(_arrays(dsn))


async def _arrays(dsn: str) -> None:
    conn = await colonnade.connect(dsn)
    dtype = np.dtype([("id", "i8"), ("name", "U8")])
    query = rkt.set_query_dtype("SELECT id, name FROM app.t", dtype)
    assert (await conn.fetch(query)) is not None
    await conn.close()


def pep_249(dsn: str, _folder: Path) -> None:
    with dbapi.connect(dsn) as conn:
        with conn.cursor() as cursor:
            cursor.execute("SELECT id, mood, places FROM app.t LIMIT %s", (3,))
            assert len(cursor.fetchall()) == 3
            cursor.execute("SELECT %s, %s, %s", (1, "x", dt.date(2024, 1, 1)))
            cursor.executemany("SELECT %s::app.mood", [("ok",), ("sad",)])
            cursor.callproc("app.same", (1,))
            assert cursor.adbc_execute_schema(_ALL) is not None
            table = pa.table({"id": [1], "name": ["x"]})
            for mode in ("create", "append", "replace", "create_append"):
                cursor.adbc_ingest("ingested", table, mode, db_schema_name="app")
            cursor.adbc_ingest("ingested", table, temporary=True)
            cursor.execute("DROP TABLE app.ingested")
        with conn.cursor("named") as cursor:
            cursor.execute(_ALL)
            assert len(cursor.fetchmany(7)) == 7
        assert conn.adbc_get_objects().read_all().num_rows > 0
        assert conn.adbc_get_objects(depth="tables", table_name_filter="t%").read_all().num_rows > 0
        assert conn.adbc_get_table_schema("t", db_schema_filter="app") is not None
        conn.rollback()
        xid = conn.xid(1, "gtrid", "bqual")
        conn.tpc_begin(xid)
        conn.execute("INSERT INTO app.files (id) VALUES (0)")
        conn.tpc_prepare()
        with dbapi.connect(dsn) as other:
            assert len(other.tpc_recover()) == 1
        conn.tpc_rollback()


def sqlalchemy_engines(dsn: str, _folder: Path) -> None:
    # When it first connects, the dialect runs internal queries with SQL of SQLAlchemy.
    address = sa.make_url(dsn).set(drivername="postgresql+colonnade")
    path = address.query["search_path"]
    plain = address.difference_update_query(["search_path"])
    engine = sa.create_engine(plain)
    try:
        engine.connect().close()
        with engine.connect() as conn:
            conn.execute(sa.text(f"SET search_path TO {path}"))
            _walk_engine(conn)
            conn.connection.dbapi_connection.tpc_recover()  # type: ignore[union-attr]
    finally:
        engine.dispose()
    asyncio.run(_async_engine(plain, str(path)))


def _walk_engine(conn: sa.Connection) -> None:
    assert len(conn.execute(sa.text(_ALL)).all()) == ROWS
    limited = sa.text("SELECT id, mood FROM app.t LIMIT :n").bindparams(n=3)
    assert len(conn.execute(limited).all()) == 3
    conn.execute(sa.text("INSERT INTO app.files (id, name) VALUES (:i, :n)"), [{"i": 1, "n": "x"}])
    streamed = conn.execution_options(stream_results=True).execute(sa.text(_ALL))
    assert len(streamed.all()) == ROWS
    conn.rollback()


async def _async_engine(url: sa.URL, path: str) -> None:
    engine = create_async_engine(url)
    async with engine.connect() as conn:
        await conn.execute(sa.text(f"SET search_path TO {path}"))
        await conn.run_sync(_walk_engine)
    await engine.dispose()


def adbc_driver(dsn: str, _folder: Path) -> None:
    with adbc.connect(dsn) as conn:
        with conn.cursor() as cursor:
            cursor.execute("SELECT id, name, mood FROM app.t")
            assert cursor.fetch_arrow_table().num_rows == ROWS
            cursor.adbc_ingest("of_adbc", pa.table({"id": [1]}), "create", db_schema_name="app")
            cursor.adbc_ingest("of_adbc", pa.table({"id": [1]}), "append", db_schema_name="app")
            cursor.execute("DROP TABLE app.of_adbc")
        assert conn.adbc_get_objects(depth="all").read_all().num_rows > 0
        assert conn.adbc_get_table_schema("t", db_schema_filter="app") is not None
        assert conn.adbc_current_db_schema is not None


def command_query(dsn: str, folder: Path) -> None:
    _runs(dsn, "query", _ALL, "--limit", "3")
    _runs(
        dsn, "query", "SELECT id, places FROM app.t LIMIT $1", "5", "-o", str(folder / "q.ndjson")
    )
    _runs(dsn, "query", "SELECT name, name FROM app.t")


def command_files(dsn: str, folder: Path) -> None:
    with sync.connect(dsn) as conn:
        conn.execute("TRUNCATE app.files")
    for ending in ("csv", "ndjson", "parquet", "arrow"):
        file = str(folder / f"files.{ending}")
        _runs(dsn, "export", "SELECT id, name, price FROM app.t", "-o", file)
        _runs(dsn, "import", file, "app.files")
        if ending in {"csv", "ndjson"}:
            # This copies through a staging table.
            _runs(dsn, "import", file, "app.files", "--skip", "name")
        if ending in {"csv", "arrow"}:
            _runs(dsn, "import", file, "app.of_files", "--create", "--if-exists", "replace")
    # The driver searches for the faulty line.
    (folder / "bad.ndjson").write_text('{"id": 1}\n{"id": "x"}\n', "utf-8")
    done = run(dsn, "import", str(folder / "bad.ndjson"), "app.files")
    assert 'line 2, column "id"' in done.stderr, done.stderr
    assert parquet.read_table(folder / "files.parquet").num_rows == ROWS
    with sync.connect(dsn) as conn:
        conn.execute("DROP TABLE app.of_files; TRUNCATE app.files")


def command_doctor(dsn: str, _folder: Path) -> None:
    _runs(dsn, "doctor")


def _runs(dsn: str, *words: str) -> None:
    done = run(dsn, *words)
    assert done.returncode == 0, (words, done.stderr, done.stdout)


ROADS: tuple[Road, ...] = (
    rows,
    kinds_of_servers,
    cursors,
    copies_out,
    copies_in,
    codecs,
    pools,
    listening,
    parallel_reads,
    frames,
    arrays,
    pep_249,
    sqlalchemy_engines,
    adbc_driver,
    command_query,
    command_files,
    command_doctor,
)

"""The rooms around the driver work on connections with broken codecs for every type."""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

import colonnade
from colonnade import dbapi, parallel, sync
from colonnade.adbc import driver
from colonnade.dbapi import two_phase
from tests.sync.test_own_queries import BROKEN, ReachedError, break_codecs, broken, broken_factory

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY, ID = dt.date(2024, 1, 2), uuid.UUID(int=7)
FRAME = pa.table({"day": [DAY, None]})
BOTH = pytest.mark.parametrize("codec_format", ["text", "binary"])


@pytest.fixture(autouse=True)
def of_days(dsn: str) -> Iterator[None]:
    with sync.connect(dsn) as link:
        link.execute(
            "CREATE TABLE of_days (day date PRIMARY KEY, id uuid);"
            f"INSERT INTO of_days SELECT date '2024-01-01' + i, '{ID}' FROM generate_series(1, 9) i"
        )
        yield
        link.execute("DROP TABLE IF EXISTS of_days, made_of_days")


@BOTH
def test_frames(dsn: str, codec_format: str) -> None:
    with sync.connect(dsn, record_class=tuple, row_factory=broken_factory) as link:
        break_codecs(link, codec_format)
        for into in ("pandas", "polars", "arrow"):
            query = "SELECT day FROM of_days WHERE id = $1"
            found: Any = colonnade.read_sql(query, link, params=(ID,), into=into)
            assert len(found) == 9
        for if_exists in ("fail", "append", "truncate", "replace"):
            colonnade.write_table(FRAME, "made_of_days", link, if_exists=if_exists)
        with pytest.raises(colonnade.DuplicateTableError):
            colonnade.write_table(FRAME, "made_of_days", link, if_exists="fail")
        frame = pd.DataFrame({"day": pd.to_datetime([DAY])})
        colonnade.write_table(
            frame, "of_days", link, if_exists="append", on_conflict="update", conflict_columns="day"
        )


@BOTH
def test_pep_249(dsn: str, codec_format: str) -> None:
    with dbapi.connect(dsn) as link:
        break_codecs(link.__colonnade_connection__(), codec_format)
        assert link.adbc_get_objects().read_all().num_rows > 0
        objects = link.adbc_get_objects(table_name_filter="of_days", table_types_filter=["table"])
        (here,) = [each for each in objects.read_all().to_pylist() if each["catalog_db_schemas"]]
        (table,) = [
            table for each in here["catalog_db_schemas"] for table in each["db_schema_tables"]
        ]
        assert [column["column_name"] for column in table["table_columns"]] == ["day", "id"]
        assert [each["constraint_type"] for each in table["table_constraints"]] == ["PRIMARY KEY"]
        assert link.adbc_get_table_schema("of_days").names == ["day", "id"]
        assert link.adbc_get_info()["vendor_name"] == "PostgreSQL"
        with link.cursor() as cursor:
            cursor.execute("SELECT day FROM of_days WHERE day = %s", (DAY,))
            assert cursor.fetchall() == [(DAY,)]
            assert cursor.adbc_execute_schema("SELECT day FROM of_days").names == ["day"]
            for mode in ("create", "append", "replace", "create_append"):
                cursor.adbc_ingest("made_of_days", FRAME, mode)
            with pytest.raises(dbapi.ProgrammingError, match="no table"):
                cursor.adbc_ingest("no_such_table", FRAME, "append")
        with link.cursor("named") as cursor:
            cursor.execute("SELECT day FROM of_days")
            assert len(cursor.fetchmany(3)) == 3
            cursor.execute("SELECT id FROM of_days")
            assert len(cursor.fetchall()) == 9
        link.rollback()
        assert link.tpc_recover() == []


def test_what_is_asked_for_transactions_in_two_phases(dsn: str) -> None:
    with sync.connect(dsn) as link:
        break_codecs(link, "binary")
        assert link.fetch_plain(two_phase._RECOVER) == []


@BOTH
def test_adbc(dsn: str, codec_format: str) -> None:
    link = driver.Connection(dbapi.connect(dsn, autocommit=True))
    break_codecs(link._connection.__colonnade_connection__(), codec_format)
    assert link.get_option("adbc.connection.db_schema") == "public"
    for mode in ("create", "append", "replace", "create_append"):
        statement = link.statement()
        statement.set_option("adbc.ingest.target_table", "made_of_days")
        statement.set_option("adbc.ingest.mode", f"adbc.ingest.mode.{mode}")
        statement.bind(FRAME.__arrow_c_stream__())
        assert statement.execute_update() == 2
        statement.close()
    assert link.get_objects(0, None, None, None, None, None) is not None
    link.close()


def test_parallel(dsn: str) -> None:
    options: dict[str, Any] = {"record_class": tuple, "row_factory": broken_factory}
    ways: list[dict[str, Any]] = [{}, {"partition_by": "day"}]
    for words in (*ways, {"partition_by": "day", "cuts": "range"}):
        found = parallel.sync.read("of_days", dsn, parts=3, connect_options=options, **words)
        assert found.num_rows == 9
    query = "SELECT * FROM of_days WHERE id = $1"
    found = parallel.sync.read(
        query, dsn, args=(ID,), parts=3, partition_by="day", connect_options=options
    )
    assert found.num_rows == 9


@BOTH
def test_sqlalchemy(dsn: str, codec_format: str) -> None:
    url = sa.make_url(dsn).set(drivername="postgresql+colonnade")
    engine = sa.create_engine(url)
    _break_engine(engine, codec_format)
    with engine.connect() as link:
        _walk_engine(link)
        assert link.connection.dbapi_connection.tpc_recover() == []  # type: ignore[union-attr]
    engine.dispose()
    asyncio.run(_walk_async_engine(url, codec_format))


async def _walk_async_engine(url: sa.URL, codec_format: str) -> None:
    engine = create_async_engine(url)
    async with engine.connect() as link:
        raw = await link.get_raw_connection()
        driver: Any = raw.driver_connection
        for name in BROKEN:
            await driver.set_type_codec(
                name, schema="pg_catalog", encoder=broken, decoder=broken, format=codec_format
            )
        await link.run_sync(_walk_engine)
    await engine.dispose()


def _break_engine(engine: sa.Engine, codec_format: str) -> None:
    @sa.event.listens_for(engine, "connect")
    def break_it(connection: Any, _record: object) -> None:
        break_codecs(connection.driver_connection, codec_format)


def _walk_engine(link: sa.Connection) -> None:
    days = sa.table("of_days", sa.column("day", sa.Date), sa.column("id", sa.Uuid))
    assert len(link.execute(sa.select(days)).all()) == 9
    assert link.execute(sa.select(days.c.id).where(days.c.day == DAY)).scalar() == ID
    with link.begin_nested():
        link.execute(sa.insert(days), [{"day": dt.date(2025, 1, day)} for day in (1, 2)])
    link.rollback()


def test_the_codecs_are_broken(dsn: str) -> None:
    with dbapi.connect(dsn) as link, link.cursor() as cursor:
        break_codecs(link.__colonnade_connection__(), "text")
        with pytest.raises((ReachedError, dbapi.Error)):
            cursor.execute("SELECT 'x'::text").fetchall()

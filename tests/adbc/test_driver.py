"""The driver through ADBC's own driver manager, and through libraries that require ADBC."""

from __future__ import annotations

import subprocess
import sys
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import adbc_driver_manager as manager
import adbc_driver_postgresql.dbapi as peer
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade import adbc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adbc_driver_manager.dbapi import Connection

TABLE = "adbc_of_tests"
TWO = pa.table({"a": [1, 2], "b": ["x", None]})


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with adbc.connect(dsn) as made:
        yield made
    with colonnade.sync.connect(dsn) as other:
        other.execute(f"DROP TABLE IF EXISTS {TABLE}")


def count(dsn: str) -> int | None:
    """The number of rows that another connection sees; None if the table does not exist."""
    with colonnade.sync.connect(dsn) as other:
        if other.fetchval("SELECT to_regclass($1)::oid", TABLE) is None:
            return None
        return int(other.fetchval(f"SELECT count(*) FROM {TABLE}"))


def test_queries_and_parameters(connection: Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT $1::int8 + 1 AS a, 1.50::numeric(9, 2) AS n, $2::text AS t", (1, "x")
        )
        table = cursor.fetch_arrow_table()
        assert table.schema == pa.schema(
            {"a": pa.int64(), "n": pa.decimal128(9, 2), "t": pa.string()}
        )
        assert table.to_pylist() == [{"a": 2, "n": Decimal("1.50"), "t": "x"}]
        cursor.execute("SELECT $1::int8 AS v", pa.table({"v": [1, 2, 3]}))
        assert cursor.fetch_arrow_table()["v"].to_pylist() == [1, 2, 3]
        cursor.execute("SELECT :a::int8 * 2 AS twice", {"a": 4})
        assert cursor.fetchall() == [(8,)]
        assert cursor.adbc_execute_schema("SELECT 1::int2 AS a") == pa.schema({"a": pa.int16()})


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_command_runs_for_every_row_of_parameters(dsn: str, *, autocommit: bool) -> None:
    """With `execute`, whether its results are read or not, as the genuine driver does."""
    rows = pa.table({"a": [1, 2, 3]})
    for driver in (adbc, peer):
        with driver.connect(dsn, autocommit=autocommit) as connection:
            with connection.cursor() as cursor:
                cursor.execute(f"CREATE TABLE {TABLE} (a int8)")
            with connection.cursor() as cursor:
                cursor.execute(f"INSERT INTO {TABLE} VALUES ($1)", rows)
            if not autocommit:
                connection.commit()
            assert count(dsn) == 3
            with connection.cursor() as cursor:
                cursor.execute(f"DROP TABLE {TABLE}")
            if not autocommit:
                connection.commit()


TEXTS = {
    "timestamp": "2000-01-03 00:00:00",
    "timestamptz": "2000-01-03 00:00:00+00",
    "date": "2000-01-03",
    "time": "01:02:03",
    "timetz": "01:02:03+01",
    "interval": "1 day",
    "int2": "5",
    "int4": "5",
    "int8": "5",
    "float4": "1.5",
    "float8": "1.5",
    "numeric": "1.50",
    "bool": "true",
    "uuid": "00112233-4455-6677-8899-aabbccddeeff",
    "inet": "10.0.0.1/32",
    "jsonb": '{"a": 1}',
    "bytea": "\\x00ff",
    "int4range": "[1,3)",
    "point": "(1,2)",
    "text": "plain",
}


def test_a_text_is_read_as_what_it_is_cast_to(connection: Connection, dsn: str) -> None:
    with connection.cursor() as cursor, peer.connect(dsn) as other, other.cursor() as others:
        for name, text in TEXTS.items():
            query = f"SELECT ($1::{name})::text AS t"
            for of in (cursor, others):
                of.execute(query, (text,))
                assert of.fetchone() == (text,)
            cursor.execute(query, pa.table({"v": [text, None]}))
            assert cursor.fetchall() == [(text,), (None,)]
            cursor.execute(f"SELECT (:v::{name})::text AS t", {"v": text})
            assert cursor.fetchall() == [(text,)]
        with pytest.raises(manager.DataError, match="invalid input syntax for type"):
            cursor.execute("SELECT $1::timestamp", ("nonsense",))
        connection.rollback()
        cursor.execute(f"CREATE TABLE {TABLE} (d date, n int, s text)")
        rows = [("2000-01-03", "5", "a"), ("2000-01-04", None, "b")]
        cursor.executemany(f"INSERT INTO {TABLE} VALUES ($1, $2, $3)", rows)
        cursor.execute(f"SELECT d::text, n::text, s FROM {TABLE} ORDER BY d")
        assert cursor.fetchall() == rows


def test_commands_and_transactions(connection: Connection, dsn: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {TABLE} (a int8, b text)")
        cursor.executemany(f"INSERT INTO {TABLE} VALUES ($1, $2)", [(1, "x"), (2, None)])
        assert count(dsn) is None
        connection.commit()
        assert count(dsn) == 2
        cursor.execute(f"DELETE FROM {TABLE}")
        connection.rollback()
        cursor.execute(f"SELECT a FROM {TABLE} ORDER BY a")
        assert cursor.fetchall() == [(1,), (2,)]
    connection.rollback()


def test_autocommit(dsn: str) -> None:
    with adbc.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {TABLE} (a int8)")
        assert count(dsn) == 0
        cursor.execute(f"DROP TABLE {TABLE}")
        assert count(dsn) is None


def test_ingest(connection: Connection, dsn: str) -> None:
    with connection.cursor() as cursor:
        with pytest.raises(manager.ProgrammingError, match="no table"):
            cursor.adbc_ingest(TABLE, TWO, mode="append")
        connection.rollback()
        assert cursor.adbc_ingest(TABLE, TWO) == 2
        with pytest.raises(manager.ProgrammingError) as caught:
            cursor.adbc_ingest(TABLE, TWO)
        assert caught.value.sqlstate == "42P07"
        assert caught.value.status_code == manager.AdbcStatusCode.ALREADY_EXISTS
        # The failed ingest's savepoint is gone, but its transaction is still open.
        assert cursor.adbc_ingest(TABLE, TWO.to_reader(), mode="create_append") == 2
        connection.commit()
        assert count(dsn) == 4
        assert cursor.adbc_ingest(TABLE, TWO.to_batches()[0], mode="replace") == 2
        assert cursor.adbc_ingest("only_here", TWO, temporary=True) == 2
        cursor.execute("SELECT count(*) FROM pg_temp.only_here")
        assert cursor.fetchall() == [(2,)]
        assert cursor.adbc_ingest(TABLE, TWO, mode="append", db_schema_name="public") == 2
        connection.commit()
    assert count(dsn) == 4


def test_what_the_server_has(connection: Connection) -> None:
    info = connection.adbc_get_info()
    assert info["vendor_name"] == "PostgreSQL"
    assert info["driver_version"] == colonnade.__version__
    assert info["driver_adbc_version"] == 1_001_000
    assert "table" in connection.adbc_get_table_types()
    with connection.cursor() as cursor:
        cursor.adbc_ingest(TABLE, TWO)
    assert connection.adbc_get_table_schema(TABLE) == TWO.schema
    catalogs = connection.adbc_get_objects(table_name_filter=TABLE).read_all().to_pylist()
    (tables,) = [
        schema["db_schema_tables"]
        for catalog in catalogs
        for schema in catalog["catalog_db_schemas"]
        if schema["db_schema_tables"]
    ]
    assert [column["column_name"] for column in tables[0]["table_columns"]] == ["a", "b"]
    with pytest.raises(manager.ProgrammingError) as caught:
        connection.adbc_get_table_schema("nowhere")
    assert caught.value.status_code == manager.AdbcStatusCode.NOT_FOUND
    connection.rollback()
    assert connection.adbc_current_catalog
    assert connection.adbc_current_db_schema == "public"


def test_pandas(connection: Connection) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert frame.to_sql(TABLE, connection, index=False) == 2
    again = pd.read_sql(f"SELECT * FROM {TABLE} ORDER BY a", connection)
    pd.testing.assert_frame_equal(again, frame)
    arrow = pd.read_sql(f"SELECT * FROM {TABLE}", connection, dtype_backend="pyarrow")
    assert str(arrow["a"].dtype) == "int64[pyarrow]"
    with pytest.raises(ValueError, match="already exists"):
        frame.to_sql(TABLE, connection, index=False)
    assert frame.to_sql(TABLE, connection, index=False, if_exists="append") == 2
    assert len(pd.read_sql_table(TABLE, connection)) == 4


def test_polars(connection: Connection) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert frame.write_database(TABLE, connection, engine="adbc") == 2
    query = f"SELECT * FROM {TABLE} ORDER BY a"
    assert pl.read_database(query, connection).equals(frame)
    parts = pl.read_database(query, connection, iter_batches=True, batch_size=1)
    assert pl.concat(parts).equals(frame)
    assert frame.write_database(TABLE, connection, engine="adbc", if_table_exists="append") == 2


def test_json_in_polars_is_text_within(connection: Connection, dsn: str) -> None:
    """As in `docs/data/columns.md`: an extension type here, text by the driver's own methods."""
    query = """SELECT '{"a":1}'::json AS j, '{"a": 1}'::jsonb AS b"""
    columns = colonnade.read_sql(query, dsn, into="arrow")
    text = pl.DataFrame({"j": ['{"a":1}'], "b": ['{"a": 1}']})
    for frame in (pl.read_database(query, connection), pl.DataFrame(columns)):
        assert frame.select(pl.all().ext.storage()).equals(text)
    assert colonnade.read_sql(query, dsn, into="polars").equals(text)


def test_errors_say_what_they_are(connection: Connection, dsn: str) -> None:
    codes = manager.AdbcStatusCode
    cases: list[tuple[str, Any, str]] = [
        ("SELECT nothing", codes.INVALID_ARGUMENT, "42703"),
        ("SELECT 1 / 0", codes.INVALID_DATA, "22012"),
        ("SELECT * FROM nowhere", codes.NOT_FOUND, "42P01"),
    ]
    for query, status, sqlstate in cases:
        with connection.cursor() as cursor:
            with pytest.raises(manager.Error) as caught:
                cursor.execute(query)
            assert (caught.value.status_code, caught.value.sqlstate) == (status, sqlstate)
        connection.rollback()
    with pytest.raises(manager.NotSupportedError, match=r"has no option 'adbc\.nothing'"):
        manager.dbapi.connect(
            driver=adbc.library(),
            entrypoint=adbc.ENTRYPOINT,
            db_kwargs={"uri": dsn, "adbc.nothing": "1"},
        )
    with pytest.raises(manager.OperationalError, match="refused") as refused:
        adbc.connect("postgresql://nobody@127.0.0.1:1/nowhere")
    assert refused.value.status_code == codes.IO


def test_an_error_within_the_rows_is_no_end(connection: Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / (200000 - g) AS v FROM generate_series(1, 300000) g")
        with pytest.raises((manager.Error, OSError, pa.ArrowInvalid), match="division by zero"):
            cursor.fetch_arrow_table()
    connection.rollback()


def test_a_result_that_is_not_read_to_its_end(connection: Connection) -> None:
    many = "SELECT g AS v FROM generate_series(1, 1000000) g"
    with connection.cursor() as first, connection.cursor() as second:
        first.execute(many)
        assert first.fetchone() == (1,)
        second.execute("SELECT 2")
        assert second.fetchall() == [(2,)]
        with pytest.raises((manager.Error, OSError, pa.ArrowInvalid), match="was closed"):
            first.fetchall()
        first.execute(many)
        reader = first.fetch_record_batch()
        assert reader.read_next_batch().num_rows == 65_536
    connection.commit()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 3")
        assert cursor.fetchall() == [(3,)]


def test_cancel(connection: Connection) -> None:
    with connection.cursor() as cursor:
        canceller = threading.Timer(0.2, cursor.adbc_cancel)
        canceller.start()
        with pytest.raises(manager.Error) as caught:
            cursor.execute("SELECT pg_sleep(30)")
        canceller.join()
        assert caught.value.status_code == manager.AdbcStatusCode.CANCELLED
    connection.rollback()


def test_options(dsn: str) -> None:
    options = {"username": "postgres", "uri": dsn}
    with manager.dbapi.connect(
        driver=adbc.library(),
        entrypoint=adbc.ENTRYPOINT,
        db_kwargs=options,
        conn_kwargs={"adbc.connection.readonly": "true"},
    ) as connection:
        with connection.cursor() as cursor, pytest.raises(manager.Error) as caught:
            cursor.execute("CREATE TABLE never (a int)")
        assert caught.value.sqlstate == "25006"
        connection.rollback()


def test_without_the_driver_manager(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_manager", None)
    with pytest.raises(ImportError, match=r"adbc-driver-manager>="):
        adbc.connect(dsn)


def test_a_program_may_end_without_closing(dsn: str) -> None:
    program = (
        "from colonnade import adbc\n"
        f"connection = adbc.connect({dsn!r})\n"
        "cursor = connection.cursor()\n"
        "cursor.execute('SELECT g FROM generate_series(1, 1000000) g')\n"
        "print(cursor.fetchone())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("(1,)\n", "")

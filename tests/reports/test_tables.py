"""Tables and types that tools read in parts, or fill, otherwise than the server would."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest

import colonnade
import colonnade.sync
from colonnade import parallel
from colonnade.errors import PostgresError

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = itertools.count(1)
LONG = "m" * 63


@pytest.fixture
def name(link: colonnade.sync.Connection) -> Iterator[str]:
    """The name of a table; what depends on it goes with it."""
    made = f"table_{next(NUMBERS)}"
    yield made
    link.execute(f"DROP TABLE IF EXISTS {made} CASCADE")


def read_in_parts(dsn: str, query: str, by: str) -> list[Any]:
    found = parallel.sync.read(query, dsn, parts=3, partition_by=by).to_pydict()
    return sorted(found["n"])


#: The type of a split column, and its values: one of them NULL, some of them equal.
SPLITS = (
    ("int", "nullif(n % 5, 0)"),
    ("text", "CASE WHEN n % 4 > 0 THEN chr((96 + n % 4)::int) || '''\\' END"),
    ("uuid", "CASE WHEN n % 7 > 0 THEN md5((n % 7)::text)::uuid END"),
    ("bool", "CASE WHEN n % 3 > 0 THEN n % 3 = 1 END"),
    ("date", "CASE WHEN n % 6 > 0 THEN '2024-11-30'::date + (n % 6)::int END"),
    ("timestamptz", "CASE WHEN n % 6 > 0 THEN '2024-11-30'::timestamptz + n * interval '1h' END"),
    ("numeric", "CASE WHEN n % 6 > 0 THEN n / 7.0 END"),
    ("reports.mood", "CASE n % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'ok' END::reports.mood"),
)


@pytest.mark.usefixtures("doors")
@pytest.mark.parametrize(("kind", "value"), SPLITS)
def test_a_split_column(
    dsn: str, link: colonnade.sync.Connection, name: str, kind: str, value: str
) -> None:
    """dimitri/pgcopydb#756, PeerDB-io/peerdb#3983, dask/dask#4289: every row once, NULL too."""
    link.execute(f"CREATE TABLE {name} (n int, k {kind})")
    link.execute(f"INSERT INTO {name} SELECT n, {value} FROM generate_series(1, 60) n")
    assert read_in_parts(dsn, f"SELECT * FROM {name}", "k") == list(range(1, 61))


def test_parts_of_what_is_no_plain_table(
    dsn: str, link: colonnade.sync.Connection, name: str
) -> None:
    """duckdb/duckdb-postgres#60, #91: partitions, inheritance and views, by position or by key."""
    link.execute(
        f"CREATE TABLE {name} (n int, k int) PARTITION BY RANGE (n);"
        f"CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES FROM (0) TO (10);"
        f"CREATE TABLE {name}_2 PARTITION OF {name} FOR VALUES FROM (10) TO (100);"
        f"CREATE VIEW {name}_view AS SELECT * FROM {name};"
        f"CREATE TABLE {name}_parent (n int, k int);"
        f"CREATE TABLE {name}_child () INHERITS ({name}_parent);"
        f"INSERT INTO {name} SELECT n, n FROM generate_series(1, 30) n;"
        f"INSERT INTO {name}_parent SELECT n, n FROM generate_series(1, 15) n;"
        f"INSERT INTO {name}_child SELECT n, n FROM generate_series(16, 30) n"
    )
    try:
        for table in (name, f"{name}_view", f"{name}_parent"):
            assert read_in_parts(dsn, table, "k") == list(range(1, 31)), table
            if table == f"{name}_view":
                with pytest.raises(colonnade.InterfaceError, match="partition_by"):
                    parallel.sync.read(table, dsn, parts=3)
            else:
                found = parallel.sync.read(table, dsn, parts=3).to_pydict()
                assert sorted(found["n"]) == list(range(1, 31)), table
    finally:
        link.execute(f"DROP TABLE {name}_child, {name}_parent; DROP VIEW {name}_view")


def test_names_that_differ_by_case(link: colonnade.sync.Connection, name: str) -> None:
    """duckdb/duckdb-postgres#111: COL and col are two columns."""
    frame = pl.DataFrame({"COL": [1], "col": [2]})
    colonnade.write_table(frame, name, link)
    assert dict(link.fetch(f"SELECT * FROM {name}")[0]) == {"COL": 1, "col": 2}
    assert colonnade.read_sql(f"SELECT * FROM {name}", link, into="polars").equals(
        frame.cast(pl.Int64)
    )


def test_numbers_that_the_server_makes(link: colonnade.sync.Connection, name: str) -> None:
    """xataio/pgstream#753, TonicAI/condenser#40: values for an identity are kept."""
    link.execute(f"CREATE TABLE {name} (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)")
    frame = pa.table({"id": pa.array([7, 9], pa.int32()), "v": ["a", "b"]})
    colonnade.write_table(frame, name, link, if_exists="append")
    link.copy_columns_to_table(name, frame, on_conflict="update", conflict_columns="id")
    assert [tuple(row) for row in link.fetch(f"SELECT * FROM {name}")] == [(7, "a"), (9, "b")]


def test_columns_that_the_server_computes(link: colonnade.sync.Connection, name: str) -> None:
    """dimitri/pgcopydb#496, TonicAI/condenser#41: left out; given, they are the server's error."""
    link.execute(f"CREATE TABLE {name} (a int, b int GENERATED ALWAYS AS (a * 2) STORED)")
    colonnade.write_table({"a": [1]}, name, link, if_exists="append")
    link.copy_records_to_table(name, records=[(2,)])
    assert [tuple(row) for row in link.fetch(f"SELECT * FROM {name}")] == [(1, 2), (2, 4)]
    with pytest.raises(PostgresError, match="generated column"):
        colonnade.write_table({"a": [1], "b": [2]}, name, link, if_exists="append")


def test_appending_makes_the_table(link: colonnade.sync.Connection, name: str) -> None:
    """pola-rs/polars#26906, #24117: in the schema that is named, and again in the same one."""
    link.execute("DROP SCHEMA IF EXISTS elsewhere CASCADE; CREATE SCHEMA elsewhere")
    for _ in range(2):
        frame = pl.DataFrame({"a": [1]})
        colonnade.write_table(frame, name, link, if_exists="append", schema_name="elsewhere")
    assert link.fetchval(f"SELECT count(*) FROM elsewhere.{name}") == 2
    assert link.fetchval("SELECT to_regclass($1)::oid", name) is None
    link.execute("DROP SCHEMA elsewhere CASCADE")


def test_columns_of_nothing(link: colonnade.sync.Connection) -> None:
    """pola-rs/polars#15978, #15683, #13048: a column of NULLs has the type of the server."""
    found = colonnade.read_sql("SELECT NULL::int AS a, NULL::date AS b", link, into="polars")
    assert found.dtypes == [pl.Int32, pl.Date]


def test_rows_of_a_table_as_a_parameter(link: colonnade.sync.Connection, name: str) -> None:
    """MagicStack/asyncpg#33, #710: `unnest($1::table[])` takes tuples."""
    link.execute(f"CREATE TABLE {name} (n int, t text)")
    link.execute(f"INSERT INTO {name} SELECT * FROM unnest($1::{name}[])", [(1, "a"), (2, None)])
    assert [tuple(row) for row in link.fetch(f"SELECT * FROM {name}")] == [(1, "a"), (2, None)]


def test_complex_numbers(link: colonnade.sync.Connection) -> None:
    """MagicStack/asyncpg#1060, psycopg/psycopg#624: a codec of tuples for a composite."""
    link.execute("DROP TYPE IF EXISTS z; CREATE TYPE z AS (r float8, i float8)")
    link.set_type_codec(
        "z",
        encoder=lambda value: (value.real, value.imag),
        decoder=lambda parts: complex(*parts),
        format="tuple",
    )
    assert link.fetchval("SELECT $1::z", 1 - 2j) == 1 - 2j
    assert link.fetchval("SELECT $1::z[]", [1j, None]) == [1j, None]
    link.execute("DROP TYPE z")


def test_a_codec_of_char(link: colonnade.sync.Connection) -> None:
    """MagicStack/asyncpg#617, sqlalchemy/sqlalchemy#5586: look-ups of types still work."""
    link.set_type_codec(
        "char", schema="pg_catalog", encoder=lambda c: c, decoder=lambda c: f"<{c}>", format="text"
    )
    link.execute("DROP TYPE IF EXISTS looked_up; CREATE TYPE looked_up AS ENUM ('x')")
    assert link.fetchval("SELECT ARRAY['x']::looked_up[]") == ["x"]
    assert link.fetchval("""SELECT 'a'::"char" """) == "<a>"
    link.execute("DROP TYPE looked_up")


def test_codecs_of_json(link: colonnade.sync.Connection) -> None:
    """MagicStack/asyncpg#140, #440, #604, #623: null, in arrays, and by COPY of records."""
    import json

    for kind in ("json", "jsonb"):
        link.set_type_codec(kind, schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
        assert link.fetchval(f"SELECT $1::{kind}", {"a": None}) == {"a": None}
        assert link.fetchval(f"SELECT $1::{kind}[]", [{"a": 1}, None]) == [{"a": 1}, None]
        assert link.fetchval(f"SELECT 'null'::{kind}") is None
    link.execute("CREATE TEMP TABLE documents (v jsonb)")
    link.copy_records_to_table("documents", records=[({"a": 1},), (None,)])
    assert [row[0] for row in link.fetch("SELECT v FROM documents")] == [{"a": 1}, None]


def test_texts_of_extensions(link: colonnade.sync.Connection) -> None:
    """MagicStack/asyncpg#82, #22: arrays of citext, ltree and hstore."""
    values = {"citext": "aB", "ltree": "a.b", "hstore": '"a"=>"1"'}
    for kind, text in values.items():
        try:
            link.execute(f"CREATE EXTENSION IF NOT EXISTS {kind}")
        except PostgresError:
            continue
        assert link.fetchval(f"SELECT $1::{kind}[]", [text, None]) == [text, None]


def test_tables_whose_names_are_cut(link: colonnade.sync.Connection) -> None:
    """palantir/atlasdb#1092, dbt-labs/dbt-core#2197, TobikoData/sqlmesh#4082: refused by name."""
    frame = pa.table({"a": [1]})
    for each in (f"{LONG}_2023", "\u0436" * 32):
        with pytest.raises((colonnade.InterfaceError, ValueError), match="63"):
            colonnade.write_table(frame, each, link)
    assert link.fetchval("SELECT to_regclass($1)::oid", LONG) is None


def test_columns_whose_names_are_cut(link: colonnade.sync.Connection, name: str) -> None:
    """dimitri/pgloader#1749, #353: refused by name, and no table is made."""
    with pytest.raises((colonnade.InterfaceError, ValueError), match="63"):
        colonnade.write_table({"a" * 70: [1]}, name, link)
    assert link.fetchval("SELECT to_regclass($1)::oid", name) is None


def test_a_semicolon_at_the_end(dsn: str) -> None:
    """sfu-db/connector-x#330, #575: as `read_sql` takes it."""
    found = parallel.sync.read(
        "SELECT generate_series(1, 5) AS n;", dsn, parts=2, partition_by="n"
    ).to_pydict()
    assert sorted(found["n"]) == [1, 2, 3, 4, 5]


def test_an_identity_beside_the_key(link: colonnade.sync.Connection, name: str) -> None:
    """dimitri/pgcopydb#844, #941: an upsert leaves it as it is."""
    link.execute(
        f"CREATE TABLE {name} (id int GENERATED ALWAYS AS IDENTITY, k int PRIMARY KEY, v text)"
    )
    link.execute(f"INSERT INTO {name} (k, v) VALUES (1, 'a')")
    rows = link.fetch_columns(f"SELECT id, k, v || '!' AS v FROM {name}")
    link.copy_columns_to_table(name, rows, on_conflict="update", conflict_columns="k")
    assert tuple(link.fetch(f"SELECT * FROM {name}")[0]) == (1, 1, "a!")


def test_an_updatable_view(link: colonnade.sync.Connection, name: str) -> None:
    """xataio/pgroll#729, CrunchyData/pg_parquet#45: written into, or told how."""
    link.execute(f"CREATE TABLE {name} (a int); CREATE VIEW {name}_view AS SELECT * FROM {name}")
    try:
        colonnade.write_table({"a": [1]}, f"{name}_view", link, if_exists="append")
    except colonnade.PostgresError as error:
        assert "on_conflict" in "".join(error.__notes__)  # noqa: PT017
    else:
        assert link.fetchval(f"SELECT count(*) FROM {name}") == 1


def test_the_last_words_of_the_server(link: colonnade.sync.Connection, socket_dsn: str) -> None:
    """coleifer/peewee#444, psycopg/psycopg2#764: the reason, over a Unix socket too."""
    with colonnade.sync.connect(socket_dsn) as other:
        link.execute("SELECT pg_terminate_backend($1, 5000)", other.get_server_pid())
        with pytest.raises(colonnade.PostgresError, match="terminating connection"):
            other.execute("SELECT 1")


def test_many_rows_of_adbc(dsn: str) -> None:
    """apache/arrow-adbc#3319, varied: `execute` with a table of three rows runs three times."""
    import adbc_driver_postgresql.dbapi as peer

    from colonnade import adbc

    rows = pa.table({"n": [1, 2, 3]})
    for connect in (adbc.connect, peer.connect):
        with connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE three (n int8)")
            cursor.execute("INSERT INTO three VALUES ($1)", rows)
            cursor.execute("SELECT count(*) FROM three")
            assert cursor.fetchone() == (3,)


def test_integers_of_128_bits(link: colonnade.sync.Connection, name: str) -> None:
    """pola-rs/polars: Int128 is refused by its name, or stored as numeric."""
    frame = pl.DataFrame({"v": [2**100]}, {"v": pl.Int128})
    with pytest.raises((colonnade.InterfaceError, colonnade.DataError)) as told:
        colonnade.write_table(frame, name, link)
    assert "faulty" not in str(told.value)

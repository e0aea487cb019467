"""Names that the server would cut are refused in every door, before anything is sent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa
import pytest

import colonnade
from colonnade import connect, datasets, dbapi, incremental, parallel, sync
from colonnade._driver.sql.quoting import quote_identifier
from colonnade.errors import InterfaceError
from colonnade.jobs.sync import create_queue
from tests.cli.program import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEPT = "m" * 63
LONG = [KEPT + "_2024", "ж" * 32]
FRAME = pa.table({"a": [1]})
CUT = "would cut it to 63"


@pytest.fixture
def conn(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        # Where a name is cut, this table is met.
        connection.execute(f"DROP TABLE IF EXISTS {KEPT}; CREATE TABLE {KEPT} (a int8)")
        yield connection
        connection.execute(f"DROP TABLE {KEPT}")


DOORS: list[Callable[[sync.Connection, str], Any]] = [
    lambda conn, name: colonnade.write_table(FRAME, name, conn, if_exists="replace"),
    lambda conn, name: colonnade.write_table(FRAME, name, conn, if_exists="append"),
    lambda conn, name: colonnade.write_table(FRAME, name, conn, if_exists="truncate"),
    lambda conn, name: colonnade.write_table(FRAME, "x", conn, schema_name=name),
    lambda conn, name: colonnade.write_table(FRAME.rename_columns([name]), "long_x", conn),
    lambda conn, name: conn.copy_columns_to_table(name, FRAME),
    lambda conn, name: conn.copy_columns_to_table(name, FRAME, create=True),
    lambda conn, name: conn.copy_records_to_table(name, records=[(1,)]),
    lambda conn, name: conn.copy_records_to_table(KEPT, records=[(1,)], columns=[name]),
    lambda conn, name: conn.copy_to_table(name, source=[b"1\n"]),
    lambda conn, name: conn.copy_from_table(name, output=lambda _: None),
    lambda conn, name: conn.prepare("SELECT 1", name=name),
    lambda conn, name: incremental.sync.read_new(name, conn, by="a"),
    lambda conn, name: incremental.sync.read_new(KEPT, conn, by=name),
    lambda _, name: incremental.tracking_sql(KEPT, by=name),
]


@pytest.mark.parametrize("name", LONG, ids=["ascii", "cyrillic"])
@pytest.mark.parametrize("door", DOORS)
def test_a_blocking_door(
    conn: sync.Connection, name: str, door: Callable[[sync.Connection, str], Any]
) -> None:
    statements: list[str] = []
    conn.add_query_logger(lambda record: statements.append(record.query))
    with pytest.raises((InterfaceError, ValueError), match=f"{CUT}|1 to 63 bytes"):
        door(conn, name)
    assert not [sql for sql in statements if name in sql]
    assert conn.fetchval(f"SELECT pg_catalog.count(*) FROM {KEPT}") == 0


@pytest.mark.parametrize("name", LONG, ids=["ascii", "cyrillic"])
def test_doors_with_a_dsn(dsn: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match=CUT):
        datasets.write(name, dsn, tmp_path / "out")
    for key in (None, "a"):
        with pytest.raises(InterfaceError, match=CUT):
            parallel.sync.read(name, dsn, partition_by=key)
    with dbapi.connect(dsn) as connection:
        with pytest.raises(dbapi.Error, match=CUT):
            connection.cursor(name)
        with pytest.raises(dbapi.Error, match=CUT):
            connection.cursor().callproc(name)
        with pytest.raises(dbapi.Error, match=CUT):
            connection.adbc_get_table_schema(name)
        with pytest.raises(dbapi.Error, match=CUT), connection.transaction(name):
            pass
    (tmp_path / "x.csv").write_text(f"a,{name}\n1,2\n")
    for words in (
        ("export", name, "-o", str(tmp_path / "x.parquet")),
        ("import", str(tmp_path / "x.csv"), name, "--create"),
        ("import", str(tmp_path / "x.csv"), "long_y", "--create"),
    ):
        done = run(dsn, *words)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
        assert CUT in done.stderr


async def test_async_doors(dsn: str) -> None:
    conn = await connect(dsn)
    with pytest.raises(InterfaceError, match=CUT):
        await conn.copy_records_to_table(LONG[0], records=[(1,)])
    with pytest.raises(InterfaceError, match=CUT):
        await conn.prepare("SELECT 1", name=LONG[0])
    with pytest.raises(InterfaceError, match="1 to 63 bytes"):
        await conn.add_listener(LONG[0], print)
    await conn.close()


@pytest.mark.parametrize("layout", ["rows", "segments"])
def test_queues(dsn: str, layout: Any) -> None:
    """The longest name has room for the suffixes of all tables of a queue."""
    with sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        for schema, name, column in (
            ("s" * 64, "q", "a"),
            ("s", "q" * 59, "a"),
            ("s", "q", "a" * 64),
        ):
            with pytest.raises(ValueError, match="must have"):
                create_queue(pool, name, {column: "int8"}, schema=schema, layout=layout)
        name = "q" * (63 - len("_dead"))
        queue = create_queue(pool, name, {"a": "int8"}, schema=f"long_{layout}", layout=layout)
        assert queue.definition.name == name
        pool.execute(f"DROP SCHEMA long_{layout} CASCADE")


#: Let a database say that names have up to 127 bytes. Its server still cuts them to 63.
LIMIT_OF_127 = """
    SET allow_system_table_mods = on;
    ALTER FUNCTION pg_catalog.current_setting(text) RENAME TO current_setting_here;
    CREATE FUNCTION pg_catalog.current_setting(text) RETURNS text STABLE LANGUAGE sql AS
        $$ SELECT CASE $1 WHEN 'max_identifier_length' THEN '127'
            ELSE pg_catalog.current_setting_here($1) END $$;
"""


@pytest.fixture(scope="module")
def longer_dsn(dsn: str) -> Iterator[str]:
    """A database in which longer names are taken, as a server built for them would."""
    forget = "DROP DATABASE IF EXISTS of_long_names WITH (FORCE)"
    with sync.connect(dsn) as link:
        link.execute(forget)
        link.execute("CREATE DATABASE of_long_names")
        parts = urlsplit(dsn)
        made = urlunsplit(parts._replace(path="/of_long_names"))
        with sync.connect(made) as other:
            other.execute(LIMIT_OF_127)
        yield made
        link.execute(forget)


@pytest.fixture
def longer(longer_dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(longer_dsn) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {KEPT} (a int8)")
        yield connection


ON_A_SERVER: list[Callable[[sync.Connection, str], Any]] = [
    lambda conn, name: colonnade.write_table(FRAME, name, conn, if_exists="append"),
    lambda conn, name: colonnade.write_table(FRAME, name, conn, if_exists="replace"),
    lambda conn, name: colonnade.write_table(FRAME, "x", conn, schema_name=name),
    lambda conn, name: colonnade.write_table(
        FRAME.rename_columns([name]), "x", conn, if_exists="replace"
    ),
    lambda conn, name: conn.copy_columns_to_table(name, FRAME),
    lambda conn, name: conn.copy_columns_to_table(name, FRAME, create=True),
    lambda conn, name: conn.copy_records_to_table(name, records=[(1,)]),
    lambda conn, name: conn.copy_records_to_table(KEPT, records=[(1,)], columns=[name]),
    lambda conn, name: conn.copy_to_table(name, source=[b"1\n"]),
    lambda conn, name: conn.copy_from_table(name, output=lambda _: None),
]


@pytest.mark.parametrize("door", ON_A_SERVER)
def test_the_limit_is_the_servers(
    longer: sync.Connection, door: Callable[[sync.Connection, str], Any]
) -> None:
    """Names up to its limit are sent whole, and the next one is refused."""
    told: list[str] = []
    longer.add_log_listener(lambda _, message: told.append(str(message.as_dict())))
    with contextlib.suppress(colonnade.PostgresError, InterfaceError):
        door(longer, LONG[0])
    # This server cuts it, and says so.
    assert any(LONG[0] in text and "truncated" in text for text in told)
    for name in ("k" * 128, "ж" * 64):
        with pytest.raises(InterfaceError, match="would cut it to 127"):
            door(longer, name)


def test_the_limit_of_doors_with_a_dsn(longer_dsn: str, tmp_path: Path) -> None:
    with pytest.raises(colonnade.UndefinedTableError):
        datasets.write(LONG[1], longer_dsn, tmp_path / "out")
    with dbapi.connect(longer_dsn) as connection:
        with connection.transaction(LONG[0]):
            connection.cursor(LONG[0]).execute("SELECT 1")
        with pytest.raises(dbapi.Error, match="would cut it to 127"):
            connection.cursor("k" * 128)


async def test_the_limit_of_an_asynchronous_connection(longer_dsn: str) -> None:
    async with await connect(longer_dsn) as conn:
        statement = await conn.prepare("SELECT 1", name=LONG[0])
        assert statement.get_name() == LONG[0]
        heard: list[str] = []
        await conn.add_listener(LONG[0], lambda *heard_of: heard.append(str(heard_of[2])))
        await conn.remove_listener(LONG[0], print)
        for name in ("k" * 128, "ж" * 64):
            with pytest.raises(InterfaceError, match="1 to 127 bytes"):
                await conn.add_listener(name, print)


def test_usual_names_ask_nothing(conn: sync.Connection) -> None:
    asked: list[str] = []
    with conn.query_logger(lambda record: asked.append(record.query)):
        colonnade.write_table(FRAME, KEPT, conn, if_exists="append")
    assert not [query for query in asked if "max_identifier_length" in query]


def test_the_longest_name(conn: sync.Connection) -> None:
    for name in ("k" * 63, "ж" * 31 + "z"):
        colonnade.write_table(FRAME.rename_columns([name]), name, conn, if_exists="replace")
        assert conn.fetchval(f"SELECT {quote_identifier(name)} FROM {quote_identifier(name)}") == 1
        conn.execute(f"DROP TABLE {quote_identifier(name)}")

"""Programs written for psycopg's and asyncpg's dialects on ours, compared with psycopg."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import inspect
import subprocess
import sys
import traceback
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

import colonnade.dbapi
import colonnade.sync
from colonnade.sqlalchemy import column_types, dialect, fetch_columns, iter_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.ext.asyncio import AsyncEngine

    Within = Callable[..., Any]


@pytest.fixture
def peer(url: sa.URL) -> Iterator[sa.Engine]:
    """The same database through psycopg."""
    engine = sa.create_engine(url.set(drivername="postgresql+psycopg"))
    yield engine
    engine.dispose()


class Label(enum.Enum):
    FIRST = 1


class Word(enum.StrEnum):
    ONE = "one"


ODD_TEXTS: list[tuple[Any, Any]] = [
    (5, 6),
    (1, 2**40),
    (1, 2**70),
    (1.5, 5.0),
    (True, False),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
    (dt.date(2020, 1, 2), dt.date(2021, 1, 2)),
    (dt.datetime(2020, 1, 2, 3, 4), dt.datetime(2021, 1, 2)),
    (dt.timedelta(days=1, hours=2), dt.timedelta(0)),
    (decimal.Decimal("1.10"), decimal.Decimal("1E+3")),
    (decimal.Decimal("1.10"), None),
    (None, 7),
    (5, "x"),
    (1.5, decimal.Decimal("2.50")),
    (True, 2),
    (np.int64(5), np.int64(2**40)),
    (Word.ONE, "two"),
]


@pytest.mark.parametrize("values", ODD_TEXTS, ids=repr)
@pytest.mark.parametrize("options", [{}, {"isolation_level": "AUTOCOMMIT"}])
def test_many_rows_take_what_one_row_takes(
    within: Within, values: tuple[Any, Any], options: Any
) -> None:
    table = sa.Table(
        "odd_texts", sa.MetaData(), sa.Column("n", sa.Integer), sa.Column("a", sa.String)
    )

    def body(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TEMP TABLE odd_texts (n int, a varchar)"))
        for n, value in enumerate(values):
            connection.execute(table.insert(), {"n": n, "a": value})
        result = connection.execute(
            table.insert(), [{"n": n + 10, "a": value} for n, value in enumerate(values)]
        )
        assert result.rowcount == len(values)
        texts = connection.execute(sa.select(table.c.a).order_by(table.c.n)).scalars().all()
        assert texts[:2] == texts[2:]
        assert texts[0] == (None if values[0] is None else texts[0])

    within(body, **options)


ODD_VALUES: list[tuple[Any, list[Any]]] = [
    (sa.Integer(), [1.5, 2.0]),
    (sa.Integer(), ["1", "2"]),
    (sa.Integer(), [decimal.Decimal("2.5"), decimal.Decimal(1)]),
    (sa.Float(), [1, decimal.Decimal("1.5")]),
    (sa.Numeric(10, 2), ["1.5", 2, 2.5]),
    (sa.DateTime(), [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 2)]),
    (sa.DateTime(), ["2020-01-01", dt.date(2020, 1, 2)]),
    (sa.Date(), [dt.datetime(2020, 1, 1, 5), dt.date(2020, 1, 2)]),
]


@pytest.mark.parametrize(("kind", "values"), ODD_VALUES, ids=repr)
def test_many_rows_of_other_types_take_what_one_row_takes(
    within: Within, kind: Any, values: list[Any]
) -> None:
    table = sa.Table("odd", sa.MetaData(), sa.Column("n", sa.Integer), sa.Column("a", kind))

    def body(connection: sa.Connection) -> None:
        sql_type = kind.compile(connection.dialect)
        connection.execute(sa.text(f"CREATE TEMP TABLE odd (n int, a {sql_type})"))
        for n, value in enumerate(values):
            connection.execute(table.insert(), {"n": n, "a": value})
        many = [{"n": n + 10, "a": value} for n, value in enumerate(values)]
        connection.execute(table.insert(), many)
        rows = connection.execute(sa.select(table.c.a).order_by(table.c.n)).scalars().all()
        assert rows[: len(values)] == rows[len(values) :]

    within(body)


def test_frames_of_other_libraries_go_into_text(engine: sa.Engine, peer: sa.Engine) -> None:
    frame = pl.DataFrame({"d": [decimal.Decimal("1.10"), None], "n": [1, 2]})
    pandas_frame = pd.DataFrame({"A": [0.8, 0.9], "B": [1, 2]})
    texts = []
    for one in (engine, peer):
        frame.write_database("frame_texts", one, if_table_exists="replace")
        pandas_frame.to_sql("pandas_texts", one, dtype={"B": sa.TEXT}, if_exists="replace")
        with one.connect() as connection:
            rows = connection.execute(sa.text("SELECT d::text, n FROM frame_texts ORDER BY n"))
            more = connection.execute(sa.text('SELECT "B" FROM pandas_texts ORDER BY index'))
            texts.append((rows.all(), more.all()))
    assert texts[0] == texts[1]
    assert texts[0][1] == [("1",), ("2",)]
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE frame_texts; DROP TABLE pandas_texts"))


def test_a_cursor_is_a_context_manager(within: Within, engine: sa.Engine) -> None:
    def body(connection: sa.Connection) -> None:
        adapted: Any = connection.connection
        with adapted.cursor() as cursor:
            cursor.execute("SELECT generate_series(1, 3)")
            assert cursor.fetchone() == (1,)
        assert cursor.fetchone() is None
        assert connection.execute(sa.text("SELECT 2")).scalar() == 2

    within(body)
    frame = pd.DataFrame({"a": [1, 2]})

    def by_cursor(table: Any, connection: Any, keys: list[str], rows: Any) -> None:
        with connection.connection.cursor() as cursor:
            names = ", ".join(f'"{key}"' for key in keys)
            cursor.executemany(f"INSERT INTO {table.name} ({names}) VALUES ($1)", list(rows))

    frame.to_sql("by_cursor", engine, index=False, if_exists="replace", method=by_cursor)
    with engine.begin() as connection:
        assert connection.execute(sa.text("SELECT sum(a) FROM by_cursor")).scalar() == 3
        connection.execute(sa.text("DROP TABLE by_cursor"))


SCRIPTS = [
    "SELECT 1 AS a; SELECT 2 AS b",
    "CREATE TEMP TABLE x (a int); INSERT INTO x VALUES (1), (2); SELECT * FROM x",
    "CREATE TEMP TABLE x (a int); INSERT INTO x VALUES (1), (2)",
    "SELECT 1 AS a; CREATE TEMP TABLE x (a int)",
    "SELECT ';' AS a; -- a comment; of two\n SELECT 2;;",
    "DO $$ BEGIN PERFORM 1; END $$; SELECT 7",
    "VALUES (1), (2); SELECT 3;",
    "SELECT 1;",
    ";",
]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("as_text", [True, False])
def test_several_statements_give_the_first_result(
    within: Within, peer: sa.Engine, script: str, as_text: bool
) -> None:
    def told(connection: sa.Connection) -> Any:
        if as_text:
            result = connection.execute(sa.text(script))
        else:
            result = connection.exec_driver_sql(script)
        rows = result.all() if result.returns_rows else None
        keys = list(result.keys()) if result.returns_rows else None
        # The transaction continues.
        made = "SELECT to_regclass('pg_temp.x') IS NOT NULL"
        return keys, rows, connection.execute(sa.text(made)).scalar()

    with peer.connect() as connection:
        wanted = told(connection)
    assert within(told) == wanted


def test_several_statements_are_undone_together(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        with pytest.raises(sa.exc.DataError, match="division by zero"):
            connection.execute(sa.text("CREATE TABLE undone (a int); SELECT 1/0; SELECT 2"))
        connection.rollback()
        query = sa.text("SELECT to_regclass('undone')")
        assert connection.execute(query).scalar() is None
        connection.execute(sa.text("CREATE TABLE undone (a int); SELECT 2"))
        connection.rollback()
        assert connection.execute(query).scalar() is None

    within(body)


def test_several_statements_in_autocommit_are_one_transaction(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        with pytest.raises(sa.exc.DataError):
            connection.execute(sa.text("CREATE TABLE undone (a int); SELECT 1/0"))
        query = sa.text("SELECT to_regclass('undone')")
        assert connection.execute(query).scalar() is None
        result = connection.execute(sa.text("SELECT 1; SELECT 2"))
        assert not result.returns_rows

    within(body, isolation_level="AUTOCOMMIT")


def test_statements_know_what_a_script_has_altered(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TEMP TABLE altered (a int)"))
        query = sa.text("SELECT * FROM altered")
        assert list(connection.execute(query).keys()) == ["a"]
        connection.execute(sa.text("ALTER TABLE altered ADD b int; SELECT 1"))
        assert list(connection.execute(query).keys()) == ["a", "b"]

    within(body)


def test_errors_have_psycopg2s_names(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        raised: pytest.ExceptionInfo[sa.exc.DBAPIError]
        with pytest.raises(sa.exc.IntegrityError) as raised:
            connection.execute(sa.text("DO 'BEGIN RAISE unique_violation; END'"))
        original: Any = raised.value.orig
        assert original.pgcode == original.sqlstate == original.diag.sqlstate == "23505"
        assert original.pgerror.startswith("ERROR:  unique_violation")
        connection.rollback()
        with pytest.raises(sa.exc.DBAPIError) as raised:
            connection.execute(sa.text("SELECT CAST(:a AS int)"), {"a": object()})
        original = raised.value.orig
        assert (original.pgcode, original.pgerror) == (None, None)

    within(body)
    assert colonnade.dbapi.Error().pgcode is None


class TextVector(sa.types.UserDefinedType[list[float]]):
    """A type like that of pgvector's package: text in both directions."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return f"{self.name}(3)"

    def bind_processor(self, dialect: Any) -> Any:
        del dialect
        return lambda value: f"[{','.join(map(str, value))}]"

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        del dialect, coltype
        return lambda value: [float(number) for number in value[1:-1].split(",")]


@pytest.mark.parametrize("name", ["vector", "halfvec"])
def test_types_that_read_text(within: Within, engine: sa.Engine, name: str) -> None:
    with engine.begin() as connection:
        query = sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")
        if not connection.execute(query).scalar():
            pytest.skip("the server does not have the extension")
        connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS vector"))
    table = sa.Table(
        "vectors", sa.MetaData(), sa.Column("n", sa.Integer), sa.Column("v", TextVector(name))
    )

    def body(connection: sa.Connection) -> None:
        connection.execute(sa.text(f"CREATE TEMP TABLE vectors (n int, v {name}(3))"))
        connection.execute(table.insert(), {"n": 1, "v": [1, 2, 3]})
        connection.execute(table.insert(), [{"n": n, "v": [n, 2, 3.5]} for n in (2, 3)])
        rows = connection.execute(sa.select(table.c.v).order_by(table.c.n)).scalars().all()
        assert rows == [[1, 2, 3], [2, 2, 3.5], [3, 2, 3.5]]
        near = sa.select(table.c.n).order_by(table.c.v.op("<->")([3, 2, 3])).limit(1)
        assert connection.execute(near).scalar() == 3
        assert fetch_columns(connection, sa.select(table.c.v))["v"].shape == (3, 3)

    within(body)


@pytest.mark.parametrize("extension_types", ["false", "true"])
def test_hstore_both_ways(within: Within, url: sa.URL, extension_types: str) -> None:
    table = sa.Table("maps", sa.MetaData(), sa.Column("h", pg.HSTORE))
    lists = sa.Table("lists", sa.MetaData(), sa.Column("h", pg.ARRAY(pg.HSTORE)))
    value = {"a": "1", "none": None, 'q"': "\\"}

    def body(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TEMP TABLE maps (h hstore)"))
        connection.execute(sa.text("CREATE TEMP TABLE lists (h hstore[])"))
        connection.execute(table.insert(), {"h": value})
        connection.execute(table.insert(), [{"h": value}, {"h": None}])
        connection.execute(lists.insert(), {"h": [value, None]})
        rows = connection.execute(sa.select(table.c.h)).scalars().all()
        assert rows == [value, value, None]
        found = sa.select(table.c.h["a"]).where(table.c.h.contains({"a": "1"}))
        assert connection.execute(found).scalars().all() == ["1", "1"]
        assert connection.execute(sa.select(lists.c.h)).scalars().all() == [[value, None]]
        plain = connection.execute(sa.text("SELECT 'a=>1'::hstore")).scalar()
        assert plain == ({"a": "1"} if extension_types == "true" else '"a"=>"1"')

    within(body, url=url.update_query_dict({"extension_types": extension_types}))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("extension_types", "true or false"),
        ("naive_datetimes", "local or refuse"),
        ("statement_cache_size", "a whole number"),
        ("command_timeout", "a number of seconds"),
    ],
)
def test_an_argument_in_a_url_is_checked(url: sa.URL, name: str, expected: str) -> None:
    given = url.update_query_dict({name: "s3cret"})
    with pytest.raises(sa.exc.ArgumentError, match=f"{name} must be {expected}") as caught:
        sa.create_engine(given)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_a_url_has_every_argument_that_is_no_word_of_a_dsn() -> None:
    arguments = inspect.signature(colonnade.sync.connect).parameters.values()
    plain = {
        argument.name
        for argument in arguments
        if argument.annotation.startswith(("int", "float", "bool", "Literal"))
    }
    # The first has hosts' ports, and sslnegotiation is the word of the second.
    assert plain - {"port", "direct_tls"} == dialect._ARGUMENTS.keys()


@pytest.mark.parametrize("part", ["database", "username"])
def test_a_password_pasted_into_a_name_is_not_sent(url: sa.URL, part: str) -> None:
    for pasted in ("x PGPASSWORD=s3cret", "x password = s3cret", "two words s3cret"):
        in_database = part == "database"
        given = url.set(database=pasted) if in_database else url.set(username=pasted)
        with pytest.raises(sa.exc.DBAPIError) as caught:
            sa.create_engine(given).connect()
        notes = getattr(caught.value.orig, "__notes__", [])
        assert "s3cret" not in "".join(notes)
        if "=" in pasted:
            assert "s3cret" not in str(caught.value)


AS_ASYNCPG = """
import colonnade; colonnade.install_as_asyncpg()
import asyncio, sys
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import HSTORE
from sqlalchemy.ext.asyncio import create_async_engine
import asyncpg

async def main(url):
    engine = create_async_engine(url)
    t = sa.Table("maps", sa.MetaData(), sa.Column("h", HSTORE))
    async with engine.connect() as c:
        await c.execute(sa.text("CREATE TEMP TABLE maps (h hstore)"))
        await c.execute(t.insert(), {"h": {"a": "1", "b": None}})
        await c.execute(t.insert(), [{"h": {"a": "2"}}, {"h": None}])
        rows = (await c.execute(sa.select(t.c.h))).scalars().all()
        assert rows == [{"a": "1", "b": None}, {"a": "2"}, None], rows
        found = sa.select(t.c.h["a"]).where(t.c.h.contains({"a": "2"}))
        assert (await c.execute(found)).scalars().all() == ["2"]
        driver = (await c.get_raw_connection()).driver_connection
        assert await driver.fetchval("SELECT $1::hstore", "a=>1") == '"a"=>"1"'
        words = dict(schema="public", codec_name="pg_contrib.hstore")
        await driver.set_builtin_type_codec("hstore", **words)
        assert await driver.fetchval("SELECT $1::hstore", {"a": "1"}) == {"a": "1"}
    await engine.dispose()

asyncio.run(main(sys.argv[1]))
"""


def test_asyncpgs_dialect_has_hstore(url: sa.URL) -> None:
    given = url.set(drivername="postgresql+asyncpg").render_as_string(hide_password=False)
    subprocess.run([sys.executable, "-c", AS_ASYNCPG, given], check=True, timeout=60)


class Money(sa.types.TypeDecorator[Any]):
    impl = sa.Numeric(12, 2)
    cache_ok = True


class Moods(sa.types.TypeDecorator[Any]):
    impl = sa.Enum(Label, name="other_drivers_label")
    cache_ok = True


GENERIC: dict[str, tuple[Any, Any, str | None]] = {
    "interval": (sa.Interval(), dt.timedelta(days=1, seconds=2), None),
    "uuid": (sa.Uuid(), uuid.UUID(int=7), "fixed_size_binary[16]"),
    "uuid_text": (sa.Uuid(as_uuid=False), str(uuid.UUID(int=7)), "fixed_size_binary[16]"),
    "uuid_char": (sa.Uuid(native_uuid=False), uuid.UUID(int=7), "utf8"),
    "label": (sa.Enum(Label, native_enum=False), Label.FIRST, "dictionary<int32, utf8>"),
    "native": (sa.Enum(Label, name="other_drivers_label"), Label.FIRST, "dictionary<int32, utf8>"),
    "decorated": (Moods(), Label.FIRST, "dictionary<int32, utf8>"),
    "pickle": (sa.PickleType(), {"a": 1}, "binary"),
    "money": (Money(), decimal.Decimal("1.50"), "decimal128(12, 2)"),
    "truth": (sa.Boolean(create_constraint=True), True, "bool"),
    "small": (sa.SmallInteger(), 1, "int16"),
    "int": (sa.Integer(), 1, "int32"),
    "big": (sa.BigInteger(), 1, "int64"),
    "float": (sa.Float(), 1.5, "float64"),
    "float_exact": (sa.Float(asdecimal=True), decimal.Decimal("1.5"), None),
    "double": (sa.Double(), 1.5, "float64"),
    "numeric": (sa.Numeric(), decimal.Decimal("1.5"), None),
    "numeric_float": (sa.Numeric(asdecimal=False), 1.5, "float64"),
    "date": (sa.Date(), dt.date(2020, 1, 1), "date32"),
    "time": (sa.Time(), dt.time(1), "time64[us]"),
    "timetz": (sa.Time(timezone=True), dt.time(1, tzinfo=dt.UTC), None),
    "moment": (sa.DateTime(), dt.datetime(2020, 1, 1), "timestamp[us]"),
    "zoned": (
        sa.DateTime(timezone=True),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "timestamp[us, UTC]",
    ),
    "text": (sa.Text(), "a", "utf8"),
    "unicode": (sa.Unicode(9), "a", "utf8"),
    "unicode_text": (sa.UnicodeText(), "a", "utf8"),
    "bytes": (sa.LargeBinary(), b"a", "binary"),
    "json": (sa.JSON(), {"a": 1}, None),
    "array": (sa.ARRAY(sa.Integer), [1], None),
    "variant": (
        sa.String().with_variant(sa.SmallInteger(), "postgresql"),
        1,
        "int16",
    ),
    "hstore": (pg.HSTORE(), {"a": "1"}, None),
    "citext": (pg.CITEXT(), "a", None),
    "inet": (pg.INET(), "10.0.0.1", None),
    "bit": (pg.BIT(1), "1", None),
}


def test_column_types_fit_every_type(within: Within, engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    columns = [sa.Column(name, kind) for name, (kind, _, _) in GENERIC.items()]
    table = sa.Table("generic_types", metadata, *columns)
    metadata.drop_all(engine)
    metadata.create_all(engine)
    schema = column_types(sa.select(table))
    assert schema == {name: want for name, (_, _, want) in GENERIC.items() if want is not None}

    def body(connection: sa.Connection) -> None:
        values = {name: value for name, (_, value, _) in GENERIC.items()}
        connection.execute(table.insert(), [values, dict.fromkeys(values)])
        for select in (sa.select(table), sa.select(table).where(sa.false())):
            columns = fetch_columns(connection, select, schema=schema)
            assert set(columns.names) == set(GENERIC)
        connection.rollback()

    within(body)
    metadata.drop_all(engine)


def test_an_engine_is_no_connection(engine: sa.Engine, async_engine: AsyncEngine) -> None:
    one: Any = engine
    for fetch in (fetch_columns, lambda *args: next(iter_columns(*args))):
        with pytest.raises(TypeError, match=r"not Engine: with engine\.connect"):
            fetch(one, sa.select(sa.literal(1)))
    other: Any = async_engine
    with pytest.raises(TypeError, match=r"not AsyncEngine: async with engine\.connect"):
        fetch_columns(other, sa.select(sa.literal(1)))


@pytest.mark.parametrize("driver", ["colonnade", "psycopg"])
def test_sqlalchemy_s_pool_resets_no_role(url: sa.URL, driver: str) -> None:
    """With every driver, as the page about pools says."""
    engine = sa.create_engine(url.set(drivername=f"postgresql+{driver}"), pool_size=1)
    with engine.connect() as connection:
        connection.execute(sa.text("SET ROLE pg_monitor"))
        connection.commit()
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT current_user::text")) == "pg_monitor"
    engine.dispose()

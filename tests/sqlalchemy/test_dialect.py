"""The dialect, on blocking and on asyncio connections."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import enum
import ipaddress
import logging
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

import colonnade
import colonnade.sync
from colonnade.sqlalchemy import ColonnadeAsyncDialect

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

Within = Callable[..., Any]


class Mood(enum.Enum):
    HAPPY = 1
    GLUM = 2


@pytest.fixture
def metadata(engine: sa.Engine) -> Iterator[sa.MetaData]:
    """A `MetaData` whose tables are dropped after the test."""
    metadata = sa.MetaData()
    yield metadata
    metadata.drop_all(engine)


def made(engine: sa.Engine, metadata: sa.MetaData, *columns: Any) -> sa.Table:
    table = sa.Table("dialect_table", metadata, *columns)
    metadata.drop_all(engine)
    metadata.create_all(engine)
    return table


def test_one_url_serves_both_engines(engine: sa.Engine, async_engine: AsyncEngine) -> None:
    assert engine.url == async_engine.url
    assert not engine.dialect.is_async
    assert isinstance(async_engine.dialect, ColonnadeAsyncDialect)


def test_the_drivers_connection_is_colonnades(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, colonnade.sync.Connection)
        assert driver.fetchval("SELECT 1") == 1


async def test_the_drivers_connection_is_colonnades_in_a_loop(async_engine: AsyncEngine) -> None:
    async with async_engine.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert isinstance(driver, colonnade.Connection)
        assert await driver.fetchval("SELECT 1") == 1


VALUES: list[tuple[Any, Any]] = [
    (sa.Boolean(), True),
    (sa.SmallInteger(), -3),
    (sa.Integer(), 7),
    (sa.BigInteger(), 2**40),
    (sa.Numeric(12, 3), decimal.Decimal("1.250")),
    (sa.Numeric(12, 3, asdecimal=False), 1.25),
    (sa.Float(), 1.5),
    (sa.Float(asdecimal=True), decimal.Decimal("1.5")),
    (sa.String(40), "text 'with' \"quotes\" % and $1"),
    (sa.LargeBinary(), b"\x00\xff"),
    (sa.Date(), dt.date(2020, 2, 29)),
    (sa.Time(), dt.time(1, 2, 3, 4)),
    (sa.DateTime(), dt.datetime(2020, 1, 2, 3, 4, 5, 6)),
    (sa.DateTime(timezone=True), dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)),
    (sa.Interval(), dt.timedelta(days=2, seconds=3)),
    (sa.Uuid(), uuid.UUID(int=5)),
    (sa.Uuid(as_uuid=False), str(uuid.UUID(int=5))),
    (sa.Enum(Mood), Mood.GLUM),
    (sa.JSON(), {"a": [1, None, "x"]}),
    (pg.JSONB(), [1, {"b": 2.5}]),
    (pg.ARRAY(sa.Integer), [1, None, 3]),
    (pg.ARRAY(sa.Text, dimensions=2), [["a", "b"], ["c", "d,e"]]),
    (pg.ARRAY(sa.Enum(Mood)), [Mood.HAPPY, Mood.GLUM]),
    (pg.HSTORE(), {"k": "v", "none": None}),
    (pg.INET(), ipaddress.ip_address("10.0.0.1")),
    (pg.CIDR(), ipaddress.ip_network("10.0.0.0/8")),
    (pg.MACADDR(), "08:00:2b:01:02:03"),
    (pg.CITEXT(), "Text"),
    (pg.BIT(5), "01011"),
    (pg.BIT(varying=True), "010"),
    (pg.INT4RANGE(), pg.Range(1, 5)),
    (pg.INT4RANGE(), pg.Range(empty=True)),
    (pg.NUMRANGE(), pg.Range(decimal.Decimal(1), None, bounds="(]")),
    (pg.DATERANGE(), pg.Range(None, dt.date(2020, 1, 1))),
    (pg.INT8MULTIRANGE(), [pg.Range(1, 3), pg.Range(5, 7)]),
    (pg.TSVECTOR(), "'a' 'fat'"),
    (pg.OID(), 4_000_000_000),
    (pg.REGCLASS(), "pg_class"),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda it: repr(it)[:40])
def test_values_go_there_and_back(
    kind: Any, value: Any, within: Within, engine: sa.Engine, metadata: sa.MetaData
) -> None:
    table = made(engine, metadata, sa.Column("id", sa.Integer), sa.Column("value", kind))

    def body(connection: sa.Connection) -> None:
        connection.execute(table.insert(), {"id": 1, "value": value})
        connection.execute(table.insert(), [{"id": 2, "value": value}, {"id": 3, "value": None}])
        rows = connection.execute(sa.select(table.c.value).order_by(table.c.id)).scalars().all()
        assert rows == [value, value, None]
        assert {type(row) for row in rows[:2]} <= {type(value), type(rows[0])}

    within(body)


def test_rows_are_handed_over_as_they_came(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        result = connection.execute(sa.text("SELECT 1 AS a, 'x' AS b"))
        assert result.cursor is not None
        rows = result.cursor.fetchall()
        assert rows == [(1, "x")]
        assert type(rows[0]) is tuple

    within(body)


@pytest.mark.parametrize(
    "value",
    [5, 2**40, 2**70, 1.5, True, decimal.Decimal("1.50"), dt.date(2020, 1, 1), uuid.UUID(int=1)],
    ids=repr,
)
def test_a_value_that_nothing_says_the_type_of_has_its_own(value: Any, within: Within) -> None:
    assert within(lambda it: it.scalar(sa.text("SELECT :value"), {"value": value})) == value


def test_text_is_read_by_the_server(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        found = connection.scalar(sa.text("SELECT date '2020-01-02' = :day"), {"day": "2020-01-02"})
        assert found is True

    within(body)


def test_json_is_parsed_in_statements_of_text_too(within: Within) -> None:
    statement = sa.text("SELECT CAST(:text AS jsonb), CAST(NULL AS json)")
    found = within(lambda it: it.execute(statement, {"text": '{"a": 1}'}).one())
    assert found == ({"a": 1}, None)
    parsed = within(
        lambda it: it.scalar(sa.text("SELECT '[1]'::json")), json_deserializer=lambda text: text * 2
    )
    assert parsed == "[1][1]"


def test_addresses_as_text(within: Within) -> None:
    statement = sa.text("SELECT inet '10.0.0.1', cidr '::ffff:1.2.3.0/120'")
    found = within(lambda it: it.execute(statement).one(), native_inet_types=False)
    assert found == ("10.0.0.1", "::ffff:1.2.3.0/120")


def test_many_sets_of_parameters(within: Within, engine: sa.Engine, metadata: sa.MetaData) -> None:
    table = made(engine, metadata, sa.Column("n", sa.Integer), sa.Column("name", sa.Text))
    rows = [{"n": n, "name": f"row {n}"} for n in range(2500)]

    def body(connection: sa.Connection) -> None:
        connection.execute(table.insert(), rows)
        returned = connection.execute(table.insert().returning(table.c.n), rows)
        assert sorted(returned.scalars()) == list(range(2500))
        changed = connection.execute(
            table.update().where(table.c.n == sa.bindparam("which")).values(name="new"),
            [{"which": 1}, {"which": 2}],
        )
        assert changed.rowcount == 4
        count = sa.select(sa.func.count()).select_from(table)
        assert connection.scalar(count) == 5000
        assert connection.scalar(count.where(table.c.name == "new")) == 4
        deleted = connection.execute(table.delete().where(table.c.n < 10))
        assert deleted.rowcount == 20

    within(body)


# Transactions


def test_a_transaction_is_begun_and_ended(
    within: Within, engine: sa.Engine, metadata: sa.MetaData
) -> None:
    table = made(engine, metadata, sa.Column("n", sa.Integer))
    count = sa.select(sa.func.count()).select_from(table)

    def body(connection: sa.Connection) -> None:
        connection.execute(table.insert(), {"n": 1})
        with engine.connect() as other:
            assert other.scalar(count) == 0
        connection.rollback()
        connection.execute(table.insert(), {"n": 2})
        with connection.begin_nested() as savepoint:
            connection.execute(table.insert(), {"n": 3})
            savepoint.rollback()
        connection.commit()
        assert connection.scalars(sa.select(table.c.n)).all() == [2]

    within(body)


def test_isolation_levels(within: Within) -> None:
    show = sa.text("SHOW transaction_isolation")

    def body(connection: sa.Connection) -> None:
        assert connection.get_isolation_level() == "READ COMMITTED"
        for level in ("SERIALIZABLE", "REPEATABLE READ", "READ UNCOMMITTED"):
            connection.execution_options(isolation_level=level)
            assert connection.scalar(show) == level.lower()
            connection.rollback()
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(sa.text("VACUUM pg_class"))
        assert not connection.connection.dbapi_connection.in_transaction  # type: ignore[union-attr]

    within(body)
    level = within(lambda it: it.scalar(show), isolation_level="SERIALIZABLE")
    assert level == "serializable"


def test_read_only_and_deferrable(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        connection.execution_options(
            isolation_level="SERIALIZABLE", postgresql_readonly=True, postgresql_deferrable=True
        )
        names = ("transaction_isolation", "transaction_read_only", "transaction_deferrable")
        shown = [connection.scalar(sa.text(f"SHOW {name}")) for name in names]
        assert shown == ["serializable", "on", "on"]

    within(body)


def test_two_phases(within: Within, engine: sa.Engine, metadata: sa.MetaData) -> None:
    table = made(engine, metadata, sa.Column("n", sa.Integer))

    def body(connection: sa.Connection) -> None:
        transaction = connection.begin_twophase("it's \\one")
        connection.execute(table.insert(), {"n": 1})
        transaction.prepare()
        transaction.commit()
        transaction = connection.begin_twophase()
        connection.execute(table.insert(), {"n": 2})
        transaction.prepare()
        transaction.rollback()
        transaction = connection.begin_twophase("left")
        connection.execute(table.insert(), {"n": 3})
        transaction.prepare()
        connection.invalidate()

    within(body)

    def recover(connection: sa.Connection) -> None:
        assert connection.recover_twophase() == ["left"]
        connection.commit_prepared("left", recover=True)
        assert connection.recover_twophase() == []
        connection.rollback()
        assert sorted(connection.scalars(sa.select(table.c.n))) == [1, 3]

    within(recover)


def test_what_has_failed_is_not_prepared(
    within: Within, engine: sa.Engine, metadata: sa.MetaData
) -> None:
    table = made(engine, metadata, sa.Column("n", sa.Integer))

    def body(connection: sa.Connection) -> None:
        transaction = connection.begin_twophase()
        connection.execute(table.insert(), {"n": 1})
        with pytest.raises(sa.exc.DataError):
            connection.execute(sa.text("SELECT 1/0"))
        with pytest.raises(sa.exc.InternalError, match="instead of preparing it"):
            transaction.prepare()
        transaction.rollback()
        assert connection.recover_twophase() == []
        assert connection.scalars(sa.select(table.c.n)).all() == []

    within(body)


def test_a_connection_goes_back_to_its_pool_without_a_transaction(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        raw = connection.connection.dbapi_connection
        connection.execute(sa.text("SELECT 1"))
        assert raw is not None
        assert raw.in_transaction
        connection.close()
        assert not raw.in_transaction

    within(body)


# Cursors on the server


def test_rows_come_as_they_are_asked_for(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=100)
        result = streamed.execute(sa.text("SELECT n, 'x' FROM generate_series(1, 5000) AS n"))
        assert result.keys() == ["n", "?column?"]
        assert result.fetchmany(3) == [(1, "x"), (2, "x"), (3, "x")]
        assert connection.scalar(sa.text("SELECT count(*) FROM pg_cursors")) is not None
        assert len(result.fetchall()) == 4997

    within(body)


def test_no_cursor_on_the_server_in_autocommit(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        connection.execution_options(isolation_level="AUTOCOMMIT", stream_results=True)
        with pytest.raises(sa.exc.OperationalError, match="leave stream_results"):
            connection.execute(sa.text("SELECT 1"))

    within(body)


async def test_an_async_stream(async_engine: AsyncEngine) -> None:
    async with async_engine.connect() as connection:
        result = await connection.stream(sa.text("SELECT n FROM generate_series(1, 3000) AS n"))
        assert [n async for n in result.scalars()] == list(range(1, 3001))


# Altered tables and types


def test_a_table_that_another_connection_altered(
    within: Within, engine: sa.Engine, metadata: sa.MetaData
) -> None:
    made(engine, metadata, sa.Column("n", sa.Integer))
    everything = sa.text("SELECT * FROM dialect_table")

    def body(connection: sa.Connection) -> None:
        assert connection.execute(everything).all() == []
        connection.commit()
        with colonnade.sync.connect(_dsn(engine)) as stranger:
            stranger.execute(
                "ALTER TABLE dialect_table ADD m text; INSERT INTO dialect_table VALUES (1)"
            )
        assert connection.execute(everything).all() == [(1, None)]

    within(body)


def test_a_type_that_another_connection_made_anew(within: Within, engine: sa.Engine) -> None:
    query = sa.text("SELECT CAST('ok' AS dialect_mood)")

    def body(connection: sa.Connection) -> None:
        with colonnade.sync.connect(_dsn(engine)) as stranger:
            stranger.execute("CREATE TYPE dialect_mood AS ENUM ('ok')")
            try:
                assert connection.scalar(query) == "ok"
                connection.commit()
                stranger.execute("DROP TYPE dialect_mood; CREATE TYPE dialect_mood AS ENUM ('ok')")
                assert connection.scalar(query) == "ok"
                connection.commit()
            finally:
                stranger.execute("DROP TYPE dialect_mood")

    within(body)


def test_a_table_that_is_altered_in_a_transaction(
    within: Within, engine: sa.Engine, metadata: sa.MetaData
) -> None:
    made(engine, metadata, sa.Column("n", sa.Integer))
    everything = sa.text("SELECT * FROM dialect_table")

    def body(connection: sa.Connection) -> None:
        assert connection.execute(everything).keys() == ["n"]
        connection.execute(sa.text("ALTER TABLE dialect_table ADD m text"))
        assert connection.execute(everything).keys() == ["n", "m"]
        with connection.begin_nested() as savepoint:
            connection.execute(sa.text("ALTER TABLE dialect_table ADD o text"))
            assert connection.execute(everything).keys() == ["n", "m", "o"]
            savepoint.rollback()
        assert connection.execute(everything).keys() == ["n", "m"]
        connection.rollback()
        assert connection.execute(everything).keys() == ["n"]

    within(body)


def test_a_table_that_is_made_anew_after_a_rollback(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        for kind, value in (("int", 1), ("text", "x"), ("date", dt.date(2020, 1, 1))):
            connection.execute(sa.text(f"CREATE TABLE made_anew (value {kind})"))
            connection.execute(sa.text(f"INSERT INTO made_anew VALUES ('{value}')"))
            assert connection.scalar(sa.text("SELECT value FROM made_anew")) == value
            connection.rollback()

    within(body)


def test_a_table_that_is_made_anew_after_a_commit_in_vain(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        for kind, value in (("int", 1), ("text", "x"), ("date", dt.date(2020, 1, 1))):
            connection.execute(sa.text(f"CREATE TABLE made_in_vain (value {kind})"))
            connection.execute(sa.text(f"INSERT INTO made_in_vain VALUES ('{value}')"))
            assert connection.scalar(sa.text("SELECT value FROM made_in_vain")) == value
            with pytest.raises(sa.exc.DataError):
                connection.execute(sa.text("SELECT 1/0"))
            connection.commit()

    within(body)


def test_an_enum_that_is_made_anew(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        for label in ("a", "b"):
            connection.execute(sa.text(f"CREATE TYPE made_anew_enum AS ENUM ('{label}')"))
            connection.commit()
            statement = sa.text("SELECT CAST(:label AS made_anew_enum)")
            assert connection.scalar(statement, {"label": label}) == label
            connection.execute(sa.text("DROP TYPE made_anew_enum"))
            connection.commit()

    within(body)


# Failures


def test_errors_have_their_classes(
    within: Within, engine: sa.Engine, metadata: sa.MetaData
) -> None:
    table = made(engine, metadata, sa.Column("n", sa.Integer, primary_key=True))

    def body(connection: sa.Connection) -> None:
        with pytest.raises(sa.exc.IntegrityError) as caught:
            connection.execute(table.insert(), [{"n": 1}, {"n": 1}])
        assert caught.value.orig is not None
        assert caught.value.orig.sqlstate == "23505"  # type: ignore[attr-defined]
        cause = caught.value.orig.__cause__
        assert isinstance(cause, colonnade.UniqueViolationError)
        assert cause.table_name == "dialect_table"
        connection.rollback()
        with pytest.raises(sa.exc.ProgrammingError, match="no_such_table"):
            connection.execute(sa.text("SELECT * FROM no_such_table"))
        connection.rollback()
        with pytest.raises(sa.exc.DataError):
            connection.execute(sa.text("SELECT 1 / 0"))

    within(body)


def test_no_server_is_an_operational_error(within: Within, url: sa.URL) -> None:
    with pytest.raises(sa.exc.OperationalError):
        within(lambda it: it, url=url.set(host="127.0.0.1", port=1))


def test_a_lost_connection_is_thrown_away(within: Within, engine: sa.Engine) -> None:
    def body(connection: sa.Connection) -> None:
        pid = connection.scalar(sa.text("SELECT pg_backend_pid()"))
        with engine.connect() as other:
            other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        with pytest.raises(sa.exc.DBAPIError) as caught:
            connection.execute(sa.text("SELECT 1"))
        assert caught.value.connection_invalidated
        connection.rollback()
        assert connection.scalar(sa.text("SELECT 2")) == 2

    within(body)


def test_a_ping_finds_a_lost_connection(url: sa.URL, engine: sa.Engine) -> None:
    pinging = sa.create_engine(url, pool_pre_ping=True)
    with pinging.connect() as connection:
        pid = connection.scalar(sa.text("SELECT pg_backend_pid()"))
    with engine.connect() as other:
        other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    with pinging.connect() as connection:
        assert connection.scalar(sa.text("SELECT pg_backend_pid()")) != pid
    pinging.dispose()


async def test_a_cancelled_task_leaves_nothing_behind(async_engine: AsyncEngine) -> None:
    async with async_engine.connect() as connection:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await connection.execute(sa.text("SELECT pg_sleep(60)"))
    async with async_engine.connect() as connection:
        busy = sa.text(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(60)%' "
            "AND state = 'active' AND pid <> pg_backend_pid()"
        )
        for _ in range(200):
            if await connection.scalar(busy) == 0:
                break
        assert await connection.scalar(sa.text("SELECT 1")) == 1


# Connecting


def test_notices_are_logged(within: Within, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sqlalchemy.dialects.postgresql")
    within(lambda it: it.execute(sa.text("DO $$ BEGIN RAISE NOTICE 'to be logged'; END $$")))
    assert "NOTICE: to be logged" in caplog.messages


def test_options_of_the_url(within: Within, url: sa.URL) -> None:
    query = {"application_name": "a b&c", "options": "-c work_mem=5MB", "command_timeout": "20"}
    shown = within(
        lambda it: [
            it.scalar(sa.text(f"SHOW {name}")) for name in ("application_name", "work_mem")
        ],
        url=url.update_query_dict(query),
    )
    assert shown == ["a b&c", "5MB"]


def test_several_hosts(within: Within, url: sa.URL) -> None:
    hosts = ["127.0.0.1:1", f"{url.host}:{url.port}"]
    several = url.set(host=None, port=None).update_query_dict({"host": hosts})
    assert within(lambda it: it.scalar(sa.text("SELECT 1")), url=several) == 1
    kind = several.update_query_dict({"target_session_attrs": "standby"})
    with pytest.raises(sa.exc.OperationalError):
        within(lambda it: it, url=kind)


def test_arguments_of_the_driver(within: Within) -> None:
    arguments = {"server_settings": {"application_name": "by argument"}, "statement_cache_size": 0}
    statement = sa.text("SHOW application_name")
    assert within(lambda it: it.scalar(statement), connect_args=arguments) == "by argument"


def _dsn(engine: sa.Engine) -> str:
    return engine.url.set(drivername="postgresql").render_as_string(hide_password=False)


_WITHOUT_GREENLET = """
import sys
sys.modules["greenlet"] = None
import sqlalchemy as sa
engine = sa.create_engine(sys.argv[1])
from colonnade.sqlalchemy import fetch_columns
with engine.connect() as connection:
    assert fetch_columns(connection, sa.text("SELECT 1 AS one")).to_pylist() == [{"one": 1}]
"""


def test_rows_in_pieces(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        query = sa.text("SELECT generate_series(1, 5) AS n")
        for options in ({}, {"stream_results": True}):
            result = connection.execute(query, execution_options=options)
            assert result.fetchone() == (1,)
            assert result.fetchmany(2) == [(2,), (3,)]
            assert result.fetchall() == [(4,), (5,)]

    within(body)


def test_a_cursor_of_the_drivers_kind(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        for server_side in (False, True):
            cursor: Any = connection.connection.cursor(server_side=server_side)
            cursor.execute("SELECT generate_series(1, 5)")
            assert cursor.fetchone() == (1,)
            assert cursor.fetchmany(2) == [(2,), (3,)]
            assert cursor.fetchmany(0) == []
            assert list(cursor) == [(4,), (5,)]
            cursor.close()

    within(body)


def test_a_fetch_that_fails_on_the_server(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        query = sa.text("SELECT 6 / (1500 - n) FROM generate_series(1, 2000) AS n")
        result = connection.execution_options(yield_per=1000).execute(query)
        assert len(result.fetchmany(1000)) == 1000
        with pytest.raises(sa.exc.DataError, match="division by zero"):
            result.fetchmany(1000)
        connection.rollback()
        assert connection.scalar(sa.text("SELECT 1")) == 1

    within(body)


def test_a_blocking_engine_needs_no_greenlet(url: sa.URL) -> None:
    address = url.render_as_string(hide_password=False)
    subprocess.run([sys.executable, "-c", _WITHOUT_GREENLET, address], check=True, timeout=60)

"""Statements that other clients send, or understand, otherwise than they are written."""

from __future__ import annotations

import asyncio
import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa

import colonnade
from colonnade import dbapi
from colonnade.errors import DataError, InterfaceError, PostgresError
from tests.reports.situations import connected

if TYPE_CHECKING:
    from tests.reports.situations import Doors


def test_an_integer_alone(doors: Doors) -> None:
    """MagicStack/asyncpg#975, #998: `SELECT $1` of 1 is text for the server."""
    with pytest.raises(DataError, match="expected a str, got int"):
        doors.core.fetchval("SELECT $1", 1)
    assert doors.dbapi.execute("SELECT %s", [1]).fetchone() == (1,)
    assert doors.psycopg.execute("SELECT %s", [1]).fetchone() == (1,)


def test_an_offset_beyond_31_bits(doors: Doors) -> None:
    """MagicStack/asyncpg#934: OFFSET takes a bigint, so more than 2**31 is one."""
    sql = "SELECT 1 LIMIT 20 OFFSET {}"
    assert doors.core.fetch(sql.format("$1"), 2**31) == []
    assert doors.dbapi.execute(sql.format("%s"), [2**31]).fetchall() == []
    assert doors.sqlalchemy.execute(sa.text(sql.format(":n")), {"n": 2**31}).all() == []


def test_an_error_names_the_argument(doors: Doors) -> None:
    """MagicStack/asyncpg#260, #302: number, type and value of the argument that does not fit."""
    with pytest.raises(DataError, match=r"\$2 of type int4: 'x'"):
        doors.core.fetchval("SELECT $1::int4 + $2::int4", 1, "x")


def test_a_percent_sign_without_parameters(doors: Doors) -> None:
    """psycopg/psycopg2#827, mfenniak/pg8000#77, dbcli/pgcli#865: `%` stands for itself."""
    for door in (doors.dbapi, doors.psycopg):
        assert door.execute("SELECT 'cars 50% saved' LIKE '%50%'").fetchone() == (True,)
    text = sa.text("SELECT 'cars 50% saved' LIKE '%50%'")
    assert doors.sqlalchemy.execute(text).scalar() is True
    assert doors.core.fetchval("SELECT 7 % 4") == 3


def test_a_percent_sign_beside_parameters(doors: Doors) -> None:
    """Goldziher/scythe#201, psycopg/psycopg#294: doubled, or alone within quotes.

    psycopg refuses it there; outside quotes both do.
    """
    for door in (doors.dbapi, doors.psycopg):
        asked = door.execute("SELECT 'a%%' LIKE %(a)s", {"a": "a%"})
        assert asked.fetchone() == (True,)
    alone = "SELECT 'xa' LIKE '%a' AND %s"
    assert doors.dbapi.execute(alone, [True]).fetchone() == (True,)
    with pytest.raises(psycopg.ProgrammingError):
        doors.psycopg.execute(alone, [True])
    with pytest.raises(dbapi.ProgrammingError):
        doors.dbapi.execute("SELECT 7 % %s", [4])
    text = sa.text("SELECT 'admin' LIKE '%dm%' AND :email = 'x'")
    assert doors.sqlalchemy.execute(text, {"email": "x"}).scalar() is True


def test_a_placeholder_in_a_string(doors: Doors) -> None:
    """psycopg/psycopg2#1793: in DB-API it counts, as in psycopg; core and text() read SQL."""
    sql = "SELECT 'something %s' WHERE 1 = %s"
    with pytest.raises(dbapi.ProgrammingError):
        doors.dbapi.execute(sql, [1])
    with pytest.raises(psycopg.ProgrammingError):
        doors.psycopg.execute(sql, [1])
    assert doors.core.fetchval("SELECT 'something $2' WHERE 1 = $1::int", 1) == "something $2"
    text = sa.text("SELECT 'ratio :x' WHERE 1 = :y").bindparams(y=1)
    with pytest.raises(sa.exc.StatementError, match="x"):
        doors.sqlalchemy.execute(text)


def test_jsonb_operators_with_question_marks(doors: Doors) -> None:
    """pandas-dev/pandas#34211, sqlalchemy/sqlalchemy#5653: `?` is no placeholder."""
    sql = """SELECT '{"a": 1}'::jsonb ? 'a' AND '{"a": 1}'::jsonb ?| '{b,a}'"""
    assert doors.core.fetchval(sql) is True
    assert doors.dbapi.execute(sql).fetchone() == (True,)
    assert doors.sqlalchemy.execute(sa.text(sql)).scalar() is True


def test_a_colon_that_is_a_cast(doors: Doors) -> None:
    """sqlalchemy/sqlalchemy#8076: `::` and slices of arrays beside a parameter."""
    text = sa.text("SELECT (ARRAY[1, 2, 3])[1:2]::text[] || :x")
    found = doors.sqlalchemy.execute(text, {"x": ["9"]}).scalar()
    assert found == ["1", "2", "9"]


def test_the_wrong_statement_twice(doors: Doors) -> None:
    """MagicStack/asyncpg#121, psycopg/psycopg#585: the same error each time, and then usable."""
    for _ in range(3):
        with pytest.raises(PostgresError, match='column "nothing" does not exist'):
            doors.core.fetch("SELECT nothing WHERE $1", True)
    assert doors.core.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("forget", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_prepared_statements_dropped_by_hand(dsn: str, forget: str) -> None:
    """psycopg/psycopg#563, #1408, MagicStack/asyncpg#53: the statements are prepared again."""
    with colonnade.sync.connect(dsn) as core, dbapi.connect(dsn, autocommit=True) as conn:
        for _ in range(3):
            assert core.fetchval("SELECT $1::int + 1", 1) == 2
            assert conn.execute("SELECT %s + 1", [1]).fetchone() == (2,)
            core.execute(forget)
            conn.execute(forget)


def test_growing_integers(doors: Doors) -> None:
    """mfenniak/pg8000#34, tlocke/pg8000#22: many rows, None first, then small, then large."""
    numbers = [None, 1, 2**15, 2**31, 2**62]
    doors.dbapi.execute("CREATE TEMP TABLE grown (n int8)")
    with doors.dbapi.cursor() as cursor:
        cursor.executemany("INSERT INTO grown VALUES (%s)", [(n,) for n in numbers])
        found = cursor.execute("SELECT n FROM grown").fetchall()
    doors.dbapi.execute("DROP TABLE grown")
    assert found == [(n,) for n in numbers]


def test_two_statements_at_once(dsn: str) -> None:
    """encode/databases#81, MagicStack/asyncpg#738: the second says that the first is running."""

    async def run() -> None:
        async with connected(dsn) as conn:
            slow = asyncio.ensure_future(conn.fetchval("SELECT 1 FROM pg_sleep(0.2)"))
            await asyncio.sleep(0)
            with pytest.raises(InterfaceError, match="another operation"):
                await conn.fetchval("SELECT 2")
            assert await slow == 1

    asyncio.run(run())


def test_a_generator_that_raises(dsn: str) -> None:
    """MagicStack/asyncpg#85: its own exception, nothing is stored, and the connection is usable."""

    def rows(count: int) -> Any:
        yield from ((n,) for n in range(count))
        raise ZeroDivisionError

    with colonnade.sync.connect(dsn) as core:
        core.execute("CREATE TEMP TABLE kept (n int)")
        for count in (0, 1, 5000):
            with pytest.raises(ZeroDivisionError):
                core.executemany("INSERT INTO kept VALUES ($1)", rows(count))
            with pytest.raises(ZeroDivisionError):
                core.copy_records_to_table("kept", records=rows(count))
            assert core.fetchval("SELECT count(*) FROM kept") == 0


def test_a_binary_of_a_binary(doors: Doors) -> None:
    """psycopg/psycopg#1352: wrapped twice it is the same bytes."""
    twice = dbapi.Binary(dbapi.Binary(b"\0a"))
    assert doors.dbapi.execute("SELECT %s::bytea", [twice]).fetchone() == (b"\0a",)


def test_no_sets_of_arguments(doors: Doors) -> None:
    """apache/arrow-adbc#3319: executemany of nothing does nothing, by each door."""
    doors.core.execute("CREATE TABLE reports.nothing (n int)")
    sql = "INSERT INTO reports.nothing VALUES ({})"
    doors.core.executemany(sql.format("$1"), [])
    with doors.dbapi.cursor() as cursor:
        cursor.executemany(sql.format("%s"), [])
    with doors.adbc.cursor() as cursor:
        cursor.executemany(sql.format("$1"), [])
    assert doors.core.fetchval("SELECT count(*) FROM reports.nothing") == 0


def test_a_sum_of_a_double_and_a_parameter(doors: Doors) -> None:
    """psycopg/psycopg: a float is double precision in DB-API, so the result is a float."""
    for door in (doors.dbapi, doors.psycopg):
        assert door.execute("SELECT 1.5 * %s", [2.5]).fetchone() == (3.75,)
        assert door.execute("SELECT 1.5 * %s", [Decimal("2.5")]).fetchone() == (Decimal("3.75"),)


def test_moments_minus_durations(doors: Doors) -> None:
    """sqlalchemy/sqlalchemy#7909, DB-API: `now() - %s` of a timedelta."""
    for door in (doors.dbapi, doors.psycopg):
        asked = door.execute("SELECT now() - %s < now()", [dt.timedelta(1)])
        assert asked.fetchone() == (True,)


def test_settings_of_intervals(dsn: str) -> None:
    """psycopg/psycopg2#707, #1783, tlocke/pg8000#106, dbcli/pgcli#1256: any style."""
    sql, right = "SELECT '1 day 02:00:00.5'::interval", dt.timedelta(1, 7200, 500_000)
    for style in ("iso_8601", "postgres_verbose", "sql_standard", "postgres"):
        settings = {"intervalstyle": style, "datestyle": "German"}
        with colonnade.sync.connect(dsn, server_settings=settings) as core:
            assert core.fetchval(sql) == right
            assert core.fetchval("SELECT '2024-02-03'::date") == dt.date(2024, 2, 3)
        options = f"-c intervalstyle={style}"
        with dbapi.connect(dsn, options=options) as conn:
            assert conn.execute(sql).fetchone() == (right,)
        # psycopg reads only the style "postgres".
        with psycopg.connect(dsn, options=options) as peer:
            if style == "postgres":
                assert peer.execute(sql.encode()).fetchone() == (right,)
            else:
                with pytest.raises(NotImplementedError):
                    peer.execute(sql.encode()).fetchone()


def test_a_list_of_anything(doors: Doors) -> None:
    """psycopg: elements without a type are refused, and never stored as what Python prints."""
    for door, refusal in (
        (doors.dbapi, dbapi.DataError),
        (doors.psycopg, psycopg.ProgrammingError),
    ):
        for element in (object(), {"a": 1}, Fraction(1, 3), asyncpg.BitString("101")):
            with pytest.raises(refusal):
                door.execute("SELECT %s::text[]", [[element]])


def test_parameters_of_text(doors: Doors) -> None:
    """sqlalchemy/sqlalchemy#6842, #7909, CanopyTax/asyncpgsa#47: the type of their value."""
    ask = doors.sqlalchemy.execute
    assert ask(sa.text("SELECT 1 WHERE (:x IS NULL OR 1 = :x)"), {"x": 1}).scalar() == 1
    assert ask(sa.text("SELECT now() - :x < now()"), {"x": dt.timedelta(1)}).scalar() is True
    assert ask(sa.text("SELECT :x + :x"), {"x": 2**31}).scalar() == 2**32
    assert ask(sa.text("SELECT 1.5 * :x"), {"x": 2.5}).scalar() == 3.75


def test_parameters_of_adbc(doors: Doors) -> None:
    """apache/arrow-adbc#3549: as the genuine driver."""
    for door in (doors.adbc, doors.genuine_adbc):
        with door.cursor() as cursor:
            cursor.execute("SELECT $1", (1,))
            assert cursor.fetchone() == (1,)
        with door.cursor() as cursor:
            cursor.execute("SELECT $1 + $2", (1, 2))
            assert cursor.fetchone() == (3,)
        with door.cursor() as cursor:
            cursor.execute("SELECT $1 IS NULL", (1,))
            assert cursor.fetchone() == (False,)

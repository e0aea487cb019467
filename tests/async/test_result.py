"""Plain tuples as rows, whole results, declared types of parameters, and values in text form."""

from __future__ import annotations

import datetime as dt
import gc
from decimal import Decimal
from typing import Any

import pytest

import colonnade
from colonnade.types import TextValue

INT4, INT8, TEXT = 23, 20, 25


async def test_rows_are_plain_tuples(connection: colonnade.Connection) -> None:
    rows = await connection.fetch(
        "SELECT n, n::text, ARRAY[n, NULL] FROM generate_series(1, 200) AS n", record_class=tuple
    )
    assert rows == [(n, str(n), [n, None]) for n in range(1, 201)]
    assert {type(row) for row in rows} == {tuple}
    row = await connection.fetchrow("SELECT 1 AS a, NULL", record_class=tuple)
    assert type(row) is tuple
    assert row == (1, None)


async def test_a_pool_of_plain_tuples(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, record_class=tuple) as pool:
        row: Any = await pool.fetchrow("SELECT 1 AS a")
        assert type(row) is tuple


async def test_tuples_of_atomic_values_are_not_tracked(connection: colonnade.Connection) -> None:
    query = "SELECT n, 'x' FROM generate_series(1, 100) AS n"
    rows = await connection.fetch(query, record_class=tuple)
    assert not any(map(gc.is_tracked, rows))
    rows = await connection.fetch("SELECT ARRAY[1]", record_class=tuple)
    assert all(map(gc.is_tracked, rows))


async def test_tuples_without_values(connection: colonnade.Connection) -> None:
    query = "SELECT FROM generate_series(1, 100)"
    assert await connection.fetch(query, record_class=tuple) == [()] * 100


async def test_tuples_of_statements_cursors_and_many(connection: colonnade.Connection) -> None:
    statement = await connection.prepare("SELECT $1::int4", record_class=tuple)
    many: list[Any] = [
        await statement.fetchrow(1),
        *await connection.fetchmany("SELECT $1::int4", [(2,)], record_class=tuple),
    ]
    async with connection.transaction():
        cursor = await connection.cursor("SELECT 3", record_class=tuple).open()
        many.append(await cursor.fetchrow())
    assert many == [(1,), (2,), (3,)]
    assert {type(row) for row in many} == {tuple}


async def test_a_value_that_fails_leaves_no_half_tuple(connection: colonnade.Connection) -> None:
    query = "SELECT n, interval '178000000 years' * (n / 150) FROM generate_series(1, 200) AS n"
    with pytest.raises(colonnade.errors.DecodeError):
        await connection.fetch(query, record_class=tuple)
    gc.collect()
    assert await connection.fetchval("SELECT 1") == 1


async def test_only_tuple_itself_is_taken(connection: colonnade.Connection) -> None:
    class Row(tuple[Any, ...]):
        __slots__ = ()

    with pytest.raises(colonnade.InterfaceError, match="or tuple"):
        await connection.fetch("SELECT 1", record_class=Row)


async def test_the_result_of_a_query(connection: colonnade.Connection) -> None:
    query = "SELECT 1::int8 AS a, 'x'::varchar(7) AS b WHERE $1"
    result = await connection.fetch_result(query, True, record_class=tuple)
    assert result.rows == [(1, "x")]
    assert [(a.name, a.type.oid, a.type.name) for a in result.attributes] == [
        ("a", INT8, "int8"),
        ("b", 1043, "varchar"),
    ]
    assert result.type_modifiers == (-1, 11)
    assert result.status == "SELECT 1"
    assert result.has_rows
    assert result.timing is not None
    empty = await connection.fetch_result(query, False)
    assert (empty.rows, empty.status, empty.has_rows) == ([], "SELECT 0", True)


async def test_the_result_of_a_command(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMP TABLE t (n int4)")
    result = await connection.fetch_result("INSERT INTO t VALUES ($1)", 1)
    assert (result.rows, result.status, result.has_rows) == ([], "INSERT 0 1", False)
    assert result.attributes == ()
    result = await connection.fetch_result("INSERT INTO t VALUES ($1) RETURNING n", 2)
    assert (result.rows, result.status, result.has_rows) == ([(2,)], "INSERT 0 1", True)
    result = await connection.fetch_result("")
    assert (result.rows, result.status, result.has_rows) == ([], "", False)


async def test_types_of_parameters_are_declared(connection: colonnade.Connection) -> None:
    query = "SELECT pg_typeof($1)::text, pg_typeof($2)::text"
    for types, named in [
        ((INT4, INT8), ("integer", "bigint")),
        ((INT8, INT4), ("bigint", "integer")),
    ]:
        for _ in range(2):
            result = await connection.fetch_result(query, 1, 2, parameter_types=types)
            assert result.rows == [named]
    # The server infers types that are not declared.
    result = await connection.fetch_result(
        "SELECT pg_typeof($1)::text, $2::int4", TextValue("a"), 5, parameter_types=[TEXT]
    )
    assert result.rows == [("text", 5)]
    result = await connection.fetch_result("SELECT $1::int2", 5, parameter_types=[None])
    assert result.attributes[0].type.name == "int2"


async def test_strings_for_parameters_declared_as_unknown(
    connection: colonnade.Connection,
) -> None:
    query = "SELECT $1::date, $2::int4, $3::text, $4::int4[]"
    for row in (("2024-02-29", 5, "a", "{1,2}"), (dt.date(2024, 2, 29), "5", None, [1, 2])):
        result = await connection.fetch_result(query, *row, parameter_types=[705] * 4)
        assert result.rows == [(dt.date(2024, 2, 29), 5, row[2], [1, 2])]
    await connection.execute("CREATE TEMP TABLE t (d date, n numeric)")
    rows = [("2024-02-29", "1.50"), ("2024-03-01", "2"), (None, None)]
    await connection.executemany("INSERT INTO t VALUES ($1, $2)", rows, parameter_types=[705, 705])
    found = await connection.fetchmany("SELECT $1::date", [("2024-02-29",)], parameter_types=[705])
    assert found == [(dt.date(2024, 2, 29),)]
    total = await connection.fetchval("SELECT sum(n) FROM t WHERE d IS NOT NULL")
    assert str(total) == "3.50"
    with pytest.raises(colonnade.errors.EncodeError, match="NUL"):
        await connection.fetch_result("SELECT $1::text", "\0", parameter_types=[705])


async def test_values_of_a_series_declared_as_unknown(connection: colonnade.Connection) -> None:
    """Many runs take the same values as one: strings, and values of the type that is inferred."""
    kinds: dict[str, list[Any]] = {
        "int4": ["7", 8],
        "float8": ["0.1", 0.1 + 0.2],
        "numeric": [Decimal("1.50"), "1.50", 3],
        "timestamptz": [dt.datetime(2024, 2, 3, 4, 5, 6, 7, dt.UTC), "2024-02-03 04:05+05"],
        "interval": [dt.timedelta(days=-1, seconds=2), "1 mon"],
        "int4[]": [[1, None], "{2}", None],
        "text": ["it's", "NULL", None],
        "bytea": [b"\0\xff", "\\x00"],
        "daterange": [colonnade.Range(dt.date(2024, 2, 3), None), "empty"],
        "point": [colonnade.Point(1, 2.5), "(1,2)"],
        "jsonb": ['{"a": 1}', None],
    }
    await connection.execute("SET intervalstyle = 'sql_standard'; SET datestyle = 'SQL, DMY'")
    for kind, values in kinds.items():
        query, sets = f"SELECT ($1::{kind})::text", [(value,) for value in values]
        many = await connection.fetchmany(query, sets, parameter_types=[705])
        single = [
            await connection.fetchval(f"SELECT ($1::{kind})::text", value)
            if not isinstance(value, str)
            else (await connection.fetchmany(query, [(value,)], parameter_types=[705]))[0][0]
            for value in values
        ]
        assert [row[0] for row in many] == single
    # The table's own type, with no cast that would settle it.
    await connection.execute("CREATE TEMP TABLE t (d date, n numeric)")
    rows = [("03/02/2024", 1), (dt.date(2024, 2, 3), "2.50"), (None, Decimal("1E+3"))]
    await connection.executemany("INSERT INTO t VALUES ($1, $2)", rows, parameter_types=[705] * 2)
    found = await connection.fetch("SELECT d, n FROM t")
    day = dt.date(2024, 2, 3)
    assert found == [(day, Decimal(1)), (day, Decimal("2.50")), (None, Decimal(1000))]
    with pytest.raises(colonnade.errors.EncodeError, match=r"element #1 .*numeric: 'x'|got bytes"):
        await connection.executemany(
            "INSERT INTO t VALUES ($1, $2)", [("1", 1), (None, b"x")], parameter_types=[705] * 2
        )


async def test_a_statement_is_kept_for_each_declaration(dsn: str) -> None:
    async with await colonnade.connect(dsn, statement_cache_size=2) as connection:
        for oid in (INT4, INT8, TEXT, INT4):
            value = TextValue("7")
            result = await connection.fetch_result("SELECT $1", value, parameter_types=[oid])
            assert result.attributes[0].type.oid == oid
        assert await connection.fetchval("SELECT count(*) FROM pg_prepared_statements") == 2


@pytest.mark.parametrize("size", [0, 100])
async def test_declared_types_without_kept_statements(dsn: str, size: int) -> None:
    async with await colonnade.connect(dsn, statement_cache_size=size) as connection:
        for oid, value in [(INT4, 7), (TEXT, TextValue("7")), (INT4, 8)] * 2:
            result = await connection.fetch_result("SELECT $1", value, parameter_types=[oid])
            assert result.rows == [(value,)]


async def test_the_server_reads_text_values(connection: colonnade.Connection) -> None:
    day = await connection.fetchval("SELECT $1::date", TextValue("2024-02-29"))
    assert day == dt.date(2024, 2, 29)
    assert await connection.fetchval("SELECT $1::int4", TextValue(" 5 ")) == 5
    assert await connection.fetchval("SELECT $1::int4[]", TextValue("{1,2}")) == [1, 2]
    assert await connection.fetchval("SELECT $1::text", TextValue("ä'\\")) == "ä'\\"
    assert await connection.fetchval("SELECT $1::bytea", TextValue("\\x00ff")) == b"\x00\xff"
    with pytest.raises(colonnade.errors.DatetimeFieldOverflowError):
        await connection.fetchval("SELECT $1::date", TextValue("2024-02-30"))
    with pytest.raises(colonnade.errors.EncodeError, match="NUL"):
        await connection.fetchval("SELECT $1::text", TextValue("a\0"))
    with pytest.raises(colonnade.errors.EncodeError):
        await connection.fetchval("SELECT $1::date", "2024-02-29")


async def test_text_values_in_many_sets(connection: colonnade.Connection) -> None:
    rows = [(TextValue(str(n)), n) for n in range(50)]
    found = await connection.fetchmany("SELECT $1::int4 = $2::int4", rows)
    assert [row[0] for row in found] == [True] * 50

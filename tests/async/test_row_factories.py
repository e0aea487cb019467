"""Row factories: rows other than records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import colonnade
from colonnade.errors import InterfaceError
from colonnade.rows import (
    RowMaker,
    args_row,
    class_row,
    dict_row,
    kwargs_row,
    namedtuple_row,
    scalar_row,
    shaped,
    tuple_row,
)

QUERY = "SELECT i AS id, i::text AS name FROM generate_series(1, 3) AS i"


@dataclass
class User:
    id: int
    name: str
    is_new: bool = True


async def test_every_factory(connection: colonnade.Connection) -> None:
    def described(**values: object) -> str:
        return repr(values)

    cases: list[tuple[Any, Any]] = [
        (tuple_row, (1, "1")),
        (dict_row, {"id": 1, "name": "1"}),
        (namedtuple_row, (1, "1")),
        (scalar_row, 1),
        (class_row(User), User(1, "1")),
        (kwargs_row(described), "{'id': 1, 'name': '1'}"),
        (args_row("{}-{}".format), "1-1"),
    ]
    for factory, expected in cases:
        rows = await connection.fetch(QUERY, row_factory=factory)
        assert len(rows) == 3
        assert rows[0] == expected
        assert type(rows[0]) is type(expected) or factory is namedtuple_row
        assert await connection.fetchrow(QUERY, row_factory=factory) == expected
        assert shaped(await connection.fetch(QUERY), factory)[0] == expected


async def test_a_factory_is_asked_once(connection: colonnade.Connection) -> None:
    asked: list[tuple[str, ...]] = []

    def factory(names: tuple[str, ...]) -> RowMaker[list[Any]]:
        asked.append(names)
        return list

    assert await connection.fetch(QUERY, row_factory=factory) == [[1, "1"], [2, "2"], [3, "3"]]
    assert asked == [("id", "name")]


async def test_many_rows(connection: colonnade.Connection) -> None:
    query = "SELECT generate_series(1, 2500)"
    for count in (1, 1000, 1001, 2500):
        rows = await connection.fetch(f"{query} LIMIT {count}", row_factory=scalar_row)
        assert rows == list(range(1, count + 1))


async def test_results_without_rows(connection: colonnade.Connection) -> None:
    assert await connection.fetch("SELECT 1 WHERE false", row_factory=dict_row) == []
    assert await connection.fetchrow("SELECT 1 WHERE false", row_factory=dict_row) is None
    assert await connection.fetch("SELECT", row_factory=dict_row) == [{}]
    with pytest.raises(InterfaceError, match="without columns"):
        await connection.fetch("SELECT", row_factory=scalar_row)
    assert shaped((), dict_row) == []


async def test_names_that_python_does_not_allow(connection: colonnade.Connection) -> None:
    query = 'SELECT 1 AS "class", 2 AS a, 3 AS a, 4 AS "two words"'
    (row,) = await connection.fetch(query, row_factory=namedtuple_row)
    assert row._fields == ("_0", "a", "_2", "_3")
    assert await connection.fetchrow(query, row_factory=dict_row) == {
        "class": 1,
        "a": 3,
        "two words": 4,
    }


async def test_an_error_of_a_factory_leaves_the_connection(
    connection: colonnade.Connection,
) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        await connection.fetch("SELECT 1 AS other", row_factory=class_row(User))
    assert await connection.fetchval("SELECT 1") == 1


async def test_wherever_rows_come_from(connection: colonnade.Connection) -> None:
    many = await connection.fetchmany("SELECT $1::int AS n", [(1,), (2,)], row_factory=dict_row)
    assert many == [{"n": 1}, {"n": 2}]
    statement = await connection.prepare(QUERY)
    assert await statement.fetch(row_factory=scalar_row) == [1, 2, 3]
    assert await statement.fetchrow(row_factory=dict_row) == {"id": 1, "name": "1"}
    assert await statement.fetchrow() == (1, "1")
    assert await statement.fetchmany([()], row_factory=scalar_row) == [1, 2, 3]
    async with connection.pipeline() as pipeline:
        rows = pipeline.fetch(QUERY, row_factory=scalar_row)
        row = pipeline.fetchrow(QUERY, row_factory=tuple_row)
        records = pipeline.fetch(QUERY)
        wrong = pipeline.fetch(QUERY, row_factory=class_row(int))
        with pytest.raises(TypeError):
            await wrong.wait()
    assert rows.result() == [1, 2, 3]
    assert type(row.result()) is tuple
    assert type(records.result()[0]) is colonnade.Record


async def test_a_statement_that_was_prepared_with_one(connection: colonnade.Connection) -> None:
    statement = await connection.prepare(QUERY, row_factory=dict_row)
    assert await statement.fetchrow() == {"id": 1, "name": "1"}
    assert await statement.fetch(row_factory=scalar_row) == [1, 2, 3]
    assert await statement.fetchval(column="name") == "1"
    async with connection.transaction():
        assert [row async for row in statement.cursor()][2] == {"id": 3, "name": "3"}


async def test_cursors(connection: colonnade.Connection) -> None:
    asked: list[tuple[str, ...]] = []

    def factory(names: tuple[str, ...]) -> RowMaker[dict[str, Any]]:
        asked.append(names)
        return dict_row(names)

    async with connection.transaction():
        rows = [row async for row in connection.cursor(QUERY, prefetch=2, row_factory=factory)]
        assert rows == [{"id": i, "name": str(i)} for i in (1, 2, 3)]
        assert asked == [("id", "name")]
        cursor = await connection.cursor(QUERY, row_factory=scalar_row).open()
        assert await cursor.fetchrow() == 1
        assert await cursor.fetch(5) == [2, 3]
        assert await cursor.fetch(5) == []


async def test_a_connection_with_one(dsn: str) -> None:
    async with await colonnade.connect(dsn, row_factory=dict_row) as connection:
        assert connection.row_factory is dict_row
        one = {"id": 1, "name": "1"}
        assert (await connection.fetch(QUERY))[0] == one
        assert await connection.fetchrow(QUERY) == one
        assert await connection.fetchval(QUERY, column=1) == "1"
        assert await connection.fetchrow(QUERY, row_factory=scalar_row) == 1
        # A class given to the call takes precedence over the connection's factory.
        assert type(await connection.fetchrow(QUERY, record_class=colonnade.Record)) is (
            colonnade.Record
        )
        assert await connection.fetchrow(QUERY, record_class=tuple) == (1, "1")
        assert await connection.fetchmany("SELECT $1::int AS n", [(1,)]) == [{"n": 1}]
        assert await (await connection.prepare(QUERY)).fetchrow() == one
        async with connection.pipeline() as pipeline:
            piped = pipeline.fetchrow(QUERY)
            value = pipeline.fetchval(QUERY, column="name")
        assert piped.result() == one
        assert value.result() == "1"
        async with connection.transaction():
            assert [row async for row in connection.cursor(QUERY, prefetch=2)][:1] == [one]


async def test_with_tuples_for_records(dsn: str) -> None:
    plain: Any = tuple
    async with await colonnade.connect(dsn, record_class=plain) as connection:
        assert await connection.fetchrow(QUERY, row_factory=dict_row) == {"id": 1, "name": "1"}
        row: Any = await connection.fetchrow(QUERY)
        assert type(row) is tuple


async def test_what_is_no_factory(dsn: str) -> None:
    factory: Any = "dict"
    with pytest.raises(InterfaceError, match="row_factory must be a function"):
        await colonnade.connect(dsn, row_factory=factory)


# async-only: begin
async def test_a_pool_with_one(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1, row_factory=dict_row) as pool:
        assert await pool.fetchrow(QUERY) == {"id": 1, "name": "1"}
        assert await pool.fetch(QUERY, row_factory=scalar_row) == [1, 2, 3]


# async-only: end

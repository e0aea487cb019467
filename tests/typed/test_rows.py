"""The types of rows for mypy and pyright, and the classes at run time.

Both type checkers read this file; on a line with an ignored error, they must report it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, assert_type

import pytest

import colonnade
import colonnade.sync
from colonnade import PipelineResult, Record
from colonnade.rows import class_row, dict_row, tuple_row

QUERY = "SELECT 1 AS id, 'ann' AS name"
USERS_MANY = "SELECT $1::int AS id, 'ann' AS name"


@dataclasses.dataclass
class User:
    id: int
    name: str


class Own(Record):
    """An application's record class."""


USER = User(1, "ann")


async def test_of_a_connection(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        assert assert_type(await connection.fetch(QUERY), list[Record]) == [(1, "ann")]
        assert assert_type(await connection.fetchrow(QUERY), Record | None) == (1, "ann")
        many = await connection.fetchmany(USERS_MANY, [(1,), (2,)])
        assert len(assert_type(many, list[Record])) == 2
        users = await connection.fetch(QUERY, row_factory=class_row(User))
        assert assert_type(users, list[User]) == [USER]
        user = await connection.fetchrow(QUERY, row_factory=class_row(User))
        assert assert_type(user, User | None) == USER
        own = await connection.fetch(QUERY, record_class=Own)
        assert type(assert_type(own, list[Own])[0]) is Own
        rows = await connection.fetch(QUERY, row_factory=dict_row)
        assert assert_type(rows, list[dict[str, Any]]) == [{"id": 1, "name": "ann"}]
        made = await connection.fetchmany(USERS_MANY, [(1,)], row_factory=class_row(User))
        assert assert_type(made, list[User]) == [USER]


async def test_a_row_that_may_be_missing_is_checked_for(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        row = await connection.fetchrow("SELECT 1 AS id WHERE false")
        with pytest.raises(TypeError):
            _ = row["id"]  # type: ignore[index]
        with pytest.raises(TypeError):
            await connection.fetch(QUERY, row_factory=User)  # type: ignore[arg-type]


async def test_of_a_pool(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        assert assert_type(await pool.fetch(QUERY), list[Record]) == [(1, "ann")]
        assert assert_type(await pool.fetchrow(QUERY), Record | None) == (1, "ann")
        users = await pool.fetch(QUERY, row_factory=class_row(User))
        assert assert_type(users, list[User]) == [USER]
        async with pool.acquire() as connection:
            found = await connection.fetchrow(QUERY, row_factory=class_row(User))
            assert assert_type(found, User | None) == USER


async def test_of_statements_and_cursors(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection, connection.transaction():
        statement = await connection.prepare(QUERY)
        assert assert_type(await statement.fetch(), list[Record]) == [(1, "ann")]
        tuples = await statement.fetchrow(row_factory=tuple_row)
        assert assert_type(tuples, tuple[Any, ...] | None) == (1, "ann")
        of_users = await connection.prepare(QUERY, row_factory=class_row(User))
        assert assert_type(await of_users.fetch(), list[User]) == [USER]
        assert assert_type(await of_users.fetchrow(), User | None) == USER
        async for user in connection.cursor(QUERY, row_factory=class_row(User)):
            assert assert_type(user, User) == USER
        cursor = await connection.cursor(QUERY)
        assert assert_type(await cursor.fetchrow(), Record | None) == (1, "ann")
        assert assert_type(await cursor.fetch(1), list[Record]) == []


def test_of_the_blocking_colour(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection, connection.transaction():
        assert assert_type(connection.fetch(QUERY), list[Record]) == [(1, "ann")]
        assert assert_type(connection.fetchrow(QUERY), Record | None) == (1, "ann")
        users = connection.fetch(QUERY, row_factory=class_row(User))
        assert assert_type(users, list[User]) == [USER]
        statement = connection.prepare(QUERY, row_factory=class_row(User))
        assert assert_type(statement.fetchrow(), User | None) == USER
        for user in connection.cursor(QUERY, row_factory=class_row(User)):
            assert assert_type(user, User) == USER


async def test_of_a_pipeline(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection, connection.pipeline() as pipeline:
        rows = assert_type(pipeline.fetch(QUERY), PipelineResult[list[Record]])
        row = assert_type(pipeline.fetchrow(QUERY), PipelineResult[Record | None])
        users = pipeline.fetch(QUERY, row_factory=class_row(User))
        assert_type(users, PipelineResult[list[User]])
        user = pipeline.fetchrow(QUERY, row_factory=class_row(User))
        assert_type(user, PipelineResult[User | None])
        own = assert_type(pipeline.fetch(QUERY, record_class=Own), PipelineResult[list[Own]])
        value = assert_type(pipeline.fetchval(QUERY), PipelineResult[Any])
        status = assert_type(pipeline.execute(QUERY), PipelineResult[str])
        many = assert_type(pipeline.executemany(USERS_MANY, [(1,)]), PipelineResult[None])
        columns = assert_type(pipeline.fetch_columns(QUERY), PipelineResult[colonnade.Columns])
        assert assert_type(await rows, list[Record]) == [(1, "ann")]
        assert assert_type(await row.wait(), Record | None) == (1, "ann")
        assert assert_type(await users, list[User]) == [USER]
        assert assert_type(await user, User | None) == USER
        assert type(assert_type(await own, list[Own])[0]) is Own
        assert assert_type(await value, Any) == 1
        assert assert_type(await status, str) == "SELECT 1"
        await many
        assert assert_type((await columns).names, tuple[str, ...]) == ("id", "name")
        assert assert_type(rows.result(), list[Record]) == [(1, "ann")]


def test_of_a_blocking_pipeline(dsn: str) -> None:
    with colonnade.sync.connect(dsn) as connection, connection.pipeline() as pipeline:
        rows = pipeline.fetch(QUERY)
        users = pipeline.fetch(QUERY, row_factory=class_row(User))
        assert_type(rows, colonnade.sync.PipelineResult[list[Record]])
        assert assert_type(rows.wait(), list[Record]) == [(1, "ann")]
        assert assert_type(users.wait(), list[User]) == [USER]

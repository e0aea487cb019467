"""aiosql: queries from text, in each of its shapes, on its asyncpg adapter."""

from __future__ import annotations

import asyncio

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import aiosql  # noqa: E402
import asyncpg  # noqa: E402

_QUERIES = """
-- name: create_table#
CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, since date);

-- name: add!
INSERT INTO users (id, name, since) VALUES (:id, :name, :since);

-- name: add_many*!
INSERT INTO users (id, name) VALUES (:id, :name);

-- name: add_returning<!
INSERT INTO users (id, name) VALUES (:id, :name) RETURNING id, name;

-- name: all_of_them
SELECT id, name, since FROM users ORDER BY id;

-- name: one_of_them^
SELECT id, name FROM users WHERE id = :id;

-- name: count_them$
SELECT count(*) FROM users;

-- name: rename!
UPDATE users SET name = upper(name) WHERE id >= :id;
"""


async def main() -> None:
    queries = aiosql.from_str(_QUERIES, "asyncpg", mandatory_parameters=False)
    connection = await asyncpg.connect(DSN)
    answer("create", await queries.create_table(connection))
    today = await connection.fetchval("SELECT DATE '2024-02-29'")
    answer("insert", await queries.add(connection, id=1, name="ann", since=today))
    many = [{"id": 2, "name": "bob"}, {"id": 3, "name": "cy"}]
    answer("insert many", await queries.add_many(connection, many))
    answer("returning", await queries.add_returning(connection, id=4, name="dee"))
    answer("iterated", [row async for row in queries.all_of_them(connection)])
    answer("one", await queries.one_of_them(connection, id=2))
    answer("none", await queries.one_of_them(connection, id=99))
    answer("count", await queries.count_them(connection))
    answer("update", await queries.rename(connection, id=3))
    async with queries.all_of_them_cursor(connection) as cursor:
        answer("by cursor", [row async for row in cursor])
    for name, arguments in (("twice", (1, "ann")), ("null", (9, None))):
        try:
            await queries.add(connection, id=arguments[0], name=arguments[1], since=None)
        except asyncpg.PostgresError as error:
            answer(name, error)
    transaction = connection.transaction()
    await transaction.start()
    await queries.add(connection, id=5, name="eve", since=None)
    await transaction.rollback()
    answer("rolled back", await queries.count_them(connection))
    await connection.close()
    async with asyncpg.create_pool(DSN, min_size=1, max_size=2) as pool:
        answer("on a pool", await queries.count_them(pool))


asyncio.run(main())

"""buildpg: statements that are rendered from templates, on its classes of connection and pool."""

from __future__ import annotations

import asyncio

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

from buildpg import MultipleValues, S, V, Values, asyncpg, clauses  # noqa: E402


async def main() -> None:
    async with asyncpg.create_pool_b(DSN, min_size=1, max_size=2) as pool:
        async with pool.acquire() as connection:
            await connection.execute("CREATE TABLE things (id serial PRIMARY KEY, a int, b text)")
            inserted = await connection.fetchval_b(
                "INSERT INTO things (:values__names) VALUES :values RETURNING id",
                values=Values(a=1, b="one"),
            )
            answer("inserted", inserted)
            rows = MultipleValues(Values(a=2, b="two"), Values(a=3, b=None))
            await connection.execute_b(
                "INSERT INTO things (:values__names) VALUES :values", values=rows
            )
            await connection.executemany_b(
                "INSERT INTO things (:values__names) VALUES :values",
                [Values(a=n, b=f"row {n}") for n in range(4, 8)],
            )
            answer("rows", await connection.fetch_b("SELECT * FROM things ORDER BY id"))
            where = clauses.Where((V("a") > S(2)) & V("b").like("row%"))
            answer("where", await connection.fetch_b("SELECT a FROM things :where", where=where))
            answer("row", await connection.fetchrow_b("SELECT * FROM things WHERE a = :a", a=3))
            async with connection.transaction():
                cursor = connection.cursor_b("SELECT a FROM things WHERE a < :a ORDER BY a", a=5)
                answer("cursor", [row async for row in cursor])
            try:
                await connection.execute_b("INSERT INTO things (id) VALUES (:id)", id=1)
            except asyncpg.UniqueViolationError as error:
                answer("error", error)
        answer("pool", await pool.fetchval_b("SELECT count(*) FROM things WHERE a > :a", a=3))


asyncio.run(main())

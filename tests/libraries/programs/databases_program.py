"""databases: queries by text and by SQLAlchemy Core, transactions, concurrent tasks."""

from __future__ import annotations

import asyncio

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
import sqlalchemy as sa  # noqa: E402
from databases import Database  # noqa: E402

_NOTES = sa.Table(
    "notes",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("text", sa.String(100)),
    sa.Column("done", sa.Boolean),
    sa.Column("price", sa.Numeric(10, 2)),
    sa.Column("facts", sa.JSON),
    sa.Column("at", sa.DateTime),
)


async def main() -> None:
    async with Database(DSN.replace("postgresql://", "postgresql+asyncpg://")) as database:
        await database.execute(sa.schema.CreateTable(_NOTES))
        at = await database.fetch_val("SELECT TIMESTAMP '2024-02-29 12:34:56.789'")
        first = {"text": "a", "done": True, "price": 1.5, "facts": {"k": [1, None]}, "at": at}
        answer("insert", await database.execute(_NOTES.insert(), first))
        await database.execute_many(
            "INSERT INTO notes (text, done) VALUES (:text, :done)",
            [{"text": f"row {n}", "done": n % 2 == 0} for n in range(5)],
        )
        rows = await database.fetch_all(_NOTES.select().order_by(_NOTES.c.id))
        answer("rows", [dict(row._mapping) for row in rows])
        row = await database.fetch_one("SELECT * FROM notes WHERE id = :id", {"id": 1})
        assert row is not None
        answer("row", dict(row._mapping))
        query = sa.select(sa.func.count()).select_from(_NOTES)
        answer("value", await database.fetch_val(query))
        answer("iterated", [r["text"] async for r in database.iterate(_NOTES.select())])
        transaction = await database.transaction()
        await database.execute("DELETE FROM notes")
        await transaction.rollback()
        answer("rolled back", await database.fetch_val(query))
        try:
            async with database.transaction():
                await database.execute("INSERT INTO notes (id) VALUES (1)")
        except asyncpg.UniqueViolationError as error:
            answer("error", error)
        found = await asyncio.gather(
            *(database.fetch_val("SELECT :n ::int", {"n": n}) for n in range(20))
        )
        answer("tasks", found)


asyncio.run(main())

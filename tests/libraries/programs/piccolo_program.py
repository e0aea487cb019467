"""Piccolo: tables, queries, relations, transactions, arrays, JSON, raw SQL, its pool."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
from piccolo.columns import (  # noqa: E402
    JSONB,
    UUID,
    Array,
    Boolean,
    Bytea,
    ForeignKey,
    Integer,
    Interval,
    Numeric,
    Timestamptz,
    Varchar,
)
from piccolo.engine.postgres import PostgresEngine  # noqa: E402
from piccolo.query.functions import Count  # noqa: E402
from piccolo.table import Table  # noqa: E402

_ENGINE = PostgresEngine(config={"dsn": DSN}, extensions=())


class Band(Table, db=_ENGINE):
    name = Varchar(length=50, unique=True)
    popularity = Integer(default=0)


class Concert(Table, db=_ENGINE):
    band = ForeignKey(references=Band)
    key = UUID()
    price = Numeric(digits=(8, 2))
    at = Timestamptz()
    length = Interval()
    tags = Array(base_column=Varchar())
    facts = JSONB()
    photo = Bytea()
    sold_out = Boolean(default=False)


async def main() -> None:
    await Band.create_table()
    await Concert.create_table()
    answer("inserted", await Band.insert(Band(name="Pythonistas"), Band(name="Rustaceans")))
    band = await Band.objects().get(Band.name == "Pythonistas")
    assert band is not None
    concert = Concert(
        band=band,
        price=decimal.Decimal("12.50"),
        at=dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC),
        length=dt.timedelta(hours=2, microseconds=1),
        tags=["a", "b"],
        facts={"k": [1, None]},
        photo=b"\0\xff",
    )
    await concert.save()
    left_out = {"key"}
    (row,) = await Concert.select(Concert.all_columns(), Concert.band.name)
    answer("row", {name: row[name] for name in row if name not in left_out})
    answer("by relation", await Concert.select(Concert.price).where(Concert.band.name == band.name))
    await Band.update({Band.popularity: Band.popularity + 7}).where(Band.name == "Rustaceans")
    answer("updated", await Band.select(Band.popularity).order_by(Band.name).output(as_list=True))
    answer("count", await Band.count())
    answer("grouped", await Concert.select(Concert.sold_out, Count()).group_by(Concert.sold_out))
    try:
        async with _ENGINE.transaction():
            await Band.insert(Band(name="third"))
            await Band.insert(Band(name="third"))
    except asyncpg.UniqueViolationError as error:
        answer("error", error)
    answer("rolled back", await Band.exists().where(Band.name == "third"))
    answer("raw", await Band.raw("SELECT name FROM band WHERE id = {}", band.id))
    await _ENGINE.start_connection_pool(min_size=1, max_size=3)
    counted = await asyncio.gather(*(Band.count().run() for _ in range(20)))
    answer("pool", counted)
    async with await Band.select(Band.name).order_by(Band.id).batch(batch_size=1) as batch:
        answer("batches", [rows async for rows in batch])
    await _ENGINE.close_connection_pool()


asyncio.run(main())

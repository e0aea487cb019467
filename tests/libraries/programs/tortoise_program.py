"""Tortoise ORM: models, relations, bulk inserts, transactions, errors, raw SQL, on its pool."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import uuid

import pytest

from tests.libraries.answers import DSN, answer, stand_in_for_asyncpg

stand_in_for_asyncpg()

import asyncpg  # noqa: E402
from tortoise import Tortoise, connections, fields  # noqa: E402
from tortoise.exceptions import IntegrityError, OperationalError  # noqa: E402
from tortoise.expressions import F  # noqa: E402
from tortoise.functions import Count  # noqa: E402
from tortoise.models import Model  # noqa: E402
from tortoise.transactions import in_transaction  # noqa: E402


class Shop(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(max_length=50, unique=True)
    items: fields.ReverseRelation[Item]

    class Meta:
        table = "shim_shop"


class Item(Model):
    id = fields.UUIDField(primary_key=True)
    name = fields.TextField()
    price = fields.DecimalField(max_digits=10, decimal_places=2)
    facts: fields.JSONField[dict[str, bool]] = fields.JSONField(default=dict)
    since = fields.DatetimeField(auto_now_add=True)
    photo = fields.BinaryField(null=True)
    shop: fields.ForeignKeyRelation[Shop] = fields.ForeignKeyField(
        "models.Shop", related_name="items"
    )

    class Meta:
        table = "shim_item"


async def models() -> None:
    """Rows as objects, written and read back."""
    shop = await Shop.create(name="corner")
    item = await Item.create(
        name="tea", price=decimal.Decimal("2.50"), facts={"hot": True}, photo=b"\0\xff", shop=shop
    )
    again = await Item.get(id=item.id).prefetch_related("shop")
    assert isinstance(again.id, uuid.UUID)
    assert (again.price, again.facts) == (decimal.Decimal("2.50"), {"hot": True})
    assert isinstance(again.since, dt.datetime)
    assert again.photo is not None
    assert bytes(again.photo) == b"\0\xff"
    assert again.shop.name == "corner"
    await Item.bulk_create(
        [Item(name=f"item {n}", price=n, shop=shop, id=uuid.uuid4()) for n in range(200)],
        batch_size=50,
    )
    assert await Item.all().count() == 201
    await Item.filter(name__startswith="item 1").update(price=F("price") + 1)
    counted = await Shop.annotate(count=Count("items")).values("name", "count")
    assert counted == [{"name": "corner", "count": 201}]


async def transactions() -> None:
    """Failures are rolled back, with Tortoise's error classes."""

    async def fail() -> None:
        async with in_transaction():
            await Shop.create(name="second")
            await Shop.create(name="corner")

    with pytest.raises(IntegrityError) as caught:
        await fail()
    assert isinstance(caught.value.args[0], asyncpg.UniqueViolationError)
    names: list[object] = list(await Shop.all().values_list("name", flat=True))
    assert names == ["corner"]
    async with in_transaction() as outer:
        await Shop.create(name="third", using_db=outer)
        with pytest.raises(IntegrityError):
            async with in_transaction() as inner:
                await Shop.create(name="third", using_db=inner)
        await outer.execute_query("SELECT 1")
    assert await Shop.all().count() == 2


async def raw() -> None:
    """Raw SQL, and concurrent queries on the pool."""
    connection = connections.get("default")
    count, rows = await connection.execute_query("SELECT $1::int AS n", [7])
    assert (count, rows[0]["n"]) == (1, 7)
    assert await connection.execute_query_dict("SELECT 1 AS a, 'x' AS b") == [{"a": 1, "b": "x"}]
    results = await asyncio.gather(
        *(connection.execute_query_dict("SELECT $1::int AS n", [n]) for n in range(50))
    )
    assert [rows[0]["n"] for rows in results] == list(range(50))
    with pytest.raises(OperationalError, match="no_such_table"):
        await connection.execute_query("SELECT * FROM no_such_table")


async def main(dsn: str) -> None:
    """Make the tables, run everything, and drop them again."""
    url = dsn.replace("postgresql://", "asyncpg://")
    await Tortoise.init(db_url=url, modules={"models": [__name__]})
    await Tortoise.generate_schemas()
    try:
        await models()
        await transactions()
        await raw()
    finally:
        await connections.get("default").execute_script(
            "DROP TABLE IF EXISTS shim_item; DROP TABLE IF EXISTS shim_shop"
        )
        await Tortoise.close_connections()
    answer("done", True)


asyncio.run(main(DSN))

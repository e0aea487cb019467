"""Columns by SQLAlchemy's execution, on blocking and asyncio connections and sessions."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

import colonnade
from colonnade.columns import Columns
from colonnade.sqlalchemy import column_types, fetch_columns, iter_columns
from tests.sqlalchemy.tables import Thing

pytestmark = pytest.mark.usefixtures("filled")

Within = Callable[..., Any]
IDS = sa.select(Thing.id).order_by(Thing.id)


def test_the_columns_are_those_of_the_rows(within: Within) -> None:
    statement = sa.select(Thing.id, Thing.price, Thing.name).order_by(Thing.id)

    def body(connection: sa.Connection) -> None:
        columns = fetch_columns(connection, statement)
        rows = connection.execute(statement).all()
        assert columns.names == ("id", "price", "name")
        assert [tuple(row.values()) for row in columns.to_pylist()] == [tuple(row) for row in rows]

    within(body)


def test_parameters_go_through_their_processors(within: Within) -> None:
    statement = sa.select(Thing.id).where(
        Thing.shade == sa.bindparam("shade"), Thing.id.in_(sa.bindparam("ids", expanding=True))
    )

    def body(connection: sa.Connection) -> None:
        for ids in ([1, 2, 4, 5], [7], []):
            columns = fetch_columns(connection, statement, {"shade": Thing_shade(2), "ids": ids})
            assert columns["id"].tolist() == [n for n in ids if n % 2 == 1]

    within(body)


def Thing_shade(number: int) -> Any:  # noqa: N802 - the column's own class
    return Thing.shade.type.python_type(number)


def test_statements_are_cached_and_events_told(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        told: list[tuple[str, Any]] = []
        sa.event.listen(
            connection,
            "before_cursor_execute",
            lambda _conn, _cursor, statement, values, context, _many: told.append(
                (statement, (values, context.cache_hit.name))
            ),
        )
        for number in (1, 2):
            found = fetch_columns(connection, sa.select(Thing.id).where(Thing.id == number))
            assert found["id"].tolist() == [number]
        texts, details = zip(*told, strict=True)
        assert texts[0] == texts[1]
        assert details[1] == ((2,), "CACHE_HIT")

    within(body)


def test_the_transaction_is_the_connections(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        connection.execute(sa.insert(Thing).values(id=1000))
        assert len(fetch_columns(connection, IDS.where(Thing.id == 1000))) == 1
        connection.rollback()
        assert len(fetch_columns(connection, IDS.where(Thing.id == 1000))) == 0

    within(body)


def test_types_that_the_select_declares(within: Within) -> None:
    statement = sa.select(Thing).order_by(Thing.id)
    schema = column_types(statement)
    assert schema == {
        "id": "int32",
        "small": "int16",
        "large": "int64",
        "is_new": "bool",
        "price": "decimal128(10, 2)",
        "rough": "float64",
        "ratio": "float64",
        "weight": "float64",
        "name": "utf8",
        "colour": "dictionary<int32, utf8>",
        "shade": "dictionary<int32, utf8>",
        "day": "date32",
        "clock": "time64[us]",
        "seen": "timestamp[us]",
        "moment": "timestamp[us, UTC]",
        "token": "fixed_size_binary[16]",
        "raw": "binary",
    }

    def body(connection: sa.Connection) -> None:
        columns = fetch_columns(connection, statement, schema=schema)
        got = {field.name: field.arrow_type for field in columns.fields}
        labels = "dictionary<values=utf8, indices=int32, ordered=0>"
        assert (got.pop("colour"), got.pop("shade")) == (labels, labels)
        others = {name: kind for name, kind in schema.items() if name in got}
        assert got == {**others, "facts": "utf8", "tags": "list<item: utf8>"}
        plain = fetch_columns(connection, statement)
        assert plain.to_pydict()["price"] == columns.to_pydict()["price"]

    within(body)


def test_what_expressions_declare() -> None:
    table = sa.table("t", sa.column("a", sa.Numeric(9, 2)), sa.column("b", sa.Numeric(9, 2)))
    money = sa.Column("money", sa.Numeric(9, 2))
    sa.Table("with_money", sa.MetaData(), money)
    statement = sa.select(
        sa.func.sum(money).label("total"),
        money.label("renamed"),
        sa.cast(money, sa.Float).label("rough"),
        (money * 2).label("twice"),
        sa.func.count().label("n"),
        table.c.a,
    )
    assert column_types(statement) == {"renamed": "decimal128(9, 2)", "rough": "float64"}
    assert column_types(sa.union_all(IDS.order_by(None), IDS.order_by(None))) == {"id": "int32"}
    with pytest.raises(TypeError, match="column_types takes a select, not TextClause"):
        column_types(sa.text("SELECT 1"))


class Doubled(sa.types.TypeDecorator[int]):
    """A type with a result processor, which SQLAlchemy applies to rows only."""

    impl = sa.SmallInteger
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        del dialect
        return None if value is None else value * 2

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        del dialect
        return value / 2


def test_what_python_makes_of_values_is_for_rows(within: Within) -> None:
    small = sa.Column("small", Doubled)
    table = sa.Table("columns_thing", sa.MetaData(), sa.Column("id", sa.Integer), small)
    statement = sa.select(table.c.id, small).where(small == 2, table.c.id < 40)
    assert column_types(statement)["small"] == "int16"

    def body(connection: sa.Connection) -> None:
        rows = connection.execute(statement).all()
        columns = fetch_columns(connection, statement)
        assert {row.small for row in rows} == {2}
        assert set(columns["small"].tolist()) == {4}
        assert sorted(columns["id"].tolist()) == sorted(row.id for row in rows)

    within(body)


def test_names_that_repeat_are_those_of_the_result(within: Within) -> None:
    other = sa.alias(Thing.__table__)
    statement = sa.select(Thing.id, other.c.id).join_from(Thing, other, other.c.id == Thing.id + 1)
    statement = statement.where(Thing.id == 1)
    columns = within(lambda it: fetch_columns(it, statement))
    assert columns.to_pylist() == [{"id": 1, "id_1": 2}]


def test_statements_of_text_and_returning(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        columns = fetch_columns(connection, sa.text("SELECT :a * 2 AS twice"), {"a": 4})
        assert columns["twice"].tolist() == [8]
        insert = sa.insert(Thing).values(id=1000).returning(Thing.id)
        assert fetch_columns(connection, insert)["id"].tolist() == [1000]
        connection.rollback()

    within(body)


def test_schema_and_infinity_are_the_drivers(within: Within) -> None:
    statement = sa.text("SELECT 1.5 AS a, date 'infinity' AS b")

    def body(connection: sa.Connection) -> None:
        columns = fetch_columns(connection, statement, schema={"a": float}, infinity="null")
        assert columns.to_pylist() == [{"a": 1.5, "b": None}]
        with pytest.raises(sa.exc.ProgrammingError, match='"nothing"'):
            fetch_columns(connection, statement, schema={"nothing": "int32"})
        with pytest.raises(sa.exc.DataError, match='"b"'):
            fetch_columns(connection, statement)
        connection.rollback()
        assert connection.scalar(sa.text("SELECT 1")) == 1

    within(body)


def test_a_timeout_leaves_the_connection_usable(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        with pytest.raises(sa.exc.OperationalError):
            fetch_columns(connection, sa.text("SELECT pg_sleep(60)"), timeout=0.05)
        connection.rollback()
        assert connection.scalar(sa.text("SELECT 1")) == 1

    within(body)


def test_a_session_flushes_and_finds_its_objects(url: sa.URL, engine: sa.Engine) -> None:
    del url
    with Session(engine) as session:
        session.add(Thing(id=1000, price=decimal.Decimal("1.25")))
        columns = fetch_columns(session, sa.select(Thing).where(Thing.id == 1000))
        assert columns["price"].tolist() == [decimal.Decimal("1.25")]
        assert len(columns.names) == len(Thing.__table__.c)
        session.rollback()
        batches = [*iter_columns(session, IDS, batch_rows=100)]
        assert np.concatenate([batch["id"] for batch in batches]).tolist() == list(range(300))


def test_events_of_a_session_are_told(engine: sa.Engine) -> None:
    with Session(engine) as session:

        @sa.event.listens_for(session, "do_orm_execute")
        def only_the_first(state: Any) -> None:
            state.statement = state.statement.where(Thing.id < 5)

        assert fetch_columns(session, IDS)["id"].tolist() == [0, 1, 2, 3, 4]


async def test_an_async_connection_and_session(async_engine: AsyncEngine) -> None:
    async with async_engine.connect() as connection:
        columns: Columns = await fetch_columns(connection, IDS.where(Thing.id < 3))
        assert columns["id"].tolist() == [0, 1, 2]
    async with AsyncSession(async_engine) as session:
        session.add(Thing(id=1000))
        assert len(await fetch_columns(session, IDS)) == 301
        await session.rollback()
        lengths = [len(batch) async for batch in iter_columns(session, IDS, batch_rows=128)]
        assert lengths == [128, 128, 44]


# Streams


def test_batches(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        batches = [*iter_columns(connection, IDS, batch_rows=128)]
        assert [len(batch) for batch in batches] == [128, 128, 44]
        (empty,) = iter_columns(connection, IDS.where(Thing.id < 0))
        assert (len(empty), empty.names) == (0, ("id",))
        with pytest.raises(ValueError, match="batch_rows must be 1 or more"):
            iter_columns(connection, IDS, batch_rows=0)

    within(body)


LONG = sa.text("SELECT n FROM generate_series(1, 1000000) AS n")
ONE = sa.text("SELECT 1")


def test_a_stream_is_closed_when_it_is_left(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        with iter_columns(connection, LONG, batch_rows=100) as batches:
            assert next(batches)["n"].tolist() == list(range(1, 101))
            with pytest.raises(sa.exc.InterfaceError, match="in progress"):
                connection.execute(ONE)
        assert connection.scalar(ONE) == 1
        assert [*batches] == []
        connection.commit()
        # Leaving a loop drops the iterator; if nothing closed it, its transaction would fail.
        for _ in iter_columns(connection, LONG, batch_rows=100):
            break
        connection.rollback()
        assert connection.scalar(ONE) == 1

    within(body)


async def test_an_async_stream_is_closed_when_it_is_left(async_engine: AsyncEngine) -> None:
    async with async_engine.connect() as connection:
        async with iter_columns(connection, LONG, batch_rows=100) as batches:
            async for batch in batches:
                assert len(batch) == 100
                break
        assert await connection.scalar(ONE) == 1
        await iter_columns(connection, LONG).aclose()


def test_an_error_in_the_middle_of_a_stream(within: Within) -> None:
    statement = sa.text("SELECT 1 / (200000 - n) AS x FROM generate_series(1, 300000) AS n")

    def body(connection: sa.Connection) -> None:
        count = 0
        batches = iter_columns(connection, statement, batch_rows=1000)

        def read() -> None:
            nonlocal count
            for batch in batches:
                count += len(batch)

        with pytest.raises(sa.exc.DataError, match="division by zero") as caught:
            read()
        assert 0 < count < 200_000
        assert caught.value.statement == str(statement)
        assert caught.value.orig is not None
        assert isinstance(caught.value.orig.__cause__, colonnade.PostgresError)
        connection.rollback()
        assert connection.scalar(ONE) == 1

    within(body)


def test_a_connection_that_is_lost_in_the_middle_of_a_stream(
    within: Within, engine: sa.Engine
) -> None:
    slow = sa.text("SELECT n, repeat('x', 1000) FROM generate_series(1, 1000000) AS n")

    def body(connection: sa.Connection) -> None:
        pid = connection.scalar(sa.text("SELECT pg_backend_pid()"))
        batches = iter_columns(connection, slow, batch_rows=10)
        next(batches)
        with engine.connect() as other:
            other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        with pytest.raises(sa.exc.DBAPIError) as caught:
            list(batches)
        assert caught.value.connection_invalidated
        assert connection.invalidated

    within(body)


# Errors


def test_another_dialect(url: sa.URL) -> None:
    engine = sa.create_engine(url.set(drivername="postgresql+psycopg"))
    with engine.connect() as connection, pytest.raises(TypeError, match=r"not postgresql\+psycopg"):
        fetch_columns(connection, IDS)
    engine.dispose()


def test_what_is_no_statement(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        with pytest.raises(TypeError, match=r"text\(\)"):
            fetch_columns(connection, "SELECT 1")  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="one mapping"):
            fetch_columns(connection, IDS, [{}])  # type: ignore[call-overload]

    within(body)

"""`in_array` with one parameter for many values finds the same rows as IN."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa

from colonnade.sqlalchemy import fetch_columns, in_array
from tests.sqlalchemy.tables import Colour, Thing

pytestmark = pytest.mark.usefixtures("filled")

Within = Callable[..., Any]

LISTS: list[tuple[Any, list[Any]]] = [
    (Thing.id, [1, 2, 5, 1000]),
    (Thing.small, [0, 3]),
    (Thing.large, [2**33, 2**40]),
    (Thing.price, [decimal.Decimal("0.5"), decimal.Decimal(1)]),
    (Thing.weight, [0.125, 0.25]),
    (Thing.name, ["name 1", "name 2", 'with "quotes", {braces} and \\']),
    (Thing.colour, [Colour.RED]),
    (Thing.shade, [Colour.BLUE, Colour.RED]),
    (Thing.day, [dt.date(2020, 1, 2)]),
    (Thing.moment, [dt.datetime(2020, 1, 1, 1, tzinfo=dt.UTC)]),
    (Thing.token, [uuid.UUID(int=1), uuid.UUID(int=2)]),
    (Thing.is_new, [True]),
    (Thing.id + 1, [2, 3]),
]


def ids(connection: sa.Connection, condition: Any) -> list[int]:
    return list(connection.scalars(sa.select(Thing.id).where(condition).order_by(Thing.id)))


@pytest.mark.parametrize(("column", "values"), LISTS, ids=lambda it: str(it)[:30])
def test_lists_find_what_in_finds(column: Any, values: list[Any], within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        found = ids(connection, in_array(column, values))
        assert found
        assert found == ids(connection, column.in_(values))
        assert ids(connection, ~in_array(column, values)) == ids(connection, column.not_in(values))
        assert ids(connection, in_array(column, (value for value in values))) == found

    within(body)


ARRAYS: list[tuple[Any, Any]] = [
    (Thing.id, np.array([1, 2, 5])),
    (Thing.id, np.array([1, 2, 5], dtype=np.uint16)),
    (Thing.id, np.arange(0, 12)[::3]),
    (Thing.large, np.array([2**33, 2**34])),
    (Thing.weight, np.array([0.125, 0.25])),
    (Thing.name, np.array(["name 1", "name 2"])),
    (Thing.name, np.array(["name 1", "name 2"], dtype=object)),
    (Thing.day, np.array(["2020-01-02", "2020-01-03"], dtype="datetime64[D]")),
    (Thing.seen, np.array(["2020-01-01T01"], dtype="datetime64[us]")),
    (Thing.is_new, np.array([True])),
    (Thing.id, pd.Series([1, 2, 5])),
    (Thing.name, pd.Series(["name 1", "name 2"])),
    (Thing.id, pl.Series([1, 2, 5])),
    (Thing.name, pl.Series(["name 1"])),
    (Thing.id, pa.array([1, 2, 5])),
    (Thing.id, pa.chunked_array([[1, 2], [5]])),
]


@pytest.mark.parametrize(("column", "values"), ARRAYS, ids=lambda it: f"{type(it).__name__}")
def test_arrays_find_what_in_finds(column: Any, values: Any, within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        found = ids(connection, in_array(column, values))
        assert found
        assert found == ids(connection, column.in_(list(map(plain, values))))

    within(body)


def plain(value: Any) -> Any:
    if hasattr(value, "as_py"):
        return value.as_py()
    return value.item() if hasattr(value, "item") else value


def test_null_and_nan_and_nothing_at_all(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        for values in ([1, None], pd.array([1, None], dtype="Int64"), pa.array([1, None])):
            assert ids(connection, in_array(Thing.id, values)) == [1]
            assert ids(connection, ~in_array(Thing.id, values)) == []
        masked = np.ma.array([1, 2], mask=[False, True])
        assert ids(connection, in_array(Thing.id, masked)) == [1]
        nothing: Any
        for nothing in ([], np.array([], dtype=np.int64)):
            assert ids(connection, in_array(Thing.id, nothing)) == []
            assert len(ids(connection, ~in_array(Thing.id, nothing))) == 300
        # A row with NULL is neither in nor out.
        missing = sa.select(sa.func.count()).where(in_array(Thing.small, [0]).is_(None))
        assert connection.scalar(missing) == 100
        nan = sa.select(in_array(sa.cast(sa.literal("NaN"), sa.Double), np.array([np.nan])))
        assert connection.scalar(nan) is True

    within(body)


def test_one_statement_however_many_values(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        texts: set[str] = set()
        sa.event.listen(
            connection,
            "before_cursor_execute",
            lambda _conn, _cursor, statement, *_: texts.add(statement),
        )
        for count in (1, 1000, 200_000):
            select = sa.select(Thing.id).where(in_array(Thing.id, np.arange(count)))
            assert len(fetch_columns(connection, select)) == min(count, 300)
        (text,) = texts
        assert text.endswith("= ANY ($1::INTEGER[])")

    within(body)


def test_a_value_that_does_not_fit(within: Within) -> None:
    def body(connection: sa.Connection) -> None:
        with pytest.raises(sa.exc.DataError, match="int4"):
            ids(connection, in_array(Thing.id, np.array([2**40])))
        connection.rollback()
        with pytest.raises(sa.exc.DataError):
            ids(connection, in_array(Thing.id, np.array([1.5])))

    within(body)


@pytest.mark.parametrize("values", ["text", b"bytes", 5, None, {"a": 1}])
def test_what_is_no_list(values: Any) -> None:
    with pytest.raises(TypeError, match="takes an array or a list"):
        in_array(Thing.id, values)


def test_what_is_no_column_of_single_values() -> None:
    with pytest.raises(TypeError, match="a column or an expression, not str"):
        in_array("id", [1])
    with pytest.raises(ValueError, match="has no type"):
        in_array(sa.column("x"), [1])
    with pytest.raises(ValueError, match="has arrays"):
        in_array(Thing.tags, [["a"]])
    with pytest.raises(ValueError, match="one dimension, not with 2"):
        in_array(Thing.id, np.zeros((2, 2), dtype=int))

"""`Columns.group_by`: groups as objects, their rows, errors."""

from __future__ import annotations

import datetime as dt
import threading
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.columns import Columns
    from colonnade.sync import Connection

ORDERS = """
    select * from (values
        (1, 'Oslo',   1.50::numeric(9,2), true,  date '2024-01-01', null::float8),
        (2, 'Bergen', 2.25,               false, date '2024-01-02', 0.5),
        (3, 'Oslo',   null,               null,  date '2023-12-31', 'NaN'),
        (4, null,     4.00,               true,  null,              1.5),
        (5, 'Oslo',   5.75,               false, date '2024-05-05', 2.5)
    ) t (id, city, price, paid, day, weight)
"""


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


@pytest.fixture(scope="module")
def orders(connection: Connection) -> Columns:
    return connection.fetch_columns(ORDERS)


def integers(connection: Connection, keys: str, rows: int) -> Columns:
    return connection.fetch_columns(
        f"select ({keys})::int8 as k, i::int8 as v from generate_series(0::int8, {rows - 1}) i"
    )


def test_the_parts_of_groups(orders: Columns) -> None:
    groups = orders.group_by("city")
    assert len(groups) == 3
    assert groups.keys["city"].tolist() == ["Oslo", "Bergen", None]
    assert groups.codes.tolist() == [0, 1, 0, 2, 0]
    assert groups.order.tolist() == [0, 2, 4, 1, 3]
    assert groups.offsets.tolist() == [0, 3, 4, 5]
    assert [array.dtype for array in (groups.codes, groups.order, groups.offsets)] == [
        np.dtype("int32"),
        np.dtype("int64"),
        np.dtype("int64"),
    ]
    for array in (groups.codes, groups.order, groups.offsets):
        assert not array.flags.writeable
    assert repr(groups) == '<Groups by "city": 3 groups of 5 rows>'


def test_null_is_a_group_or_dropped(orders: Columns) -> None:
    groups = orders.group_by("city", nulls="drop")
    assert groups.codes.tolist() == [0, 1, 0, -1, 0]
    assert groups.order.tolist() == [0, 2, 4, 1]
    assert groups.sum("price").to_pydict() == {
        "city": ["Oslo", "Bergen"],
        "price": [Decimal("7.25"), Decimal("2.25")],
    }
    assert groups["Bergen"]["id"].tolist() == [2]


def test_sorted_groups_have_null_last(orders: Columns) -> None:
    groups = orders.group_by("city", sort=True)
    assert groups.keys["city"].tolist() == ["Bergen", "Oslo", None]
    assert groups.codes.tolist() == [1, 0, 1, 2, 1]
    assert groups.order.tolist() == [1, 0, 2, 4, 3]


def test_rows_of_a_group(orders: Columns) -> None:
    groups = orders.group_by("city")
    assert groups["Oslo"]["id"].tolist() == [1, 3, 5]
    assert groups[None]["id"].tolist() == [4]
    assert "Oslo" in groups
    assert "Trondheim" not in groups
    assert [1] not in groups
    assert [(key, rows["id"].tolist()) for key, rows in groups] == [
        ("Oslo", [1, 3, 5]),
        ("Bergen", [2]),
        (None, [4]),
    ]
    with pytest.raises(KeyError, match="no group has the key 'Trondheim': there are 3 groups"):
        groups["Trondheim"]


def test_rows_of_a_group_of_several_keys(orders: Columns) -> None:
    groups = orders.group_by("city", "paid")
    assert groups["Oslo", None]["id"].tolist() == [3]
    assert [key for key, _ in groups] == [
        ("Oslo", True),
        ("Bergen", False),
        ("Oslo", None),
        (None, True),
        ("Oslo", False),
    ]


def test_nan_is_a_key(orders: Columns) -> None:
    groups = orders.group_by("weight")
    assert groups[float("nan")]["id"].tolist() == [3]
    assert groups[None]["id"].tolist() == [1]


def test_lists_are_keys(connection: Connection) -> None:
    cols = connection.fetch_columns(
        "select * from (values (1, '{1,2}'::int4[]), (2, '{3}'), (3, '{1,2}')) t (id, list)"
    )
    groups = cols.group_by("list")
    assert groups[[1, 2]]["id"].tolist() == [1, 3]


def test_keys_that_are_one_object_in_python(connection: Connection) -> None:
    cols = connection.fetch_columns(
        "select * from (values (interval '12 months', timetz '12:00+00', 1), "
        "('365 days', '13:00+01', 2), ('1 day', '13:00+01', 3)) t(span, noon, v)"
    )
    for name, key in (
        ("span", dt.timedelta(365)),
        ("noon", dt.time(12, tzinfo=dt.UTC)),
    ):
        groups = cols.group_by(name)
        assert next(rows["v"].tolist() for _, rows in groups) == [1]
        assert key in groups
        with pytest.raises(KeyError, match=r"several groups have keys that are all datetime\."):
            groups[key]
    assert cols.group_by("span")[dt.timedelta(1)]["v"].tolist() == [3]
    assert cols.group_by("span", "v")[dt.timedelta(365), 2]["v"].tolist() == [2]


def test_groups_are_views(connection: Connection) -> None:
    cols = integers(connection, "i % 3", 30)
    groups = cols.group_by("k")
    assert np.shares_memory(groups[0]["v"], groups[0]["v"])
    ordered = integers(connection, "i / 10", 30)
    groups = ordered.group_by("k")
    assert np.shares_memory(groups[1]["v"], ordered["v"])
    assert groups[1]["v"].tolist() == list(range(10, 20))


def test_several_aggregates(orders: Columns) -> None:
    found = orders.group_by("city").aggregate(
        total=("price", "sum"),
        prices=("price", "count"),
        rows="size",
        dearest=("price", "max"),
        paid=("paid", "max"),
        latest=("day", "max"),
        kinds=("paid", "nunique"),
        weight=("weight", "max"),
    )
    assert found.names == (
        *("city", "total", "prices", "rows", "dearest", "paid", "latest", "kinds", "weight"),
    )
    assert [field.type_name for field in found.fields] == [
        *("text", "numeric", "int8", "int8", "numeric", "bool", "date", "int8", "float8"),
    ]
    rows = found.to_pylist()
    assert rows[1] == {
        "city": "Bergen",
        "total": Decimal("2.25"),
        "prices": 1,
        "rows": 1,
        "dearest": Decimal("2.25"),
        "paid": False,
        "latest": date(2024, 1, 2),
        "kinds": 1,
        "weight": 0.5,
    }
    assert rows[0]["prices"] == 2
    assert rows[0]["rows"] == 3
    assert np.isnan(rows[0]["weight"])
    assert rows[2]["latest"] is None


def test_a_group_of_only_nulls(orders: Columns) -> None:
    groups = orders.group_by("id")
    assert groups.sum("price")["price"][2] is None
    assert groups.mean("weight").null_mask("weight").tolist() == [True] + [False] * 4
    assert np.isnan(groups.sum("weight")["weight"][0])
    assert groups.count("price")["price"].tolist() == [1, 1, 0, 1, 1]
    assert np.isnat(groups.min("day")["day"][3])


def test_count_and_size(orders: Columns) -> None:
    groups = orders.group_by("city")
    assert groups.size().to_pydict() == {"city": ["Oslo", "Bergen", None], "size": [3, 1, 1]}
    assert groups.count().to_pydict()["count"] == [3, 1, 1]
    assert groups.count("price", "day").to_pydict() == {
        "city": ["Oslo", "Bergen", None],
        "price": [2, 1, 1],
        "day": [3, 1, 0],
    }


def test_apply(orders: Columns) -> None:
    groups = orders.group_by("city")
    assert groups.apply(len) == [3, 1, 1]
    assert groups.apply(lambda rows: rows["id"].sum()) == [9, 2, 4]
    assert groups.apply(np.sum, "id") == [9, 2, 4]
    assert groups.apply(lambda ids, paid: ids[paid.filled(0)].tolist(), "id", "paid") == [
        [1],
        [],
        [4],
    ]
    with pytest.raises(ZeroDivisionError):
        groups.apply(lambda ids: 1 / len(ids[:0]), "id")


def test_no_rows(connection: Connection) -> None:
    groups = integers(connection, "i", 0).group_by("k")
    assert len(groups) == 0
    assert groups.sum("v").to_pydict() == {"k": [], "v": []}
    assert groups.offsets.tolist() == [0]
    assert list(groups) == []
    assert groups.apply(len) == []


def test_the_groups_of_the_idea(connection: Connection) -> None:
    """Code that sorts the keys but not the values puts values into foreign groups."""
    cols = connection.fetch_columns(
        "select k, v from (values (2, 10), (1, 20), (2, 30), (1, 40), (3, 50)) t (k, v)"
    )
    keys, values = cols["k"], cols["v"]
    known, inverse = np.unique(keys, return_inverse=True)
    ends = np.bincount(inverse).cumsum()[:-1]
    wrong = [part.tolist() for part in np.split(values, ends)]
    assert wrong == [[10, 20], [30, 40], [50]]
    right = cols.group_by("k", sort=True)
    assert right.keys["k"].tolist() == known.tolist()
    assert right.apply(np.ndarray.tolist, "v") == [[20, 40], [10, 30], [50]]


@pytest.mark.parametrize("rows", [100, 50_000, 300_000])
@pytest.mark.parametrize("keys", ["i / 7", "(i * 7919) % 1000", "i * 2654435761 % 1000003", "1"])
def test_sums_are_those_of_pandas(connection: Connection, rows: int, keys: str) -> None:
    cols = integers(connection, keys, rows)
    frame = pd.DataFrame({"k": cols["k"].copy(), "v": cols["v"].copy()})
    for sort in (False, True):
        want = frame.groupby("k", sort=sort)["v"].agg(["sum", "min", "last", "nunique"])
        groups = cols.group_by("k", sort=sort)
        found = groups.aggregate(
            sum=("v", "sum"), min=("v", "min"), last=("v", "last"), nunique=("v", "nunique")
        )
        assert found["k"].tolist() == want.index.tolist()
        for name in ("sum", "min", "last", "nunique"):
            assert np.array_equal(found[name], want[name])


def test_sums_beyond_int64(connection: Connection) -> None:
    cols = connection.fetch_columns(
        "select 1 as k, v from (values (9223372036854775807::int8), (1)) t (v)"
    )
    with pytest.raises(OverflowError, match='"v" exceeds int64: select the column as numeric'):
        cols.group_by("k").sum("v")
    assert cols.group_by("k").mean("v")["v"].tolist() == [2.0**62]


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [
        ((), ValueError, "nothing to group by"),
        (("city", "city"), ValueError, 'the key "city" is named twice'),
        (("ctiy",), KeyError, 'no column "ctiy": did you mean "city"'),
        ((1,), TypeError, "a key must be a str"),
    ],
)
def test_wrong_keys(
    orders: Columns, names: tuple[Any, ...], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        orders.group_by(*names)


def test_wrong_options(orders: Columns) -> None:
    with pytest.raises(ValueError, match='nulls must be "group" or "drop", not \'keep\''):
        orders.group_by("city", nulls="keep")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sort must be True or False"):
        orders.group_by("city", sort="yes")  # type: ignore[arg-type]
    by_name = orders.group_by("city", sort=1)  # type: ignore[arg-type]
    assert by_name.keys["city"].tolist() == ["Bergen", "Oslo", None]


def test_wrong_aggregates(orders: Columns) -> None:
    groups = orders.group_by("city")
    text = 'there is no sum of "paid": its type is bool, which has count, min, max, first, last'
    with pytest.raises(TypeError, match=text):
        groups.sum("paid")
    with pytest.raises(KeyError, match='no column "prize": did you mean "price"'):
        groups.sum("prize")
    with pytest.raises(TypeError, match=r"sum\(\) needs the names of columns"):
        groups.sum()
    with pytest.raises(ValueError, match='"city" is a key: name its max otherwise'):
        groups.max("city")
    with pytest.raises(ValueError, match='the column "price" is named twice'):
        groups.sum("price", "price")
    with pytest.raises(ValueError, match='"city" is a key'):
        groups.aggregate(city=("price", "sum"))
    with pytest.raises(ValueError, match='no aggregate "median": there are count, sum, mean'):
        groups.aggregate(middle=("price", "median"))
    with pytest.raises(TypeError, match="middle must be a pair such as"):
        groups.aggregate(middle="price")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match='no column "prize"'):
        groups.aggregate(total=("prize", "sum"))


def test_duplicate_names(connection: Connection) -> None:
    cols = connection.fetch_columns("select 1 as k, 2 as k, 3 as v")
    with pytest.raises(KeyError, match='several columns are named "k"'):
        cols.group_by("k")


def test_one_object_in_many_threads(connection: Connection) -> None:
    cols = integers(connection, "i * 7919 % 5000", 200_000)
    want = cols.group_by("k").sum("v")["v"].tolist()
    groups = cols.group_by("k")
    found: list[list[int]] = []

    def work() -> None:
        found.append(groups.sum("v")["v"].tolist())
        assert len(groups[0]) == 40

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [want] * 8

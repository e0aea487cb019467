"""Rows and columns chosen from `Columns`, compared with pyarrow and NumPy for every type."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import colonnade
from colonnade import Columns
from tests.columns.every_type import EVERY, MADE_TYPES, in_chunks, query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection
    from tests.columns.conftest import Fetch

every_type = pytest.mark.parametrize("sql_type", EVERY)
masks = st.lists(st.sampled_from([True, False, None]), min_size=5, max_size=5)
positions = st.lists(st.integers(-5, 4), max_size=12)


@pytest.fixture(scope="module")
def link(dsn: str) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn, server_settings={"timezone": "UTC"}) as connection:
        connection.execute("create schema selected_types")
        connection.execute("set search_path to selected_types, public")
        connection.execute(MADE_TYPES)
        yield connection
        connection.execute("drop schema selected_types cascade")


def forms(link: Connection, sql_type: str) -> list[Columns]:
    """Five rows of a type, in one and in several chunks."""
    columns = link.fetch_columns(query(sql_type))
    return [columns, columns[:], *in_chunks(columns)]


def check_same(chosen: Columns, table: pa.Table, array: Any) -> None:
    """The rows as pyarrow's table and NumPy's array have them; the slots of NULL, too."""
    exported = pa.table(chosen)
    exported.validate(full=True)
    assert exported.schema.equals(table.schema, check_metadata=True)
    assert repr(exported["v"].to_pylist()) == repr(table["v"].to_pylist())
    assert repr(chosen["v"].tolist()) == repr(array.tolist())
    assert chosen["v"].dtype == array.dtype


@every_type
def test_filter_of_every_type(link: Connection, sql_type: str) -> None:
    whole = link.fetch_columns(query(sql_type))
    table, array = pa.table(whole), whole["v"]
    choices = forms(link, sql_type)

    @settings(max_examples=15, deadline=None)
    @given(masks)
    def check(mask: list[bool | None]) -> None:
        wanted = table.filter(pa.array(mask, pa.bool_()))
        rows = np.array([value is True for value in mask])
        for columns in choices:
            for form in (mask, rows, pa.array(mask, pa.bool_())):
                check_same(columns.filter(form), wanted, array[rows])

    check()


@every_type
def test_take_of_every_type(link: Connection, sql_type: str) -> None:
    whole = link.fetch_columns(query(sql_type))
    table, array = pa.table(whole), whole["v"]
    choices = forms(link, sql_type)

    @settings(max_examples=15, deadline=None)
    @given(positions)
    def check(rows: list[int]) -> None:
        numbers = np.array(rows, dtype="i8")
        wanted = table.take(pa.array(numbers % 5))
        for columns in choices:
            for form in (rows, numbers, pa.array(rows, pa.int64())):
                check_same(columns.take(form), wanted, array[numbers])

    check()


@every_type
def test_the_types_of_postgresql_are_kept(link: Connection, sql_type: str) -> None:
    columns = link.fetch_columns(query(sql_type))
    rows = columns.to_pylist()
    mask = [True, False, True, True, False]
    for chosen in (columns.filter(mask), columns.take([0, 2, 3])):
        assert [(f.type_oid, f.arrow_type) for f in chosen.fields] == [
            (f.type_oid, f.arrow_type) for f in columns.fields
        ]
        assert chosen.to_pylist() == [rows[0], rows[2], rows[3]]
    other = columns.rename({"v": "w"}).with_columns(v=columns.select("v")).select("v")
    assert other.to_pylist() == rows
    assert other.fields[0].type_oid == columns.fields[0].type_oid


@pytest.fixture(scope="module")
def cols(fetch: Fetch) -> Columns:
    return fetch(
        "select g::int4 as id, 'item ' || g as name, g * 1.5::float8 as price, "
        "case when g % 3 > 0 then g % 2 = 0 end as is_even, "
        "date '2024-01-01' + g::int4 as day from generate_series(0, 99) g"
    )


def ids(columns: Columns) -> list[int]:
    found: list[int] = columns["id"].tolist()
    return found


def test_masks_of_every_library(cols: Columns) -> None:
    plain = cols["id"] % 7 == 0
    wanted = list(range(0, 100, 7))
    strided = np.repeat(plain, 2)[::2]
    for mask in (
        plain,
        strided,
        plain.tolist(),
        tuple(plain),
        plain.astype(object),
        pa.array(plain),
        pa.chunked_array([plain[:30], plain[30:]]),
        pl.Series(plain),
        pd.Series(plain, index=range(100, 0, -1)),
        pd.Series(plain, dtype="boolean"),
        pd.Series(plain, dtype="bool[pyarrow]"),
        np.ma.MaskedArray(plain, mask=False),
    ):
        assert ids(cols.filter(mask)) == wanted, type(mask)
    # NULL is not true.
    even = [row for row in range(100) if row % 3 and row % 2 == 0]
    assert ids(cols.filter(cols["is_even"])) == even
    assert ids(cols.filter(cols.select("is_even"))) == even
    assert ids(cols.filter(cols.to_pandas()["is_even"])) == even
    assert ids(cols.filter(cols.to_polars()["is_even"])) == even
    assert ids(cols.filter(cols.to_arrow()["is_even"])) == even
    assert ids(cols.filter(cols["is_even"].astype(object))) == even


def test_masks_that_are_refused(cols: Columns) -> None:
    with pytest.raises(ValueError, match="the mask has 3 values, and there are 100 rows"):
        cols.filter([True, False, True])
    with pytest.raises(TypeError, match=r"booleans, not int32 of NumPy; take\(\) chooses"):
        cols.filter(cols["id"])
    with pytest.raises(TypeError, match="booleans, not int64 of Arrow"):
        cols.filter(pa.array([1, 2]))
    with pytest.raises(TypeError, match="booleans, not int, at position 1"):
        cols.filter([True, 1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="booleans, not str"):
        cols.filter("yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one dimension, not 2"):
        cols.filter(np.ones((10, 10), dtype=bool))
    with pytest.raises(ValueError, match="these Columns have 5 columns, and one is needed"):
        cols.filter(cols)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8"])
def test_positions_of_every_width(cols: Columns, dtype: str) -> None:
    rows = np.array([7, 0, 99, 7], dtype=dtype)
    assert ids(cols.take(rows)) == [7, 0, 99, 7]
    assert ids(cols.take(np.repeat(rows, 2)[::2])) == [7, 0, 99, 7]
    if "i" in dtype:
        assert ids(cols.take(-rows[:1])) == [93]
    if not dtype.startswith(">"):
        assert ids(cols.take(pa.array(rows))) == [7, 0, 99, 7]
        assert ids(cols.take(pl.Series(rows))) == [7, 0, 99, 7]
    assert ids(cols.take(pd.Series(rows))) == [7, 0, 99, 7]


def test_positions_of_other_forms(cols: Columns) -> None:
    assert ids(cols.take([np.int8(3), 5, -1])) == [3, 5, 99]
    assert ids(cols.take(())) == []
    assert ids(cols.take(np.array([], dtype="i8"))) == []
    assert ids(cols.take(cols.select("id")[5:8])) == [5, 6, 7]
    assert ids(cols.take(np.argsort(-cols["price"])[:3])) == [99, 98, 97]
    assert ids(cols.take(range(98, 90, -3))) == [98, 95, 92]
    assert ids(cols.take(range(-3, 0))) == [97, 98, 99]
    assert ids(cols.take(range(-1, 2))) == [99, 0, 1]
    assert ids(cols.take(range(5, 5))) == []
    part = cols.take(range(10, 20))
    assert ids(part) == list(range(10, 20))
    assert np.shares_memory(part["price"], cols["price"])


def test_positions_that_are_refused(cols: Columns) -> None:
    with pytest.raises(IndexError, match="no row 100, the position at 1: there are 100 rows"):
        cols.take([0, 100])
    for wrong in ([-101], np.array([-101]), range(-101, 5), pa.array([-101])):
        with pytest.raises(IndexError, match="no row -101, the position at 0"):
            cols.take(wrong)
    with pytest.raises(IndexError, match="no row 18446744073709551615"):
        cols.take(np.array([2**64 - 1], dtype="u8"))
    with pytest.raises(IndexError, match="more than 64 bits"):
        cols.take([2**70])
    with pytest.raises(ValueError, match="the position at 1 is NULL"):
        cols.take(pa.array([1, None]))
    with pytest.raises(ValueError, match="a position is masked"):
        cols.take(np.ma.MaskedArray([1, 2], mask=[False, True]))
    with pytest.raises(TypeError, match=r"not booleans; filter\(\) chooses"):
        cols.take(np.ones(100, dtype=bool))
    with pytest.raises(TypeError, match=r"not booleans; filter\(\) chooses"):
        cols.take([True])
    with pytest.raises(TypeError, match="whole numbers, not float64 of NumPy"):
        cols.take(np.array([1.0]))
    with pytest.raises(TypeError, match="whole numbers, not float, at position 0"):
        cols.take([1.0])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="whole numbers, not str"):
        cols.take("1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one dimension, not 2"):
        cols.take(np.ones((2, 2), dtype="i8"))


def test_rows_from_either_end(cols: Columns) -> None:
    assert ids(cols.tail(3)) == [97, 98, 99]
    assert ids(cols.tail(0)) == []
    assert ids(cols.tail(1000)) == list(range(100))
    assert ids(cols.tail(-98)) == [98, 99]
    assert ids(cols.tail(-200)) == []
    assert ids(cols.slice(98)) == [98, 99]
    assert ids(cols.slice(-2)) == [98, 99]
    assert ids(cols.slice(10, 2)) == [10, 11]
    assert ids(cols.slice(-10, 2)) == [90, 91]
    assert ids(cols.slice(99, 5)) == [99]
    assert ids(cols.slice(200, 5)) == []
    assert np.shares_memory(cols.slice(3, 4)["price"], cols["price"])
    with pytest.raises(ValueError, match="length must be 0 or more, not -1"):
        cols.slice(0, -1)


def test_select_shares(cols: Columns) -> None:
    chosen = cols.select("price", "id", -1)
    assert chosen.names == ("price", "id", "day")
    assert np.shares_memory(chosen["price"], cols["price"])
    assert cols.select().shape == (100, 0)
    with pytest.raises(KeyError, match='no column "nam": did you mean "name"'):
        cols.select("nam")
    with pytest.raises(ValueError, match='column "id" is chosen 2 times'):
        cols.select("id", 0)
    whole = Columns.concat([cols[:50], cols[50:]])
    alone = whole.select("price")
    assert np.shares_memory(alone["price"], whole["price"])


def test_rename(cols: Columns) -> None:
    renamed = cols.rename({"id": "name", "name": "id"})
    assert renamed.names == ("name", "id", "price", "is_even", "day")
    assert renamed["id"][1] == "item 1"
    assert renamed.to_arrow().column_names == list(renamed.names)
    with pytest.raises(KeyError, match='no column "nam"'):
        cols.rename({"nam": "x"})
    with pytest.raises(ValueError, match='2 columns would have the name "id"'):
        cols.rename({"name": "id"})
    with pytest.raises(TypeError, match="must be a mapping of old to new names, not"):
        cols.rename("id")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a str, not int"):
        cols.rename({"id": 3})  # type: ignore[dict-item]


def test_with_columns(cols: Columns) -> None:
    made = cols.with_columns(price=cols["price"] * 2, total=np.arange(100), **{"of all": [1] * 100})
    assert made.names == ("id", "name", "price", "is_even", "day", "total", "of all")
    assert made["price"].tolist() == (cols["price"] * 2).tolist()
    assert made.dtypes["total"] == "int64"
    assert np.shares_memory(made["id"], cols["id"])
    assert cols.with_columns({"my name": cols["id"]}).names[-1] == "my name"
    chunked = Columns.concat([cols[:40], cols[40:]]).with_columns(total=np.arange(100))
    assert pa.table(chunked).column("total").to_pylist() == list(range(100))
    assert chunked.filter(chunked["total"] < 3).to_pydict()["total"] == [0, 1, 2]


MOMENT = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
TAKEN: list[tuple[Any, list[Any]]] = [
    (np.array([1, 2, 3], dtype="i2"), [1, 2, 3]),
    (np.array([1.5, np.nan, 3.0]), [1.5, np.nan, 3.0]),
    (np.array([True, False, True]), [True, False, True]),
    (np.array(["a", "", "longer than twelve"]), ["a", "", "longer than twelve"]),
    (np.array(["a", None, "c"], dtype=object), ["a", None, "c"]),
    (np.array(["a", "b", "c"], dtype=np.dtypes.StringDType()), ["a", "b", "c"]),
    (np.ma.MaskedArray([1, 2, 3], mask=[False, True, False]), [1, None, 3]),
    (
        np.array(["2024-02-29", "NaT", "2024-03-01"], dtype="M8[us]"),
        [dt.datetime(2024, 2, 29), None, dt.datetime(2024, 3, 1)],
    ),
    (
        np.array(["2024-02-29", "NaT", "2024-03-01"], dtype="M8[D]"),
        [dt.date(2024, 2, 29), None, dt.date(2024, 3, 1)],
    ),
    ([1, None, 3], [1, None, 3]),
    ([1, None, 2.5], [1.0, None, 2.5]),
    ([True, None, False], [True, None, False]),
    (["a", None, "c"], ["a", None, "c"]),
    ((b"a", None, b""), [b"a", None, b""]),
    (range(3), [0, 1, 2]),
    ([MOMENT, None, MOMENT], [MOMENT, None, MOMENT]),
    ([MOMENT.date(), None, MOMENT.date()], [MOMENT.date(), None, MOMENT.date()]),
    (pa.array([1.5, None, 2.5]), [1.5, None, 2.5]),
    (pa.chunked_array([["a"], [None, "c"]]), ["a", None, "c"]),
    (pa.array([[1, 2], None, []]), [[1, 2], None, []]),
    (
        pa.array([decimal.Decimal("1.50"), None, decimal.Decimal(2)]),
        [decimal.Decimal("1.50"), None, decimal.Decimal("2.00")],
    ),
    (pa.array([uuid.UUID(int=7).bytes] * 3, pa.uuid()), [uuid.UUID(int=7)] * 3),
    (pl.Series(["a", None, "longer than twelve"]), ["a", None, "longer than twelve"]),
    (pl.Series([1, None, 3]), [1, None, 3]),
    (pd.Series([1, 2, 3], index=[9, 8, 7]), [1, 2, 3]),
    (pd.Series([1, None, 3], dtype="Int64"), [1, None, 3]),
    (pd.Series(["a", None, "c"]), ["a", None, "c"]),
    (pd.Series([1, None, 3], dtype="int32[pyarrow]"), [1, None, 3]),
    (pd.Series(["a", None, "a"], dtype="category"), ["a", None, "a"]),
    (pd.Series([MOMENT, None, MOMENT], dtype="M8[us, UTC]"), [MOMENT, None, MOMENT]),
    (pd.array([1, None, 3], dtype="Int64"), [1, None, 3]),
    (pd.Index([1, None, 3], dtype="Int64"), [1, None, 3]),
    (pd.Categorical(["a", None, "a"]), ["a", None, "a"]),
    (pd.array([MOMENT, None, MOMENT], dtype="M8[us, UTC]"), [MOMENT, None, MOMENT]),
    (pd.array(["a", None, "c"], dtype="str"), ["a", None, "c"]),
    (pd.array([1, None, 3], dtype="int32[pyarrow]"), [1, None, 3]),
    ([1.5, None, 2**60], [1.5, None, 2.0**60]),
]


@pytest.mark.parametrize(("value", "wanted"), TAKEN, ids=[str(row) for row in range(len(TAKEN))])
def test_arrays_become_columns(cols: Columns, value: Any, wanted: list[Any]) -> None:
    for base in (cols[:3], Columns.concat([cols[:1], cols[1:3]])):
        made = base.with_columns(x=value)
        assert repr(made.to_pydict()["x"]) == repr(wanted)
        assert made.null_mask("x").tolist() == [value is None for value in wanted]
        assert repr(made)
        assert made.to_pandas().shape == made.to_polars().shape == (3, 6)
        array = made["x"]
        if array.dtype.kind in "fmM":
            # The slot of a NULL has NumPy's missing value.
            missing = [str(value) in {"None", "nan"} for value in wanted]
            assert np.isnan(array).tolist() == missing
        assert repr(made.take([2, 0]).to_pydict()["x"]) == repr([wanted[2], wanted[0]])


def test_new_columns_that_are_refused(cols: Columns) -> None:
    with pytest.raises(ValueError, match='"x": it has 2 values, and there are 100 rows'):
        cols.with_columns(x=[1, 2])
    with pytest.raises(TypeError, match=r'"x": an array .* not int; np.full\('):
        cols.with_columns(x=1)
    with pytest.raises(TypeError, match="not a single value"):
        cols.with_columns(x=np.float64(1.0))
    with pytest.raises(TypeError, match="DataFrame is a table"):
        cols.with_columns(x=cols.to_pandas())
    with pytest.raises(TypeError, match="Table is a table"):
        cols.with_columns(x=cols.to_arrow())
    with pytest.raises(ValueError, match="have 5 columns, and one is needed"):
        cols.with_columns(x=cols)
    with pytest.raises(TypeError, match=r"a list of decimal.Decimal"):
        cols.with_columns(x=[decimal.Decimal(1)] * 100)
    with pytest.raises(TypeError, match="a list of int, str"):
        cols.with_columns(x=[1, "a"] * 50)
    with pytest.raises(ValueError, match="no value tells its type"):
        cols.with_columns(x=[None] * 100)
    with pytest.raises(OverflowError, match='column "x"'):
        cols.with_columns(x=[2**70] * 100)
    with pytest.raises(TypeError, match="mapping of names to arrays, not 3"):
        cols.with_columns(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an array of rows is a table"):
        cols.with_columns(x=np.ma.zeros(100, dtype=[("a", "i4")]))
    with pytest.raises(TypeError, match="a list of tuple"):
        cols.with_columns(x=pd.MultiIndex.from_tuples([(1, 2)] * 100))
    with pytest.raises(TypeError, match="Polars' objects"):
        cols.with_columns(x=pl.Series([object()] * 100))


def test_new_columns_change_no_value(cols: Columns) -> None:
    two = cols[:2]
    for longest in (dt.timedelta.max, dt.timedelta.min, dt.timedelta(microseconds=1 << 63)):
        with pytest.raises(OverflowError, match="more than 64 bits of microseconds"):
            two.with_columns(x=[longest, None])
    most = dt.timedelta(microseconds=(1 << 63) - 1)
    made = two.with_columns(x=[most, -most])
    assert made.to_arrow()["x"].cast("int64").to_pylist() == [2**63 - 1, 1 - 2**63]
    with pytest.raises(ValueError, match="is not exact as a float8"):
        two.with_columns(x=[1.5, 10**400])
    with pytest.raises(ValueError, match="9007199254740993 is not exact as a float8"):
        two.with_columns(x=[1.5, 2**53 + 1])


@pytest.mark.parametrize(
    "array",
    [
        np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, False], [False, True]]),
        np.ma.MaskedArray([["a", "b"], ["c", "d"]], mask=[[False, False], [True, False]]),
        np.array([["2024", "2025"], ["2024", "NaT"]], dtype="M8[us]"),
        np.array([[1, 2], ["NaT", 3]], dtype="m8[us]"),
    ],
)
def test_a_row_that_is_missing_in_part_is_refused(cols: Columns, array: Any) -> None:
    with pytest.raises(ValueError, match=r'"x": a part of row 1 is masked or NaT, and'):
        cols[:2].with_columns(x=array)
    array[1] = np.ma.masked if isinstance(array, np.ma.MaskedArray) else "NaT"
    made = cols[:2].with_columns(x=array)
    assert made.null_mask("x").tolist() == [False, True]
    assert made.to_pydict()["x"][0] == array[0].tolist()
    with pytest.raises(ValueError, match='column "x" is given twice'):
        cols.with_columns({"x": [1]}, x=[1])


def test_selections_keep_what_the_schema_says(fetch: Fetch) -> None:
    cols = fetch("select 1.5::numeric as a, 2.5::numeric as b", schema={"a": "decimal128(10, 2)"})
    for chosen in (cols.filter([True]), cols.select("a"), cols.rename({"b": "c"})):
        assert "decimal" in str(chosen.to_pandas()["a"].dtype)
    swapped = cols.rename({"a": "b", "b": "a"})
    assert "decimal" in str(swapped.to_pandas()["b"].dtype)
    assert "decimal" not in str(swapped.to_pandas()["a"].dtype)


def test_several_columns_of_one_name(fetch: Fetch) -> None:
    cols = fetch("select 1 as a, 2 as a, 3 as b")
    assert cols.select(1, 2).to_pylist() == [{"a": 2, "b": 3}]
    assert cols.rename({"b": "c"}).names == ("a", "a", "c")
    with pytest.raises(ValueError, match='2 columns are named "a": rename them first'):
        cols.with_columns(a=[1])
    assert cols.with_columns(b=[1]).names == ("a", "a", "b")

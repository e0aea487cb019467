"""Generated frames of every library are the same after writing to a table and reading back."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis
import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from colonnade import read_sql, write_table

if TYPE_CHECKING:
    from colonnade.sync import Connection

TABLE = "round_trips"
QUERY = f"SELECT * FROM {TABLE}"
ROWS_MAX = 5

generated = hypothesis.settings(max_examples=40, deadline=None)


class Kind(NamedTuple):
    """A type that keeps its values, with its types in Python, Arrow, Polars and NumPy."""

    drawn: st.SearchStrategy[Any]
    arrow: pa.DataType
    polars: Any
    numpy: Any
    sql: str


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
MOMENT = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
CENTS = st.integers(-(10**14), 10**14).map(lambda cents: Decimal(cents).scaleb(-2))
STRINGS = np.dtypes.StringDType(na_object=None)

KINDS: dict[str, Kind] = {
    "bool": Kind(st.booleans(), pa.bool_(), pl.Boolean(), np.dtype("?"), "boolean"),
    "int2": Kind(integers(16), pa.int16(), pl.Int16(), np.dtype("i2"), "smallint"),
    "int4": Kind(integers(32), pa.int32(), pl.Int32(), np.dtype("i4"), "integer"),
    "int8": Kind(integers(64), pa.int64(), pl.Int64(), np.dtype("i8"), "bigint"),
    "float4": Kind(st.floats(width=32), pa.float32(), pl.Float32(), np.dtype("f4"), "real"),
    "float8": Kind(st.floats(), pa.float64(), pl.Float64(), np.dtype("f8"), "double precision"),
    "text": Kind(TEXT, pa.string(), pl.String(), STRINGS, "text"),
    "bytea": Kind(st.binary(max_size=20), pa.binary(), pl.Binary(), np.dtype("O"), "bytea"),
    "date": Kind(st.dates(), pa.date32(), pl.Date(), np.dtype("M8[D]"), "date"),
    "timestamp": Kind(
        MOMENT, pa.timestamp("us"), pl.Datetime("us"), np.dtype("M8[us]"), "timestamp"
    ),
    "timestamptz": Kind(
        MOMENT.map(lambda moment: moment.replace(tzinfo=UTC)),
        pa.timestamp("us", "UTC"),
        pl.Datetime("us", "UTC"),
        None,
        "timestamptz",
    ),
    "time": Kind(st.times(), pa.time64("us"), pl.Time(), None, "time"),
    "numeric": Kind(CENTS, pa.decimal128(17, 2), pl.Decimal(17, 2), None, "numeric(17, 2)"),
    "uuid": Kind(st.uuids(), pa.uuid(), None, np.dtype("O"), "uuid"),
    "int4[]": Kind(
        st.lists(st.none() | integers(32), max_size=3),
        pa.list_(pa.int32()),
        pl.List(pl.Int32()),
        None,
        "integer[]",
    ),
    "text[]": Kind(
        st.lists(st.none() | TEXT, max_size=3),
        pa.list_(pa.string()),
        pl.List(pl.String()),
        None,
        "text[]",
    ),
}
# System columns of every table.
SYSTEM_COLUMNS = {"ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"}
Drawn = dict[str, tuple[str, list[Any]]]


@st.composite
def drawn_columns(draw: st.DrawFn, kinds: list[str]) -> Drawn:
    """Columns of several kinds, with any names PostgreSQL accepts and NULLs among the values."""
    rows = draw(st.integers(0, ROWS_MAX))
    name = TEXT.filter(lambda text: 0 < len(text.encode()) <= 63 and text not in SYSTEM_COLUMNS)
    names = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    columns: Drawn = {}
    for name_drawn in names:
        kind = draw(st.sampled_from(kinds))
        value = st.none() | KINDS[kind].drawn if draw(st.booleans()) else KINDS[kind].drawn
        columns[name_drawn] = kind, draw(st.lists(value, min_size=rows, max_size=rows))
    return columns


def arrow_array(kind: str, values: list[Any], dtype: pa.DataType | None = None) -> pa.Array:
    if kind == "uuid":
        stored = [None if value is None else value.bytes for value in values]
        return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(stored, pa.binary(16)))
    return pa.array(values, KINDS[kind].arrow if dtype is None else dtype)


def by_bits(value: Any) -> Any:
    """A value for exact comparison: NaN and signed zeros become text."""
    if isinstance(value, list):
        return [by_bits(element) for element in value]
    return repr(value) if isinstance(value, float) else value


@generated
@hypothesis.given(columns=drawn_columns(list(KINDS)))
def test_arrow(link: Connection, columns: Drawn) -> None:
    arrays = {name: arrow_array(kind, values) for name, (kind, values) in columns.items()}
    table = pa.table(arrays)
    assert write_table(table, TABLE, link, if_exists="replace") == table.num_rows
    again = read_sql(QUERY, link, into="arrow")
    assert again.schema == table.schema
    want = {name: by_bits(column) for name, column in table.to_pydict().items()}
    assert {name: by_bits(column) for name, column in again.to_pydict().items()} == want


@generated
@hypothesis.given(columns=drawn_columns([kind for kind in KINDS if KINDS[kind].polars]))
def test_polars(link: Connection, columns: Drawn) -> None:
    series = [
        pl.Series(name, values, dtype=KINDS[kind].polars, strict=False)
        for name, (kind, values) in columns.items()
    ]
    frame = pl.DataFrame(series)
    assert write_table(frame, TABLE, link, if_exists="replace") == frame.height
    again = read_sql(QUERY, link, into="polars")
    polars.testing.assert_frame_equal(again, frame, check_exact=True)
    in_parts = read_sql(QUERY, link, into="polars", batch_rows=2)
    polars.testing.assert_frame_equal(pl.concat(in_parts), frame, check_exact=True)


def pandas_array(kind: str, values: list[Any], dtypes: str) -> Any:
    """The values as `to_pandas` gives them."""
    dtype = KINDS[kind].numpy
    missing = any(value is None for value in values)
    if kind in {"float4", "float8"} and dtypes == "numpy":
        return np.array([np.nan if value is None else value for value in values], dtype)
    if kind in {"bool", "int2", "int4", "int8", "float4", "float8"}:
        if dtypes == "numpy" and not missing:
            return np.array(values, dtype)
        mask = np.array([value is None for value in values], np.bool_)
        data = np.array([0 if value is None else value for value in values], dtype)
        made = {"b": pd.arrays.BooleanArray, "i": pd.arrays.IntegerArray}
        return made.get(dtype.kind, pd.arrays.FloatingArray)(data, mask)
    if kind == "text":
        na_value = np.nan if dtypes == "numpy" else pd.NA
        return pd.array(values, dtype=pd.StringDtype("pyarrow", na_value=na_value))
    if kind == "timestamp":
        return np.array(values, "M8[us]")
    if kind == "timestamptz":
        plain = [None if value is None else value.replace(tzinfo=None) for value in values]
        return pd.array(np.array(plain, "M8[us]").view("i8"), dtype="datetime64[us, UTC]")
    if kind in {"bytea", "uuid"}:
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        return objects
    return pd.array(values, dtype=pd.ArrowDtype(large(KINDS[kind].arrow)))


def large(dtype: pa.DataType) -> pa.DataType:
    """The layout of text in pandas."""
    if pa.types.is_list(dtype):
        return pa.list_(pa.field("item", large(dtype.value_type)))
    return pa.large_string() if pa.types.is_string(dtype) else dtype


# pandas has no types of their own for these: a date is datetime64[s], a time timedelta64.
PANDAS_KINDS = [kind for kind in KINDS if kind not in {"date", "time"}]


@pytest.mark.parametrize("dtypes", ["numpy", "nullable"])
@generated
@hypothesis.given(columns=drawn_columns(PANDAS_KINDS))
def test_pandas(link: Connection, dtypes: Any, columns: Drawn) -> None:
    made = {
        name: pd.Series(pandas_array(kind, values, dtypes))
        for name, (kind, values) in columns.items()
    }
    frame = pd.DataFrame(made, copy=False)
    # The type of a column of only missing objects is unknown.
    types = {name: KINDS[kind].sql for name, (kind, _) in columns.items()}
    assert write_table(frame, TABLE, link, if_exists="replace", types=types) == len(frame)
    again = read_sql(QUERY, link, dtypes=dtypes, decimals="decimal")
    pd.testing.assert_frame_equal(again, frame, check_exact=True)


@generated
@hypothesis.given(columns=drawn_columns([kind for kind in KINDS if kind != "uuid"]))
def test_pandas_of_arrow(link: Connection, columns: Drawn) -> None:
    arrays = {
        name: pd.arrays.ArrowExtensionArray(
            pa.chunked_array([arrow_array(kind, values, large(KINDS[kind].arrow))])
        )
        for name, (kind, values) in columns.items()
    }
    frame = pd.DataFrame(arrays)
    assert write_table(frame, TABLE, link, if_exists="replace") == len(frame)
    again = read_sql(QUERY, link, dtypes="arrow", decimals="decimal")
    assert list(again.dtypes) == list(frame.dtypes)
    for name in frame:
        want = pa.array(frame[name]).to_pylist()
        assert by_bits(pa.array(again[name]).to_pylist()) == by_bits(want)


@generated
@hypothesis.given(columns=drawn_columns([kind for kind in PANDAS_KINDS if "[]" not in kind]))
def test_the_index_of_pandas(link: Connection, columns: Drawn) -> None:
    names = list(columns)
    made = {
        name: pd.Series(pandas_array(kind, values, "nullable"))
        for name, (kind, values) in columns.items()
    }
    frame = pd.DataFrame(made, copy=False).set_index(names[: len(names) // 2 + 1])
    types = {name: KINDS[kind].sql for name, (kind, _) in columns.items()}
    write_table(frame, TABLE, link, if_exists="replace", types=types, index=True)
    levels = list(frame.index.names)
    again = read_sql(QUERY, link, dtypes="nullable", decimals="decimal", index_col=levels)
    pd.testing.assert_frame_equal(again, frame, check_exact=True)


def numpy_array(kind: str, values: list[Any]) -> Any:
    dtype = KINDS[kind].numpy
    missing = [value is None for value in values]
    if dtype.kind in "bi":
        array = np.array([0 if value is None else value for value in values], dtype)
        return np.ma.MaskedArray(array, missing) if any(missing) else array
    if dtype.kind == "f":
        return np.array([np.nan if value is None else value for value in values], dtype)
    if dtype.kind == "O":
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        return objects
    return np.array(values, dtype)


def assert_same_array(given: Any, want: Any) -> None:
    assert given.dtype == want.dtype
    assert np.ma.getmaskarray(given).tolist() == np.ma.getmaskarray(want).tolist()
    assert by_bits(given.tolist()) == by_bits(want.tolist())


@generated
@hypothesis.given(
    columns=drawn_columns([kind for kind in KINDS if KINDS[kind].numpy is not None]),
)
def test_numpy(link: Connection, columns: Drawn) -> None:
    arrays = {name: numpy_array(kind, values) for name, (kind, values) in columns.items()}
    types = {name: KINDS[kind].sql for name, (kind, _) in columns.items()}
    write_table(arrays, TABLE, link, if_exists="replace", types=types)
    again = read_sql(QUERY, link, into="numpy")
    assert list(again) == list(arrays)
    for name, array in arrays.items():
        assert_same_array(again[name], array)


# A type unknown to the server becomes the next wider type.
@pytest.mark.parametrize(
    ("dtype", "values", "wider"),
    [
        (pa.int8(), [-128, None, 127], pa.int16()),
        (pa.uint8(), [0, 255], pa.int16()),
        (pa.uint16(), [0, 65_535], pa.int32()),
        (pa.uint32(), [0, 2**32 - 1], pa.int64()),
        (pa.uint64(), [0, 2**64 - 1], pa.decimal128(20, 0)),
        (pa.large_string(), ["x", None], pa.string()),
        (pa.string_view(), ["x", None], pa.string()),
        (pa.dictionary(pa.int8(), pa.string()), ["x", None, "x"], pa.string()),
        (pa.binary(3), [b"abc", None], pa.binary()),
        (pa.timestamp("s"), [datetime(2024, 1, 1), None], pa.timestamp("us")),
        (pa.timestamp("ns", "Asia/Tokyo"), [datetime(2024, 1, 1, tzinfo=UTC)], None),
        (pa.date64(), [datetime(2024, 1, 1).date(), None], pa.date32()),
        (pa.large_list(pa.int64()), [[1, None], None], pa.list_(pa.int64())),
        (pa.list_(pa.int64(), 2), [[1, 2], None], pa.list_(pa.int64())),
        (pa.decimal256(50, 3), [Decimal("1.125"), None], pa.decimal256(50, 3)),
        (pa.null(), [None, None], pa.string()),
    ],
    ids=str,
)
def test_wider_types(link: Connection, dtype: Any, values: list[Any], wider: Any) -> None:
    table = pa.table({"v": pa.array(values, dtype)})
    write_table(table, TABLE, link, if_exists="replace")
    again = read_sql(QUERY, link, into="arrow")
    assert again["v"].to_pylist() == values
    assert again.schema.field("v").type == (wider or pa.timestamp("us", "UTC"))


def test_every_row_of_a_large_frame(link: Connection) -> None:
    count = 200_000
    frame = pl.DataFrame(
        {
            "id": pl.arange(count, eager=True),
            "name": [None if row % 7 == 0 else f"name {row}" for row in range(count)],
            "key": [uuid.UUID(int=row).bytes for row in range(count)],
        }
    )
    write_table(frame, TABLE, link, if_exists="replace")
    polars.testing.assert_frame_equal(read_sql(QUERY, link, into="polars"), frame)

"""Columns of every library and every type, copied in and read back."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import tracemalloc
import uuid
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from colonnade.errors import EncodeError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

UTC = dt.UTC
WHEN = dt.datetime(2024, 2, 29, 12, 30, 0, 250, tzinfo=UTC)
COLUMNS = "id int4, name text, price float8, paid numeric(10, 2), seen timestamptz, day date"
ROWS = [
    (1, "Zürich", 1.5, decimal.Decimal("1.25"), WHEN, dt.date(2024, 2, 29)),
    (2, None, None, None, None, None),
]
# A type, with the texts of its values.
TYPES: dict[str, list[str]] = {
    "bool": ["t", "f"],
    "int2": ["-32768", "32767"],
    "int4": ["-2147483648", "5"],
    "int8": ["-9223372036854775808", "5"],
    "oid": ["4294967295"],
    "float4": ["1.5", "NaN", "-Infinity"],
    "float8": ["1.5", "NaN", "Infinity"],
    "numeric": ["1.50", "-0.001", "12345678901234567890"],
    "numeric(40, 3)": ["1234567890123456789012345678901234567.125"],
    "text": ["", "Zürich", "a\nb"],
    "varchar(7)": ["abc"],
    "char(5)": ["abc"],
    "name": ["abc"],
    "bytea": ["\\x", "\\x00ff"],
    "uuid": ["00010203-0405-0607-0809-0a0b0c0d0e0f"],
    "json": ['{"a": 1}'],
    "jsonb": ['{"a": [1, null]}'],
    "date": ["0002-01-01", "2024-02-29"],
    "time": ["00:00:00", "23:59:59.999999"],
    "timetz": ["12:00:00+05:30"],
    "timestamp": ["2024-02-29 12:00:00.000001"],
    "timestamptz": ["2024-02-29 12:00:00+00"],
    "interval": ["2 days 03:04:05.6"],
    "bit(3)": ["101"],
    "varbit": ["", "10101010101"],
    "inet": ["192.168.0.1/24", "::1"],
    "cidr": ["10.0.0.0/8"],
    "macaddr": ["08:00:2b:01:02:03"],
    "point": ["(1,2)"],
    "box": ["(3,4),(1,2)"],
    "circle": ["<(1,2),3>"],
    "path": ["((1,2),(3,4))", "[(1,2)]"],
    "polygon": ["((1,2),(3,4),(5,6))"],
    "int4[]": ["{1,NULL,3}", "{}"],
    "int8[]": ["{{1,2},{3,4}}"],
    "text[]": ['{a,"b c",NULL}'],
    "timestamptz[]": ['{"2024-02-29 12:00:00+00"}'],
    "int4range": ["empty", "[1,5)", "(,5)", "(,)"],
    "tstzrange": ['["2024-02-29 12:00:00+00",)'],
    "int8multirange": ["{}", "{[1,3),[5,9)}"],
    "copy_mood": ["sad", "very happy"],
    "copy_mood[]": ["{sad,NULL}"],
    "copy_place": ['(Berlin,"{1,2}")', "(,)"],
    "copy_even": ["4"],
}


# Values that Python's own classes cannot hold.
IN_COLUMNS_ONLY = {"date": "0044-03-15 BC", "interval": "1 mon -2 days"}
# Types that columns hold as text, or in an Arrow type without a cast to them.
AS_OBJECTS_ONLY = {"numeric", "timetz"}


@pytest.fixture(scope="module")
def types(link: Connection) -> Iterator[Connection]:
    link.execute(
        "CREATE TYPE copy_mood AS ENUM ('sad', 'very happy');"
        "CREATE TYPE copy_place AS (name text, numbers int4[]);"
        "CREATE DOMAIN copy_even AS int4 CHECK (VALUE % 2 = 0)"
    )
    yield link
    link.execute("DROP TYPE copy_mood, copy_place; DROP DOMAIN copy_even")


@pytest.fixture
def table(link: Connection) -> Iterator[str]:
    link.execute(f"CREATE TEMPORARY TABLE copied ({COLUMNS})")
    yield "copied"
    link.execute("DROP TABLE copied")


def columns_of_rows() -> dict[str, list[Any]]:
    names = ["id", "name", "price", "paid", "seen", "day"]
    return dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))


def arrow_table() -> pa.Table:
    given = columns_of_rows()
    return pa.table(
        {
            **given,
            "id": pa.array(given["id"], pa.int32()),
            "paid": pa.array(given["paid"], pa.decimal128(10, 2)),
            "seen": pa.array(given["seen"], pa.timestamp("us", "UTC")),
        }
    )


def pandas_frame() -> pd.DataFrame:
    given = columns_of_rows()
    frame = pd.DataFrame({**given, "seen": pd.to_datetime(given["seen"], utc=True)})
    return frame.set_index(pd.Index([7, 8], name="left out"))


def numpy_arrays() -> dict[str, Any]:
    given = columns_of_rows()
    return {
        "id": np.array([1, 2], ">i4"),
        "name": np.array(given["name"], object),
        "price": np.ma.MaskedArray([1.5, 7.0], [False, True]),
        "paid": np.array(given["paid"], object),
        "seen": np.array([WHEN.replace(tzinfo=None), "NaT"], "M8[us]"),
        "day": np.array(["2024-02-29", "NaT"], "M8[D]"),
    }


def structured() -> Any:
    rows = np.zeros(2, [("id", "i2"), ("name", "U10"), ("price", "f4"), ("day", "M8[s]")])
    rows["id"] = [1, 2]
    rows["name"] = ["Zürich", ""]
    rows["price"] = [1.5, np.nan]
    rows["day"] = ["2024-02-29", "NaT"]
    return rows


SOURCES: dict[str, Callable[[], Any]] = {
    "pyarrow table": arrow_table,
    "pyarrow batch": lambda: arrow_table().to_batches()[0],
    "pyarrow reader": lambda: arrow_table().to_reader(max_chunksize=1),
    "pyarrow chunks": lambda: pa.concat_tables([arrow_table()[:1], arrow_table()[1:]]),
    "polars": lambda: pl.DataFrame(arrow_table()),
    "polars series": lambda: {s.name: s for s in pl.DataFrame(arrow_table()).get_columns()},
    "duckdb": lambda: duckdb.from_arrow(arrow_table()),
    "pandas": pandas_frame,
    "pandas nullable": lambda: pandas_frame().convert_dtypes(),
    "pandas Arrow": lambda: arrow_table().to_pandas(types_mapper=pd.ArrowDtype),
    "lists": columns_of_rows,
    "numpy": numpy_arrays,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source(link: Connection, table: str, kind: str) -> None:
    source = SOURCES[kind]()
    assert link.copy_columns_to_table(table, source, nan_as_null=True) == "COPY 2"
    assert [tuple(row) for row in link.fetch("SELECT * FROM copied ORDER BY id")] == ROWS


def test_structured_array(link: Connection, table: str) -> None:
    link.copy_columns_to_table(table, structured(), nan_as_null=True)
    found = link.fetch("SELECT id, name, price, day FROM copied ORDER BY id")
    assert [tuple(row) for row in found] == [
        (1, "Zürich", 1.5, dt.date(2024, 2, 29)),
        (2, "", None, None),
    ]


@pytest.mark.parametrize(
    ("name", "road"),
    [
        (name, road)
        for name in TYPES
        for road in ("columns", "objects")
        if road == "objects" or name not in AS_OBJECTS_ONLY
    ],
)
def test_every_type_there_and_back(types: Connection, name: str, road: str) -> None:
    link = types
    link.execute(
        f"CREATE TEMPORARY TABLE one (i int, v {name}); CREATE TEMPORARY TABLE two (LIKE one)"
    )
    try:
        for number, text in enumerate([*TYPES[name], None]):
            literal = "NULL" if text is None else "'" + text.replace("'", "''") + "'"
            link.execute(f"INSERT INTO one VALUES ({number}, {literal})")
        if road == "columns":
            if name in IN_COLUMNS_ONLY:
                link.execute(f"INSERT INTO one VALUES (9, '{IN_COLUMNS_ONLY[name]}')")
            source: Any = link.fetch_columns("TABLE one")
        else:
            rows = link.fetch("TABLE one")
            source = {"i": [row["i"] for row in rows], "v": [row["v"] for row in rows]}
        count = link.fetchval("SELECT count(*) FROM one")
        assert link.copy_columns_to_table("two", source) == f"COPY {count}"
        query = "SELECT i, v::text FROM {} ORDER BY i"
        assert link.fetch(query.format("two")) == link.fetch(query.format("one"))
    finally:
        link.execute("DROP TABLE one, two")


@pytest.mark.parametrize(
    ("pg_type", "array", "expected"),
    [
        ("int2", pa.array([1, None], pa.int64()), [1, None]),
        ("int8", pa.array([2.0], pa.float64()), [2]),
        ("numeric(20)", pa.array([2**64 - 1], pa.uint64()), [decimal.Decimal(2**64 - 1)]),
        ("float4", pa.array([1.5], pa.float16()), [1.5]),
        ("text", pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
        ("text", pa.array(["a", None], pa.large_string()), ["a", None]),
        ("text", pa.array(["a long text, not inline", None], pa.string_view()), None),
        ("bytea", pa.array([b"a", None], pa.binary_view()), [b"a", None]),
        ("int4[]", pa.array([[1, None], None, []], pa.large_list(pa.int32())), None),
        ("float8[]", pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2)), [[1.0, 2.0]]),
        ("copy_place", pa.array([{"name": "x", "numbers": [1]}]), None),
        ("copy_mood", pa.array(["sad"]).dictionary_encode(), ["sad"]),
        ("interval", pa.array([dt.timedelta(seconds=5)]), [dt.timedelta(seconds=5)]),
        ("text", pa.nulls(2), [None, None]),
        ("text", pa.RunEndEncodedArray.from_arrays([2], ["x"]), ["x", "x"]),
    ],
)
def test_arrow_layouts(types: Connection, pg_type: str, array: Any, expected: Any) -> None:
    types.execute(f"CREATE TEMPORARY TABLE laid (v {pg_type})")
    try:
        types.copy_columns_to_table("laid", pa.table({"v": array}))
        found = [row[0] for row in types.fetch("TABLE laid")]
        if pg_type == "copy_place":
            assert tuple(found[0]) == ("x", [1])
        else:
            assert found == (array.to_pylist() if expected is None else expected)
    finally:
        types.execute("DROP TABLE laid")


def test_numpy_layouts(link: Connection) -> None:
    link.execute(
        "CREATE TEMPORARY TABLE laid "
        "(grid float8[], short text, raw uuid, b bytea, at time, ok bool)"
    )
    source = {
        "grid": np.arange(12.0).reshape(2, 3, 2)[:, ::-1],
        "short": np.array([b"caf\xc3\xa9", b"x"], "S5"),
        "raw": np.frombuffer(bytes(range(32)), "V16"),
        "b": np.array([b"1", b"2"]),
        "at": np.array([3_600, 7_200], "m8[s]"),
        "ok": np.array([True, False, True])[::2],
    }
    assert link.copy_columns_to_table("laid", source) == "COPY 2"
    first = link.fetch("TABLE laid")[0]
    assert first["grid"] == [[4.0, 5.0], [2.0, 3.0], [0.0, 1.0]]
    assert (first["short"], first["b"], first["at"]) == ("café", b"1", dt.time(1))
    assert first["raw"] == uuid.UUID(bytes=bytes(range(16)))
    link.execute("DROP TABLE laid")


def test_pandas_families(link: Connection) -> None:
    link.execute("CREATE TEMPORARY TABLE laid (c text, i int8, f float8, b bool, s text)")
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["x", None, "y"]),
            "i": pd.array([1, None, 3], "Int64"),
            "f": pd.array([1.5, None, 2.5], "Float64"),
            "b": pd.array([True, None, False], "boolean"),
            "s": pd.array(["a", None, "b"], pd.StringDtype("python")),
        }
    )
    link.copy_columns_to_table("laid", frame)
    assert link.fetch_columns("TABLE laid").to_pydict() == {
        "c": ["x", None, "y"],
        "i": [1, None, 3],
        "f": [1.5, None, 2.5],
        "b": [True, None, False],
        "s": ["a", None, "b"],
    }
    link.execute("DROP TABLE laid")


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("id", np.array([1.5]), r'"id", row 0, .*1\.5 has no exact int4'),
        ("id", np.array([2**31]), r'"id", row 0, from Int64 to int4: 2147483648 is out of range'),
        ("id", [1, "x"], r'"id", row 1, from str to int4: \'x\' \(expected an int'),
        ("day", np.array(["NaT"], "M8[D]"), r'"day", row 0, .*nan_as_null=True'),
        ("seen", [pd.NaT], r'"seen", row 0, .*nan_as_null=True'),
        ("name", [math.nan], r'"name", row 0, from float to text: nan .*nan_as_null=True'),
        ("price", np.array([1j]), r'"price", from complex128 to float8'),
        ("seen", pd.Series(np.array(["2024-01-01"], "M8[us]")), r"without a time zone it names no"),
        ("day", np.array(["2024-02-29T12"], "M8[s]"), r'"day", row 0, .*first moment of a day'),
    ],
)
def test_what_is_refused(
    link: Connection, table: str, column: str, values: Any, message: str
) -> None:
    with pytest.raises(EncodeError, match=message):
        link.copy_columns_to_table(table, {column: values}, nan_as_null=False)
    assert link.fetchval("SELECT count(*) FROM copied") == 0


def test_created_types(link: Connection) -> None:
    source = pa.table(
        {
            "i1": pa.array([1], pa.int8()),
            "u8": pa.array([1], pa.uint64()),
            "f2": pa.array([1], pa.float16()),
            "n": pa.array([decimal.Decimal("1.5")], pa.decimal128(5, 2)),
            "d": pa.array(["x"]).dictionary_encode(),
            "t": pa.array([WHEN], pa.timestamp("ns", "Europe/Berlin")),
            "s": pa.array([dt.timedelta(1)]),
            "a": pa.array([[[1.5]]], pa.list_(pa.list_(pa.float32()))),
            "u": pa.array([uuid.UUID(int=5).bytes], pa.uuid()),
            "z": pa.nulls(1),
        }
    )
    link.copy_columns_to_table("made_of_arrow", source, create=True)
    found = link.fetch(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'made_of_arrow'::regclass AND attnum > 0 ORDER BY attnum"
    )
    link.execute("DROP TABLE made_of_arrow")
    assert [row[0] for row in found] == [
        "smallint",
        "numeric(20,0)",
        "real",
        "numeric(5,2)",
        "text",
        "timestamp with time zone",
        "interval",
        "real[]",
        "uuid",
        "text",
    ]
    with pytest.raises(SchemaError, match=r'"s" cannot be made: .*composite'):
        link.copy_columns_to_table("no", pa.table({"s": [{"a": 1}]}), create=True)
    maps = pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string()))
    with pytest.raises(SchemaError, match="hstore"):
        link.copy_columns_to_table("no", pa.table({"m": maps}), create=True)
    link.copy_columns_to_table(
        "made_of_objects", {"u": [None, uuid.UUID(int=1)], "d": [WHEN, None]}, create=True
    )
    assert link.fetchval("SELECT pg_typeof(u) || ' ' || pg_typeof(d) FROM made_of_objects") == (
        "uuid timestamp with time zone"
    )
    link.execute("DROP TABLE made_of_objects")


def test_many_columns(link: Connection) -> None:
    names = [f"c{number}" for number in range(1600)]
    source = {name: np.arange(50, dtype="i2") for name in names}
    link.copy_columns_to_table("wide", source, create=True)
    assert link.fetchrow("SELECT c0, c1599 FROM wide OFFSET 49") == (49, 49)
    link.execute("DROP TABLE wide")


def test_memory_stays_flat(link: Connection) -> None:
    link.execute("CREATE TEMPORARY TABLE long (i int8, t text)")
    text = np.array(["x" * 100] * 10_000)

    def batches() -> Iterator[Any]:
        for start in range(0, 500_000, 10_000):
            yield {"i": np.arange(start, start + 10_000), "t": text}

    tracemalloc.start()
    try:
        assert link.copy_columns_to_table("long", batches()) == "COPY 500000"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        link.execute("DROP TABLE long")
    # A few chunks of 54 MB; the core holds no more than that.
    assert peak < 10_000_000


def test_rows_are_no_dimensions(link: Connection) -> None:
    """A row of a structured array has fields, as a value has, and is no list of elements."""
    link.execute("CREATE TEMP TABLE rows_of_numpy (v timetz[])")
    for values in ("'01:00+01', NULL", "NULL, NULL"):
        array = link.fetch_columns(f"SELECT ARRAY[{values}]::timetz[] AS v").to_numpy()["v"]
        with pytest.raises(EncodeError, match=r'column "v", row 0, .*element \[0\]: expected a'):
            link.copy_columns_to_table("rows_of_numpy", {"v": array})
    assert link.fetchval("SELECT count(*) FROM rows_of_numpy") == 0
    pairs = np.array([(1, 2), (3, 4)], [("a", "i4"), ("b", "i4")])
    for argument in (pairs, list(pairs)):
        with pytest.raises(EncodeError, match=r"element \[0\]: expected an int|an array of dtype"):
            link.fetch("SELECT $1::int4[]", argument)


@pytest.fixture
def of_floats(link: Connection) -> Iterator[Connection]:
    """Types with a part that is a float, for which NumPy has no NULL."""
    link.execute("DROP SCHEMA IF EXISTS of_floats CASCADE; CREATE SCHEMA of_floats")
    link.execute("CREATE TYPE of_floats.span AS RANGE (subtype = float8)")
    link.execute("CREATE TYPE of_floats.pair AS (a float8, b float4, c int4)")
    link.execute("CREATE TABLE of_floats.t (s of_floats.span, p of_floats.pair)")
    yield link
    link.execute("DROP SCHEMA of_floats CASCADE")


NAN_PARTS = [
    # As given, as stored by default, and where NaN is a number.
    ("s", "(,)", "(,)", "empty"),
    ("s", "[1,)", "[1,)", "[1,NaN)"),
    ("s", "[1.5,2]", "[1.5,2]", "[1.5,2]"),
    ("s", "empty", "empty", "empty"),
    ("p", "(,,1)", "(,,1)", "(NaN,NaN,1)"),
    ("p", "(1.5,,)", "(1.5,,)", "(1.5,NaN,)"),
]


@pytest.mark.parametrize(("name", "given", "usual", "as_number"), NAN_PARTS)
def test_nan_in_a_structured_array(
    of_floats: Connection, name: str, given: str, usual: str, as_number: str
) -> None:
    """It is NULL by default, as in every array of NumPy: so a bound that is open stays open."""
    kind = {"s": "span", "p": "pair"}[name]
    array = of_floats.fetch_columns(f"SELECT '{given}'::of_floats.{kind} AS v").to_numpy()["v"]
    for nan_as_null, stored in ((None, usual), (True, usual), (False, as_number)):
        of_floats.execute("TRUNCATE of_floats.t")
        of_floats.copy_columns_to_table(
            "t", {name: array}, schema_name="of_floats", nan_as_null=nan_as_null
        )
        assert of_floats.fetchval(f"SELECT {name}::text FROM of_floats.t") == stored


def test_nan_as_a_bound_of_arrow(of_floats: Connection) -> None:
    spans = [{"lower": 1.0, "upper": math.nan}, {"lower": math.nan, "upper": 2.0}, None]
    array = pa.array(spans, pa.struct({"lower": pa.float64(), "upper": pa.float64()}))
    of_floats.copy_columns_to_table("t", {"s": array[:1]}, schema_name="of_floats")
    of_floats.copy_columns_to_table("t", {"s": array}, schema_name="of_floats", nan_as_null=True)
    stored = of_floats.fetch("SELECT s::text FROM of_floats.t")
    assert [row[0] for row in stored] == ["[1,NaN)", "[1,)", "(,2)", None]

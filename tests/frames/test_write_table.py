"""A frame as a table: a new table, an existing table, and the state after a failure."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import ipaddress
import sys
import uuid
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade import read_sql, write_table
from colonnade.errors import (
    DuplicateTableError,
    EncodeError,
    InterfaceError,
    SchemaError,
    UndefinedObjectError,
    UndefinedTableError,
)

if TYPE_CHECKING:
    from colonnade.sync import Connection

ONE = {"a": np.array([1, 2])}
D = decimal.Decimal


def rows(link: Connection, table: str) -> list[tuple[Any, ...]]:
    quoted = table.replace('"', '""')
    return [tuple(row) for row in link.fetch(f'SELECT * FROM "{quoted}" ORDER BY 1')]


def types(link: Connection, table: str) -> dict[str, str]:
    found = link.fetch(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        '"' + table.replace('"', '""') + '"',
    )
    return {row[0]: row[1] for row in found}


def test_every_kind_of_source(link: Connection, table: str) -> None:
    arrow = pa.table({"a": [1, None], "b": ["x", "y"]})
    relation = duckdb.sql("SELECT 1::BIGINT AS a, 'x' AS b UNION ALL SELECT NULL, 'y'")
    sources: list[Any] = [
        arrow,
        arrow.to_reader(),
        arrow.to_batches()[0],
        arrow.to_struct_array().chunk(0),
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", "y"]}),
        pl.DataFrame(arrow),
        relation,
        {"a": [1, None], "b": np.array(["x", "y"])},
        np.array([(1, "x")], dtype=[("a", "i8"), ("b", "U3")]),
        link.fetch_columns("SELECT 1::int8 AS a, 'x' AS b"),
        [arrow, arrow],
        (part for part in arrow.to_batches(1)),
    ]
    for source in sources:
        count = write_table(source, table, link, if_exists="replace")
        written = rows(link, table)
        assert len(written) == count
        assert {(1, "x"), (None, "y")} >= set(written) >= {(1, "x")}
        assert types(link, table) == {"a": "bigint", "b": "text"}


def test_if_exists(link: Connection, table: str) -> None:
    assert write_table(ONE, table, link) == 2
    with pytest.raises(DuplicateTableError, match=r'a test" exists\nHINT: .*"append"') as caught:
        write_table(ONE, table, link)
    assert caught.value.sqlstate == "42P07"
    assert write_table({"a": [3]}, table, link, if_exists="append") == 1
    assert rows(link, table) == [(1,), (2,), (3,)]
    link.execute('CREATE INDEX kept ON "frames ""of"" a test" (a)')
    assert write_table({"a": [4]}, table, link, if_exists="truncate") == 1
    assert rows(link, table) == [(4,)]
    assert link.fetchval("SELECT to_regclass('kept') IS NOT NULL")
    assert write_table({"b": ["x"]}, table, link, if_exists="replace") == 1
    assert rows(link, table) == [("x",)]
    with pytest.raises(ValueError, match='if_exists must be "fail", "append"'):
        write_table(ONE, table, link, if_exists="drop")  # type: ignore[arg-type]


@pytest.mark.parametrize("if_exists", ["fail", "append", "replace", "truncate"])
def test_a_table_that_is_not_there_is_made(link: Connection, table: str, if_exists: Any) -> None:
    assert write_table(ONE, table, link, if_exists=if_exists) == 2
    assert rows(link, table) == [(1,), (2,)]


@pytest.mark.parametrize("if_exists", ["append", "replace", "truncate"])
def test_a_failure_leaves_the_table_as_it_was(link: Connection, table: str, if_exists: Any) -> None:
    write_table({"a": [1]}, table, link)
    late: list[Any] = [1] * 5000 + ["x"]
    with pytest.raises((EncodeError, SchemaError)):
        write_table({"a": late}, table, link, if_exists=if_exists)

    def broken() -> Any:
        yield {"a": [7]}
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        write_table(broken(), table, link, if_exists=if_exists)
    assert rows(link, table) == [(1,)]
    assert not link.is_in_transaction()


def test_a_failure_makes_no_table(link: Connection, table: str) -> None:
    with pytest.raises(EncodeError, match='column "a", row 1'):
        write_table([{"a": [1]}, {"a": ["x"]}], table, link)
    with pytest.raises(ValueError, match="frame is an empty iterable"):
        write_table([], table, link)
    with pytest.raises(InterfaceError, match="no column for the table"):
        write_table(pd.DataFrame(), table, link)
    with pytest.raises(InterfaceError, match="no column for the table"):
        write_table({}, table, link)
    assert types(link, table) == {}


def test_columns_and_schema_name(link: Connection, table: str) -> None:
    source = pa.table({"a": [1], "b": ["x"], "c": [2.5]})
    write_table(source, table, link, columns={"a": "key", "c": "price"})
    assert types(link, table) == {"key": "bigint", "price": "double precision"}
    with pytest.raises(InterfaceError, match='has no column "a"'):
        write_table(source, table, link, if_exists="append")
    link.execute('CREATE SCHEMA "of frames"')
    try:
        write_table(source, table, link, schema_name="of frames", columns=["x", "y", "z"])
        write_table(source, table, link, schema_name="of frames", if_exists="replace")
        with pytest.raises(DuplicateTableError, match=r'"of frames"\."frames'):
            write_table(source, table, link, schema_name="of frames")
        query = 'SELECT b FROM "of frames"."frames ""of"" a test"'
        assert read_sql(query, link, into="numpy")["b"].tolist() == ["x"]
    finally:
        link.execute('DROP SCHEMA "of frames" CASCADE')


def test_types_that_are_given(link: Connection, table: str) -> None:
    source = pl.DataFrame({"id": [1], "price": [D("1.5")], "note": ["{}"], "s": [{"x": 1}]})
    with pytest.raises(SchemaError, match='column "s" cannot be made'):
        write_table(source, table, link)
    given = {"id": "int4 PRIMARY KEY", "price": "numeric(12, 2)", "note": "jsonb"}
    write_table(source.drop("s"), table, link, types=given)
    assert types(link, table) == {"id": "integer", "price": "numeric(12,2)", "note": "jsonb"}
    with pytest.raises(colonnade.UniqueViolationError):
        write_table(source.drop("s"), table, link, if_exists="append")
    with pytest.raises(InterfaceError, match="types is for a new table"):
        write_table(source.drop("s"), table, link, if_exists="append", types=given)
    unknown = r'a type is given for "ids" \(types of write_table, .*\), but the columns are "id"'
    with pytest.raises(InterfaceError, match=unknown):
        write_table(source, table, link, if_exists="replace", types={"ids": "int4"})
    with pytest.raises(UndefinedObjectError, match=r"no_such_type"):
        write_table(ONE, table, link, if_exists="replace", types={"a": "no_such_type"})
    with pytest.raises(EncodeError, match=r'column "a".*Int64 is not written to text'):
        write_table(ONE, table, link, if_exists="replace", types={"a": "text"})
    assert types(link, table)["id"] == "integer"


def test_the_index(link: Connection, table: str) -> None:
    frame = pd.DataFrame({"v": [1, 2]}, index=pd.Index(["x", "y"], name="k"))
    write_table(frame, table, link, index=True)
    assert rows(link, table) == [("x", 1), ("y", 2)]
    assert list(types(link, table)) == ["k", "v"]
    write_table(frame, table, link, index="key", if_exists="replace")
    assert list(types(link, table)) == ["key", "v"]
    write_table(frame, table, link, if_exists="replace")
    assert list(types(link, table)) == ["v"]
    unnamed = pd.DataFrame({"v": [1]}, index=pd.MultiIndex.from_tuples([(1, "a")]))
    write_table(unnamed, table, link, index=True, if_exists="replace")
    assert types(link, table) == {"level_0": "bigint", "level_1": "text", "v": "bigint"}
    moments = pd.DataFrame({"v": [1]}, index=pd.date_range("2024-01-01", periods=1, tz="UTC"))
    write_table(moments, table, link, index=["at"], if_exists="replace")
    assert types(link, table) == {"at": "timestamp with time zone", "v": "bigint"}
    with pytest.raises(ValueError, match="2 names, but the frame's index has 1 level"):
        write_table(frame, table, link, index=["a", "b"], if_exists="replace")
    with pytest.raises(ValueError, match="would be named 'v'"):
        write_table(frame, table, link, index="v", if_exists="replace")
    with pytest.raises(ValueError, match="have the same name"):
        write_table(unnamed, table, link, index=["a", "a"], if_exists="replace")
    with pytest.raises(TypeError, match="a Table has no index"):
        write_table(pa.table({"a": [1]}), table, link, index=True)


def test_names_of_columns(link: Connection, table: str) -> None:
    write_table(pd.DataFrame({5: [1], 'it\'s "q"': ["x"], None: [2.5]}), table, link)
    assert list(types(link, table)) == ["5", 'it\'s "q"', "None"]
    with pytest.raises(ValueError, match="several columns of the frame are named 'a'"):
        write_table(pd.DataFrame([[1, 2]], columns=["a", "a"]), table, link, if_exists="replace")
    with pytest.raises(ValueError, match="are named '1'"):
        write_table(pd.DataFrame([[1, 2]], columns=[1, "1"]), table, link, if_exists="replace")
    levels = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    with pytest.raises(ValueError, match="several levels of names"):
        write_table(levels, table, link, if_exists="replace")
    twice = pa.table([[1], [2]], names=["a", "a"])
    with pytest.raises(InterfaceError, match="several columns of the source have the same name"):
        write_table(twice, table, link, if_exists="replace")


def test_frames_without_rows(link: Connection, table: str) -> None:
    frame = pd.DataFrame({"i": pd.Series(dtype="int64"), "o": pd.Series(dtype="object")})
    sources: list[Any] = [frame, pl.DataFrame(frame), pa.table({"i": pa.array([], pa.int64())})]
    for source in sources:
        assert write_table(source, table, link, if_exists="replace") == 0
        assert types(link, table)["i"] == "bigint"
        assert rows(link, table) == []


def test_nan_means_what_the_library_means(link: Connection, table: str) -> None:
    nan = float("nan")
    pandas = pd.DataFrame({"x": [1.5, nan], "t": pd.to_datetime(["2024-01-01", None])})
    numpy = {"x": np.array([1.5, nan]), "t": np.array(["2024-01-01", "NaT"], "M8[us]")}
    for source in (pandas, numpy):
        write_table(source, table, link, if_exists="replace")
        assert rows(link, table)[1] == (None, None)
    arrow = pa.table({"x": [1.5, nan, None]})
    frames: list[Any] = [arrow, pl.DataFrame(arrow), arrow.to_pandas(types_mapper=pd.ArrowDtype)]
    for source in frames:
        write_table(source, table, link, if_exists="replace")
        assert [str(row[0]) for row in rows(link, table)] == ["1.5", "nan", "None"]
        write_table(source, table, link, if_exists="replace", nan_as_null=True)
        assert [str(row[0]) for row in rows(link, table)] == ["1.5", "None", "None"]
    write_table(numpy, table, link, if_exists="replace", columns={"x": "x"}, nan_as_null=False)
    assert [str(row[0]) for row in rows(link, table)] == ["1.5", "nan"]
    with pytest.raises(EncodeError, match="PostgreSQL has no NaT"):
        write_table(numpy, table, link, if_exists="replace", nan_as_null=False)


IDENTITY = uuid.UUID(int=7)
# Objects of a column -> the column's type and the values read back.
OBJECTS: list[tuple[list[Any], str, list[Any]]] = [
    (["a", None, "b"], "text", ["a", None, "b"]),
    ([True, None], "boolean", [True, None]),
    ([1, 2**62], "bigint", [1, 2**62]),
    ([1, 2**70], "numeric", [D(1), D(2**70)]),
    ([1, 1.5], "double precision", [1.0, 1.5]),
    ([D("1.50"), None, 3], "numeric", [D("1.50"), None, D(3)]),
    ([b"\0\xff", bytearray(b"x")], "bytea", [b"\0\xff", b"x"]),
    ([IDENTITY], "uuid", [IDENTITY]),
    ([dt.date(2024, 2, 29), None], "date", [dt.date(2024, 2, 29), None]),
    ([dt.time(12, 30)], "time without time zone", [dt.time(12, 30)]),
    ([dt.timedelta(days=1)], "interval", [dt.timedelta(days=1)]),
    ([dt.datetime(2024, 1, 1)], "timestamp without time zone", [dt.datetime(2024, 1, 1)]),
    (
        [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
        "timestamp with time zone",
        [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
    ),
    ([[1, None], None, []], "bigint[]", [[1, None], None, []]),
    ([[], ["a"]], "text[]", [[], ["a"]]),
    ([[1], [2.5]], "double precision[]", [[1.0], [2.5]]),
    ([[[1, 2]], [[3, 4]]], "bigint[]", [[[1, 2]], [[3, 4]]]),
    ([np.array([1, 2], "i4"), None], "integer[]", [[1, 2], None]),
    ([{"a": [1]}, None], "jsonb", ['{"a": [1]}', None]),
    ([[{"a": 1}, {"b": None}]], "jsonb", ['[{"a": 1}, {"b": null}]']),
    ([{"a": 1}, [1, {"b": 2}]], "jsonb", ['{"a": 1}', '[1, {"b": 2}]']),
    (
        [ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("::1")],
        "inet",
        [ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("::1")],
    ),
    ([np.int64(5), np.float64(1.5)], "double precision", [5.0, 1.5]),
    ([np.bool_(True), None], "boolean", [True, None]),
    ([np.str_("a")], "text", ["a"]),
    ([None, None], "text", [None, None]),
]


@pytest.mark.parametrize(("values", "sql_type", "want"), OBJECTS, ids=lambda part: str(part)[:40])
def test_objects(
    link: Connection, table: str, values: list[Any], sql_type: str, want: list[Any]
) -> None:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    for source in (
        {"v": values},
        {"v": column},
        pd.DataFrame({"v": pd.Series(column, dtype=object)}),
    ):
        write_table(source, table, link, if_exists="replace")
        assert types(link, table) == {"v": sql_type}
        quoted = table.replace('"', '""')
        assert [row[0] for row in link.fetch(f'SELECT v FROM "{quoted}"')] == want


def test_missing_values_among_objects(link: Connection, table: str) -> None:
    values = [float("nan"), pd.NA, pd.NaT, None, "x"]
    write_table(pd.DataFrame({"v": pd.Series(values, dtype=object)}), table, link)
    assert rows(link, table) == [("x",), (None,), (None,), (None,), (None,)]


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([1, "a"], r"it holds int as bigint \(row 0\) and str as text \(row 1\)"),
        (
            [None, dt.date(2024, 1, 1), "x"],
            r"it holds date as date \(row 1\) and str as text \(row 2\)",
        ),
        ([[1], "x"], r"it holds str as text \(row 1\) and list as an array \(row 0\)"),
        ([[1], ["x"]], r"it holds int as bigint \(row 0\) and str as text \(row 1\)"),
        ([object()], "no type stands for object"),
        (
            [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
            r"datetime as timestamp \(row 0\) and datetime as timestamptz \(row 1\)",
        ),
        ([1, pd.Period("2024")], "no type stands for Period"),
    ],
)
def test_objects_that_are_no_column(
    link: Connection, table: str, values: list[Any], match: str
) -> None:
    with pytest.raises(SchemaError, match=match) as caught:
        write_table(pd.DataFrame({"v": pd.Series(values, dtype=object)}), table, link)
    assert "pass the type of the column" in str(caught.value)
    assert types(link, table) == {}


def test_objects_that_are_no_json(link: Connection, table: str) -> None:
    for value, match in (({"a": float("nan")}, "not JSON compliant"), ({"a": b""}, "not JSON")):
        with pytest.raises(EncodeError, match=f'column "v", row 1, to jsonb: .*{match}'):
            write_table({"v": [{}, value]}, table, link)


def test_types_of_pandas(link: Connection, table: str) -> None:
    berlin = pd.to_datetime(["2024-07-01 12:00", None]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame(
        {
            "category": pd.Categorical(["x", None], categories=["x", "y"]),
            "numbers": pd.Categorical([7, 8]),
            "zoned": berlin,
            "boolean": pd.array([True, None], dtype="boolean"),
            "small": pd.array([1, None], dtype="Int16"),
            "string": pd.array(["a", None], dtype="string"),
            "delta": pd.to_timedelta(["1h", None]),
            "unsigned": np.array([1, 2], "u8"),
            "sparse": pd.arrays.SparseArray([0, 1]),
        }
    )
    write_table(frame, table, link)
    assert types(link, table) == {
        "category": "text",
        "numbers": "bigint",
        "zoned": "timestamp with time zone",
        "boolean": "boolean",
        "small": "smallint",
        "string": "text",
        "delta": "interval",
        "unsigned": "numeric(20,0)",
        "sparse": "bigint",
    }
    (first, _) = sorted(rows(link, table), key=lambda row: row[1])
    assert first[:3] == ("x", 7, dt.datetime(2024, 7, 1, 10, tzinfo=dt.UTC))


NOTHING: dict[str, list[Any]] = {
    "int4": [None, None],
    "timestamptz": [None],
    "tsvector": [None],
    "int4[]": [[None, None], [], None],
    "timestamp[]": [[[], []]],
    "text[]": [[None]],
    "tsvector[]": [[None]],
    "int4range": [None],
}


@pytest.mark.parametrize("sql_type", NOTHING)
def test_polars_null_goes_into_every_type(link: Connection, sql_type: str) -> None:
    """Alone and in lists, as Arrow's: a frame has no other type to say of such a column."""
    values = NOTHING[sql_type]
    frame = pl.DataFrame({"v": values})
    assert "Null" in str(frame.schema["v"])
    link.execute(f"CREATE TEMP TABLE nothing (n int, v {sql_type})")
    for number, given in enumerate([frame, pa.table({"v": pa.array(values)})]):
        write_table(given, "nothing", link, if_exists="append")
        link.execute(f"UPDATE nothing SET n = {number} WHERE n IS NULL")
    by_polars, by_arrow = (
        link.fetch("SELECT v::text FROM nothing WHERE n = $1", number) for number in (0, 1)
    )
    assert by_polars == by_arrow
    assert len(by_polars) == len(values)
    link.execute("DROP TABLE nothing")


def test_types_of_polars(link: Connection, table: str) -> None:
    frame = pl.DataFrame(
        {
            "enum": pl.Series(["a", None], dtype=pl.Enum(["a", "b"])),
            "category": pl.Series(["x", None], dtype=pl.Categorical),
            "decimal": pl.Series([D("1.25"), None], dtype=pl.Decimal(10, 2)),
            "list": [[[1, 2], [3, 4]], None],
            "array": pl.Series([[1.5, 2.5], None], dtype=pl.Array(pl.Float32, 2)),
            "binary": [b"\0", None],
            "duration": [dt.timedelta(hours=1), None],
            "time": [dt.time(1), None],
            "date": [dt.date(2024, 1, 1), None],
            "zoned": pl.Series([dt.datetime(2024, 1, 1), None]).dt.replace_time_zone("UTC"),
            "small": pl.Series([1, None], dtype=pl.Int8),
            "null": [None, None],
            "nulls": [[], None],
        }
    )
    write_table(frame, table, link)
    assert types(link, table) == {
        "enum": "text",
        "category": "text",
        "decimal": "numeric(10,2)",
        "list": "bigint[]",
        "array": "real[]",
        "binary": "bytea",
        "duration": "interval",
        "time": "time without time zone",
        "date": "date",
        "zoned": "timestamp with time zone",
        "small": "smallint",
        "null": "text",
        "nulls": "text[]",
    }
    with pytest.raises(SchemaError, match='column "s" cannot be made: no type stands for Arrow'):
        write_table(pl.DataFrame({"s": [{"x": 1}]}), table, link, if_exists="replace")
    with pytest.raises(TypeError, match="LazyFrame has no rows yet"):
        write_table(frame.lazy(), table, link, if_exists="replace")


def test_a_value_that_does_not_fit_names_its_place(link: Connection, table: str) -> None:
    link.execute('CREATE TABLE "frames ""of"" a test" (a int2, b date)')
    big = np.zeros(70_000, "i8")
    big[69_999] = 40_000
    with pytest.raises(EncodeError, match='column "a", row 69999, from Int64 to int2: 40000'):
        write_table(pl.DataFrame({"a": big}), table, link, if_exists="append")
    with pytest.raises(EncodeError, match=r'column "b".*Utf8'):
        write_table(pa.table({"b": ["2024-01-01"]}), table, link, if_exists="append")
    assert rows(link, table) == []


def test_progress(
    link: Connection,
    table: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []
    frame = pl.DataFrame({"a": range(200_000)})
    write_table(frame, table, link, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 200_000
    assert len(told) > 2
    write_table(frame, table, link, if_exists="truncate", progress=True)
    assert "200,000 rows" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r"progress=True, .*needs rich: .*rich>="):
        write_table(frame, table, link, if_exists="append", progress=True)
    assert link.fetchval('SELECT count(*) FROM "frames ""of"" a test"') == 200_000


def test_an_interrupted_copy_leaves_nothing(link: Connection, table: str) -> None:
    def interrupt(rows: int) -> None:
        if rows > 50_000:
            raise KeyboardInterrupt

    frame = pl.DataFrame({"a": range(500_000)})
    for if_exists in ("fail", "append"):
        with pytest.raises(KeyboardInterrupt):
            write_table(frame, table, link, if_exists=if_exists, progress=interrupt)
        assert types(link, table) == {}
    with link.transaction():
        with pytest.raises(KeyboardInterrupt):
            write_table(frame, table, link, progress=interrupt)
        assert write_table(ONE, table, link) == 2
    assert rows(link, table) == [(1,), (2,)]


def test_a_limit_of_time_leaves_nothing(link: Connection, table: str, dsn: str) -> None:
    write_table(ONE, table, link)
    with colonnade.sync.connect(dsn) as other, other.transaction():
        other.execute('LOCK TABLE "frames ""of"" a test"')
        with pytest.raises(TimeoutError):
            write_table(ONE, table, link, if_exists="append", timeout=0.1)
    assert rows(link, table) == [(1,), (2,)]


def test_what_is_no_frame(link: Connection, table: str) -> None:
    alone: list[Any] = [pd.Series([1]), pl.Series([1]), pa.array([1]), pa.chunked_array([[1]])]
    for source in alone:
        with pytest.raises(TypeError, match="is a single column: pass a mapping"):
            write_table(source, table, link)
    objects = pl.DataFrame({"Null": [1], "v": pl.Series([object()], dtype=pl.Object)})
    with pytest.raises(TypeError, match='column "v" holds Python objects'):
        write_table(objects, table, link)
    with pytest.raises(TypeError, match='column "v" holds Python objects'):
        write_table({"v": objects["v"]}, table, link)
    with pytest.raises(SchemaError, match='column "v" cannot be made: no type stands for complex'):
        write_table({"v": np.array([1j])}, table, link)
    assert types(link, table) == {}


def test_by_dsn(dsn: str, link: Connection, table: str) -> None:
    assert write_table(ONE, table, dsn) == 2
    assert rows(link, table) == [(1,), (2,)]
    with pytest.raises(TypeError, match="table_name must be a str"):
        write_table("t", ONE, dsn)  # type: ignore[arg-type]


def test_upsert(link: Connection, table: str) -> None:
    first = pd.DataFrame({"id": [1, 2], "at": pd.to_datetime(["2024-01-01", None])})
    write_table(first, table, link, types={"id": "int8 PRIMARY KEY"})
    again = pd.DataFrame({"id": [2, 3], "at": pd.to_datetime(["2024-02-02", None])})
    upsert: dict[str, Any] = {"if_exists": "append", "conflict_columns": "id"}
    assert write_table(again, table, link, on_conflict="nothing", **upsert) == 1
    assert rows(link, table) == [(1, dt.datetime(2024, 1, 1)), (2, None), (3, None)]
    assert write_table(again, table, link, on_conflict="update", **upsert) == 2
    assert rows(link, table)[1] == (2, dt.datetime(2024, 2, 2))
    assert not link.is_in_transaction()
    # The same frame can be copied by `copy_columns_to_table`, with the same meaning of NaT.
    link.copy_columns_to_table(table, again, on_conflict="update", conflict_columns=["id"])
    assert rows(link, table)[2] == (3, None)


def test_upserts_that_cannot_be(link: Connection, table: str) -> None:
    with pytest.raises(InterfaceError, match=r"there is no table .*: create it"):
        write_table(ONE, table, link, if_exists="append", on_conflict="nothing")
    write_table(ONE, table, link)
    with pytest.raises(InterfaceError, match='needs if_exists="append", not "replace"'):
        write_table(ONE, table, link, if_exists="replace", on_conflict="nothing")
    with pytest.raises(InterfaceError, match="needs conflict_columns"):
        write_table(ONE, table, link, if_exists="append", on_conflict="update")
    with pytest.raises(ValueError, match='on_conflict must be "nothing" or "update"'):
        write_table(ONE, table, link, if_exists="append", on_conflict="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match='on_conflict must be "nothing" or "update", not 1'):
        write_table(ONE, table, link, if_exists="append", on_conflict=1)  # type: ignore[arg-type]
    assert rows(link, table) == [(1,), (2,)]


def test_a_dotted_name_makes_no_table_in_silence(link: Connection) -> None:
    way_out = r"pass table_name='t1', schema_name='public'"
    for if_exists in ("fail", "append", "replace", "truncate"):
        with pytest.raises(InterfaceError, match=way_out):
            write_table(ONE, "public.t1", link, if_exists=if_exists)
    with pytest.raises(InterfaceError, match=way_out):
        link.copy_columns_to_table("public.t1", ONE, create=True)
    assert types(link, "public.t1") == types(link, "t1") == {}
    # A table with exactly that name can be created on purpose, and then filled normally.
    try:
        write_table(ONE, "public.t1", link, schema_name="public")
        assert write_table(ONE, "public.t1", link, if_exists="append") == 2
        assert write_table(ONE, "public.t1", link, if_exists="truncate") == 2
    finally:
        link.execute('DROP TABLE IF EXISTS public."public.t1"')


def test_a_copy_of_a_dotted_name_gets_a_hint(link: Connection) -> None:
    copies: list[Any] = [
        lambda name: link.copy_columns_to_table(name, ONE),
        lambda name: link.copy_records_to_table(name, records=[(1,)]),
        lambda name: link.copy_to_table(name, source=b"1\n"),
        lambda name: link.copy_from_table(name, output=io.BytesIO()),
        lambda name: link.copy_from_table(name, columns=["a"], output=io.BytesIO()),
    ]
    for copy in copies:
        with pytest.raises(UndefinedTableError) as caught:
            copy("public.t1")
        assert any("schema_name='public'" in note for note in caught.value.__notes__)
        with pytest.raises(UndefinedTableError) as caught:
            copy("no_dot")
        assert not any("schema_name" in note for note in getattr(caught.value, "__notes__", []))
    assert link.fetchval("SELECT 1") == 1


WRONG_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"types": "int"}, r"the types of a new table must be a mapping .*, not str"),
    ({"types": ["int"]}, "the types of a new table must be a mapping .*, not list"),
    (
        {"types": {"a": int}},
        "the types of a new table must be a mapping of names to types.* str to type",
    ),
    ({"schema_name": 5}, "schema_name must be a str, not int"),
    ({"if_exists": ["append"]}, 'if_exists must be "fail".*'),
    ({"columns": "a"}, "columns must be a list or a mapping"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS)
def test_options_of_a_wrong_class(
    link: Connection, table: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        write_table(ONE, table, link, **options)
    assert types(link, table) == {}

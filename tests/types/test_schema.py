"""`schema`: every possible cast, every impossible one, and the errors."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from colonnade import ArrowStream, read_sql
from colonnade.errors import DecodeError, InterfaceError, SchemaError
from samples import BY_TYPE, HUGE_NUMERICS, base_type, query
from tests.types import oracle

if TYPE_CHECKING:
    from colonnade.sync import Connection

DICTIONARY = "dictionary<int32, utf8>"
KEPT_DICTIONARY = "dictionary<values=utf8, indices=int32, ordered=0>"
CELLS = ("U80", "S80")
TEXTS = ("utf8", "large_utf8", "utf8_view")
TEXT_CASTS = (*TEXTS, DICTIONARY, *CELLS, "binary")
UNITS = ("s", "ms", "us", "ns")
TIMESTAMPS = tuple(f"timestamp[{unit}]" for unit in UNITS)
TIMES = ("time32[s]", "time32[ms]", "time64[us]", "time64[ns]")
DECIMALS = ("decimal128(38, 6)", "decimal256(76, 6)")
#: The casts that a schema may request of each type; all others are refused.
CASTS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "int2": ("int16", "int32", "int64", "uint16", "uint32", "uint64", "float64"),
    "int4": ("int32", "int64", "uint32", "uint64", "float64"),
    "int8": ("int64", "uint64", "float64"),
    "oid": ("uint32", "uint64", "int64", "float64"),
    "float4": ("float32", "float64"),
    "float8": ("float64",),
    "text": TEXT_CASTS,
    "varchar(3)": TEXT_CASTS,
    "char(5)": TEXT_CASTS,
    "name": TEXT_CASTS,
    '"char"': TEXT_CASTS,
    "json": TEXT_CASTS,
    "jsonb": TEXT_CASTS,
    "bytea": ("binary", "S80"),
    "uuid": ("fixed_size_binary[16]",),
    "date": ("date32", *TIMESTAMPS),
    "time": (*TIMES, *(f"duration[{unit}]" for unit in UNITS), "int64"),
    "timestamp": (*TIMESTAMPS, "date32"),
    "timestamptz": (*TIMESTAMPS, *(f"timestamp[{unit}, UTC]" for unit in UNITS), "date32"),
    "numeric": ("float64", "int64", "utf8", "large_utf8", "utf8_view", *DECIMALS),
    "numeric(15,2)": ("float64", "int64", "utf8", "large_utf8", "utf8_view", *DECIMALS),
    "int4range": (),
}
# Text is possible for any type, because the server produces it.
CASTS = {
    sql_type: (*casts, *(text for text in TEXTS if text not in casts))
    for sql_type, casts in CASTS.items()
}
ALL = (
    "bool",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    *TEXT_CASTS,
    "fixed_size_binary[16]",
    "date32",
    *TIMES,
    "duration[us]",
    "timestamp[ms]",
    "timestamp[us, UTC]",
    *DECIMALS,
)
SPELLED_BY_PYARROW = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    "utf8": "string",
    "large_utf8": "large_string",
    "utf8_view": "string_view",
    "date32": "date32[day]",
    KEPT_DICTIONARY: KEPT_DICTIONARY.replace("utf8", "string"),
}
# Tested separately: the server's text of a float4 is the shortest, not the exact one.
ALLOWED = [
    (sql_type, cast)
    for sql_type, casts in CASTS.items()
    for cast in casts
    if (sql_type, cast) != ("float4", "float64")
]
REFUSED = [
    (sql_type, cast) for sql_type, casts in CASTS.items() for cast in ALL if cast not in casts
]


#: Moments that a unit can represent, in addition to those of the coarser units.
DIGITS = {"s": "", "ms": ".789", "us": ".789012", "ns": ".789012"}
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
DAY_SECONDS = 86_400
CELL = 80


def unit_of(cast: str) -> str | None:
    word, _, rest = cast.partition("[")
    if word in {"timestamp", "time32", "time64", "duration"}:
        return rest.rstrip("]").partition(",")[0]
    return None


def values_of(sql_type: str, cast: str) -> list[str | None]:
    if sql_type == "int4range":
        return ["[1,5)", None]
    if unit := unit_of(cast):
        return [None, *moments(sql_type, DIGITS[unit])]
    if cast == "date32" and sql_type != "date":
        return [None, "1970-01-01 00:00:00", "0044-03-15 00:00:00", "1969-12-31 00:00:00"]
    sample = BY_TYPE[sql_type]
    texts = [*sample.values, *(sample.both_refuse if sql_type == "time" else ())]
    if sql_type == "int8" and cast == "float64":
        texts = [text for text in texts if int(float(text)) == int(text)]
    if sql_type.startswith("int") and cast.startswith("uint"):
        texts = [text for text in texts if int(text) >= 0]
    if sql_type.startswith("numeric") and cast == "int64":
        texts = ["0", "-12.00", "9223372036854775807"] if sql_type == "numeric" else ["7", "-1.00"]
    if cast in CELLS:
        texts = [text for text in texts if len(text) < CELL and not text.endswith("00")]
    if cast == CELLS[1]:
        texts = [text for text in texts if text.isascii()]
    return [None, *texts]


def moments(sql_type: str, digits: str) -> tuple[str, ...]:
    if sql_type == "date":
        return ("1970-01-01", "1969-12-31", "2262-04-11", "1677-09-22")
    if sql_type == "time":
        return ("00:00:00", f"12:34:56{digits}", "23:59:59")
    return ("1970-01-01 00:00:00", f"2000-02-29 12:34:56{digits}", f"1677-09-22 00:00:00{digits}")


def expected(sql_type: str, cast: str, texts: list[str | None]) -> list[Any]:
    """The column's raw values after the cast, from the server's texts."""
    if cast in TEXTS or (cast == "binary" and sql_type not in {"bytea", "int4range"}):
        return [t if t is None or cast != "binary" else t.encode() for t in texts]
    if cast == "float64":
        return [None if text is None else oracle.float8_bits(float(text)) for text in texts]
    values = oracle.expected(sql_type, texts)
    if unit := unit_of(cast):
        per_second = PER_SECOND[unit]
        if sql_type == "date":
            return [v if v is None else v * DAY_SECONDS * per_second for v in values]
        return [v if v is None else v * per_second // 1_000_000 for v in values]
    if cast == "date32" and sql_type != "date":
        return [v if v is None else v // (DAY_SECONDS * 1_000_000) for v in values]
    return values


def kept_type(sql_type: str, cast: str) -> str:
    """The type of the column's field: an instant keeps its zone."""
    if sql_type == "timestamptz" and cast in TIMESTAMPS:
        return cast.replace("]", ", UTC]")
    return KEPT_DICTIONARY if cast == DICTIONARY else cast


def handed_type(sql_type: str, cast: str) -> str:
    """The type in pyarrow, in its spelling."""
    if cast in CELLS:
        return "binary" if sql_type == "bytea" else "string"
    kept = kept_type(sql_type, cast).replace(", UTC", ", tz=UTC")
    return SPELLED_BY_PYARROW.get(kept, kept)


@pytest.mark.parametrize(("sql_type", "cast"), ALLOWED)
def test_a_cast_that_there_is(link: Connection, sql_type: str, cast: str) -> None:
    argument = oracle.json_texts(values_of(sql_type, cast))
    columns = link.fetch_columns(query(sql_type), argument, schema={"v": cast})
    assert columns.fields[0].arrow_type == kept_type(sql_type, cast)
    table = oracle.arrow_table(columns)
    kind = table["v"].type
    if isinstance(kind, pa.BaseExtensionType):
        assert kind.extension_name == {"uuid": "arrow.uuid"}.get(sql_type, "arrow.json")
        kind = kind.storage_type
    assert str(kind) == handed_type(sql_type, cast)
    texts = table["t"].to_pylist()
    assert oracle.raw(table["v"]) == expected(sql_type, cast, texts)
    # Every column can be a list of objects.
    values = columns.to_pydict()["v"]
    assert [value is None for value in values] == table["v"].is_null().to_pylist()


def test_float4_widens_by_its_bits(link: Connection) -> None:
    argument = oracle.json_texts(BY_TYPE["float4"].values)
    narrow = link.fetch_columns(query("float4"), argument).to_pydict()["v"]
    wide = link.fetch_columns(query("float4"), argument, schema={"v": "float64"}).to_pydict()["v"]
    assert all(oracle.same(a, b) for a, b in zip(narrow, wide, strict=True))


def listed(cast: str) -> str:
    """The list of possible casts in a message."""
    cast = re.sub(r"\(\d+, \d\)", "(p, s)", cast)
    cast = re.sub(r"timestamp\[\w+", "timestamp[unit", cast).replace(", UTC", ", zone")
    return {"U80": "U<characters>", "S80": "S<bytes>"}.get(cast, cast)


@pytest.mark.parametrize(("sql_type", "cast"), REFUSED)
def test_a_cast_that_there_is_not(link: Connection, sql_type: str, cast: str) -> None:
    with pytest.raises(SchemaError) as refused:
        link.fetch_columns(f"SELECT NULL::{sql_type} AS v", schema={"v": cast})
    type_name = base_type(sql_type).strip('"')
    type_name = {"char": "bpchar"}.get(type_name, type_name) if "(" in sql_type else type_name
    possible = ", ".join(dict.fromkeys(map(listed, CASTS[sql_type])))
    said = f'schema asks for column "v" of type {type_name} as {cast}; possible: {possible}'
    if cast == "float32" and "float64" in possible:
        said += '; "float32", Arrow\'s "float", has 32 bits: write "float64"'
    assert str(refused.value) == said
    assert link.fetchval("SELECT 1") == 1


@pytest.mark.parametrize(
    "spelling",
    [
        "int8",
        "Int128",
        "",
        "decimal128",
        "decimal128(39, 0)",
        "decimal128(5, 6)",
        "decimal128(5, -2)",
        "decimal256(77, 0)",
        "timestamp[h]",
        "time64[s]",
        "U0",
        "list<item: int64>",
    ],
)
def test_a_type_that_nobody_knows(link: Connection, spelling: str) -> None:
    with pytest.raises(SchemaError, match=r'schema\["v"\].*which is none of bool, int16, .*') as no:
        link.fetch_columns("SELECT 1 AS v", schema={"v": spelling})
    assert f'"{spelling}"' in str(no.value)
    assert isinstance(no.value, InterfaceError)
    assert isinstance(no.value, ValueError)


def test_unknown_columns(link: Connection) -> None:
    with pytest.raises(SchemaError, match='schema names column "w", but the result has "v", "x"'):
        link.fetch_columns("SELECT 1 AS v, 2 AS x", schema={"v": "int64", "w": "int64"})
    with pytest.raises(SchemaError, match='column "w", but the result has no columns'):
        link.fetch_columns("SELECT", schema={"w": "int64"})
    with (
        pytest.raises(SchemaError, match='column "w"'),
        link.iter_columns("SELECT 1 AS v", schema={"w": "int64"}) as stream,
    ):
        list(stream)
    assert link.fetchval("SELECT 1") == 1


def test_a_name_stands_for_every_column_that_has_it(link: Connection) -> None:
    columns = link.fetch_columns("SELECT 1 AS v, 2::int2 AS v", schema={"v": "int64"})
    assert [field.arrow_type for field in columns.fields] == ["int64", "int64"]


def test_an_int8_that_a_float_cannot_hold(link: Connection) -> None:
    sql = "SELECT v FROM (VALUES (9007199254740992), (NULL), (9007199254740993)) x(v)"
    with pytest.raises(DecodeError, match="9007199254740993 has no exact float64") as refused:
        link.fetch_columns(sql, schema={"v": "float64"})
    assert (refused.value.column, refused.value.row) == ("v", 2)


@pytest.mark.parametrize(
    ("text", "cast", "reason"),
    [
        ("1.234", "decimal128(10, 2)", "more digits after the point than the 2 that were fixed"),
        ("123456789", "decimal128(10, 2)", "more digits than the 10, 2 of them after the point"),
        ("1e76", "decimal256(76, 0)", "more digits than the 76, 0 of them after the point"),
        ("NaN", "decimal128(10, 2)", "Arrow's decimals have no NaN"),
        ("-Infinity", "decimal256(10, 2)", "Arrow's decimals have no -Infinity"),
        ("1e400", "float64", "out of range for a float64"),
    ],
)
def test_a_numeric_that_does_not_fit(link: Connection, text: str, cast: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason) as refused:
        link.fetch_columns(
            query("numeric"), oracle.json_texts(["1", None, text]), schema={"v": cast}
        )
    assert (refused.value.column, refused.value.type_name, refused.value.row) == ("v", "numeric", 2)


def test_a_decimal_takes_zeros_beyond_its_scale(link: Connection) -> None:
    """The zeros are digits of the text, but do not change the number."""
    texts = ["1.230000", "-0.000000", "99999999.990"]
    columns = link.fetch_columns(
        query("numeric"), oracle.json_texts(texts), schema={"v": "decimal128(10, 2)"}
    )
    assert oracle.arrow_table(columns)["v"].to_pylist() == [Decimal(text) for text in texts]


def test_a_numeric_as_float_is_the_nearest_one(link: Connection) -> None:
    texts = [
        *("0.1", "1e308", "-1.7976931348623157e308", "5e-324", "1e-16383", "123456789.123456789"),
        *("9007199254740993", "2.2250738585072011e-308", "9" * 300, "NaN", "Infinity", "-Infinity"),
    ]
    columns = link.fetch_columns(
        query("numeric"), oracle.json_texts(texts), schema={"v": "float64"}
    )
    values = columns.to_pydict()["v"]
    wanted = [float(Decimal(text)) for text in texts]
    assert all(oracle.same(a, b) for a, b in zip(values, wanted, strict=True)), values


def test_a_numeric_as_text_has_no_bounds(link: Connection) -> None:
    argument = oracle.json_texts([*HUGE_NUMERICS, "NaN", "Infinity", "-Infinity", "0.00", None])
    for layout in ("utf8", "large_utf8", "utf8_view"):
        columns = link.fetch_columns(query("numeric"), argument, schema={"v": layout})
        values = columns.to_pydict()
        assert values["v"] == values["t"]


def test_a_stream_keeps_the_scale_of_its_first_batch(link: Connection) -> None:
    texts = ["1.5", None, "2.25", "3", "1.2345678901234567891", "7"]
    argument = oracle.json_texts(texts)
    with link.iter_columns(query("numeric"), argument, batch_rows=3) as stream:
        first = next(stream)
        assert first.fields[0].arrow_type == "decimal128(38, 18)"
        with pytest.raises(DecodeError, match="the 18 that were fixed by the first batch") as late:
            list(stream)
    assert late.value.row == 4
    assert 'schema={"v": "decimal128(38, 19)"} or schema={"v": "float64"}' in str(late.value)
    assert link.fetchval("SELECT 1") == 1
    fixed = {"v": "decimal128(38, 19)"}
    with link.iter_columns(query("numeric"), argument, batch_rows=3, schema=fixed) as stream:
        tables = [oracle.arrow_table(batch) for batch in stream]
    assert pa.concat_tables(tables)["v"].to_pylist() == [t and Decimal(t) for t in texts]


def test_a_stream_keeps_the_width_of_its_first_batch(link: Connection) -> None:
    argument = oracle.json_texts(["1", "9" * 39])
    with link.iter_columns(query("numeric"), argument, batch_rows=1) as stream:
        assert next(stream).fields[0].arrow_type == "decimal128(38, 18)"
        with pytest.raises(
            DecodeError, match=r"more digits than the 38, 18 of them .* first batch"
        ) as late:
            next(stream)
    assert 'schema={"v": "decimal256(76, 18)"} or schema={"v": "float64"}' in str(late.value)


SALES = """SELECT g AS id, (CASE WHEN g <= 1500 THEN g ELSE g / 8.0 END)::numeric AS amount,
           ARRAY[(g / 4.0)::numeric] AS list FROM generate_series(1, 2000) g"""


def test_a_stream_of_numerics_has_room_for_what_its_first_batch_has_not(link: Connection) -> None:
    total = link.fetchval(f"SELECT sum(amount) FROM ({SALES}) AS x")
    whole = link.fetch_columns(SALES)
    assert whole.fields[1].arrow_type == "decimal128(38, 16)"
    with link.iter_columns(SALES, batch_rows=500) as stream:
        tables = [oracle.arrow_table(batch) for batch in stream]
    assert {str(table.schema.field("amount").type) for table in tables} == {"decimal128(38, 18)"}
    assert sum(sum(table["amount"].to_pylist()) for table in tables) == total
    lists = [value for table in tables for value in table["list"].to_pylist()]
    assert lists == whole.to_pydict()["list"]
    with ArrowStream(link.iter_columns(SALES, batch_rows=500)) as stream:
        assert (
            pa.table(pa.RecordBatchReader.from_stream(stream))["amount"].to_pylist()
            == (whole.to_pydict()["amount"])
        )
    frames = list(read_sql(SALES, link, batch_rows=500))
    assert {str(frame["amount"].dtype) for frame in frames} == {"float64"}
    assert sum(frame["amount"].sum() for frame in frames) == float(total)


def test_a_schema_is_about_one_call(link: Connection) -> None:
    """Both calls use the same cached statement."""
    sql = "SELECT 7::int4 AS v"
    kinds = [
        link.fetch_columns(sql, schema=schema).fields[0].arrow_type
        for schema in (None, {"v": "int64"}, {}, {"v": "float64"}, None)
    ]
    assert kinds == ["int32", "int64", "int32", "float64", "int32"]

"""The table of edges in docs/reference/edges.md, tested in columns and in rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from colonnade import BitString, Range
from colonnade.errors import DecodeError
from samples import PLANES
from tests.types import oracle
from tests.types.test_docs_tables import REFERENCE, table

if TYPE_CHECKING:
    from colonnade.sync import Connection

REFUSED = object()
NAN, INFINITY = float("nan"), float("inf")
SMALLEST = "'0." + "0" * 16_382 + "1'::numeric"


def same(value: Any) -> tuple[Any, Any]:
    """Whether a column's list and a row have the same object."""
    return value, value


def floats(literal: str, value: float) -> tuple[str, Any, Any]:
    read = oracle.float4_bits if "float4" in literal else oracle.float8_bits
    return (literal, read(value), value)


#: First cell of a table row -> an expression, the column's raw value, the row's value.
EDGES: dict[str, tuple[tuple[str, Any, Any], ...]] = {
    "NULL": tuple(
        (f"NULL::{kind}", None, None)
        for kind in ("int4", "text", "numeric", "point", "int4[]", "int4range", "record", "void")
    ),
    "NaN, infinities, -0.0 and subnormals in `float4`, `float8`": (
        floats("'NaN'::float4", NAN),
        floats("'-Infinity'::float4", -INFINITY),
        floats("'-0'::float4", -0.0),
        floats("'1e-45'::float4", 2**-149),
        floats("'NaN'::float8", NAN),
        floats("'Infinity'::float8", INFINITY),
        floats("'-0'::float8", -0.0),
        floats("'5e-324'::float8", 5e-324),
    ),
    "`float4`": (floats("'0.1'::float4", 0.10000000149011612),),
    "`infinity`, `-infinity` in `date`, `timestamp`, `timestamptz`": (
        ("'infinity'::date", REFUSED, date.max),
        ("'-infinity'::date", REFUSED, date.min),
        ("'infinity'::timestamp", REFUSED, datetime.max),
        ("'-infinity'::timestamptz", REFUSED, datetime.min),
    ),
    "`infinity`, `-infinity` in `interval`": (
        ("'infinity'::interval", REFUSED, REFUSED),
        ("'-infinity'::interval", REFUSED, REFUSED),
    ),
    "NaN, `Infinity`, `-Infinity` in `numeric`": (
        ("'NaN'::numeric", REFUSED, Decimal("NaN")),
        ("'Infinity'::numeric", REFUSED, Decimal("Infinity")),
        ("'-Infinity'::numeric", REFUSED, Decimal("-Infinity")),
    ),
    "infinities within arrays, ranges and composites": (
        ("ARRAY['infinity'::date]", REFUSED, [date.max]),
        ("daterange('2024-01-01', 'infinity')", REFUSED, Range(date(2024, 1, 1), date.max)),
        ("ROW('Infinity'::numeric, 1)", REFUSED, (Decimal("Infinity"), 1)),
    ),
    "years BC and from 10000 on": (
        ("'0044-03-15 BC'::date", oracle.days("0044-03-15 BC"), REFUSED),
        ("'10000-01-01'::date", oracle.days("10000-01-01"), REFUSED),
        ("'4714-11-24 BC'::timestamp", oracle.moment("4714-11-24 00:00:00 BC"), REFUSED),
        ("'10000-01-01+00'::timestamptz", oracle.moment("10000-01-01 00:00:00"), REFUSED),
        ("ARRAY['0044-03-15 BC'::date]", [oracle.days("0044-03-15 BC")], REFUSED),
    ),
    "`timestamp`, `timestamptz` from 294247-01-10 04:00:54.775808 on": (
        ("'294247-01-10 04:00:54.775808'::timestamp", REFUSED, REFUSED),
        ("'294276-12-31 23:59:59.999999+00'::timestamptz", REFUSED, REFUSED),
    ),
    "`time '24:00:00'`": (("'24:00:00'::time", REFUSED, REFUSED),),
    "`timetz '24:00:00'`": (("'24:00:00+00'::timetz", REFUSED, REFUSED),),
    "seconds in the offset of a `timetz`": (
        (
            "'12:00-00:00:01'::timetz",
            {"time": 43_200_000_000, "offset": -1},
            time.fromisoformat("12:00-00:00:01"),
        ),
    ),
    "months of an `interval`": (("'1 year 1 mon'::interval", (13, 0, 0), timedelta(days=395)),),
    "an `interval` of 2562047:47:16.854776 or more beside its days": (
        (
            "'2562047:47:16.854775'::interval",
            (0, 0, 9_223_372_036_854_775_000),
            timedelta(hours=2_562_047, minutes=47, seconds=16, microseconds=854_775),
        ),
        (
            "'2562047:47:16.854776'::interval",
            REFUSED,
            timedelta(hours=2_562_047, minutes=47, seconds=16, microseconds=854_776),
        ),
    ),
    "an `interval` of more than 999999999 days": (
        ("'1000000000 days'::interval", (0, 1_000_000_000, 0), REFUSED),
    ),
    "`numeric` of more than 76 digits": (
        ("'1e76'::numeric", REFUSED, Decimal(10**76)),
        (SMALLEST, REFUSED, Decimal("1e-16383")),
    ),
    "-0 in `numeric`": (("'-0.00'::numeric", Decimal("0.00"), Decimal("0.00")),),
    "text": (
        (f"E'{PLANES}'::text", *same(PLANES)),
        ("''::text", *same("")),
    ),
    "`bytea`": ((r"'\x00ff00'::bytea", *same(b"\0\xff\0")), ("''::bytea", *same(b""))),
    "`bpchar`": (("'ab'::char(4)", *same("ab  ")),),
    '`"char"` above 127': ((r"""'\377'::"char" """, "\\377", b"\xff"),),
    '`"char"` that is empty': (("""''::"char" """, "", b"\0"),),
    "`json`": (("""' {"a": 1, "a": 2} '::json""", *same(' {"a": 1, "a": 2} ')),),
    "`bit` and `varbit` without bits": (("''::varbit", "", BitString("")),),
    "arrays without elements": (("'{}'::int4[]", *same([])), ("'{}'::text[]", *same([]))),
    "lower bounds of an array": (("'[5:6]={1,2}'::int4[]", *same([1, 2])),),
    "a range that is empty": (
        (
            "'empty'::int4range",
            {"lower": None, "upper": None, "lower_inc": False, "upper_inc": False, "empty": True},
            Range(empty=True),
        ),
    ),
    "a composite of NULLs alone": (
        ("ROW(NULL::int4, NULL::text)", {"f1": None, "f2": None}, (None, None)),
    ),
    "instants": (
        (
            "'2024-03-31 02:30 Europe/Berlin'::timestamptz",
            oracle.moment("2024-03-31 01:30:00"),
            datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
        ),
    ),
}
#: Rows of the table with separate tests.
ELSEWHERE = {
    "digits of a `numeric`": "test_corpus.py",
    "arrays of other dimensions in one column": "test_edges.py",
    "text of more than 2 GiB in a column": "test_large.py",
    "a value of 1 GiB or more": "test_large.py",
    "no columns, no rows, 1664 columns": "test_shapes.py",
}
LINES = {line[0]: line[1:] for line in table("## Every type", REFERENCE / "edges.md")}


def test_every_line_is_tested() -> None:
    assert set(LINES) == EDGES.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("cell", EDGES)
def test_the_table_of_edges(link: Connection, cell: str) -> None:
    version = int(link.fetchval("SHOW server_version_num"))
    if cell == "`infinity`, `-infinity` in `interval`" and version < 170_000:
        pytest.skip("intervals have infinities since PostgreSQL 17")
    in_columns, in_rows = LINES[cell]
    for expression, column, row in EDGES[cell]:
        sql = "SELECT pg_sleep(0) AS v" if "void" in expression else f"SELECT {expression} AS v"
        # Without `infinity=`, the value is refused.
        is_told = "DecodeError" in in_columns or "infinity=" in in_columns
        assert column is not REFUSED or is_told
        assert row is not REFUSED or "DecodeError" in in_rows
        if column is REFUSED:
            with pytest.raises(DecodeError):
                link.fetch_columns(sql)
        else:
            (raw,) = oracle.raw(oracle.arrow_table(link.fetch_columns(sql))["v"])
            assert raw == column
        if row is REFUSED:
            with pytest.raises(DecodeError):
                link.fetchval(sql)
        else:
            assert oracle.same(link.fetchval(sql), row)


def test_arrays_of_other_dimensions_in_one_column(link: Connection) -> None:
    sql = "SELECT v::int4[] AS v FROM (VALUES ('{}'), ('{1}'), (NULL), ('{{1},{2}}')) x(v)"
    with pytest.raises(DecodeError, match="dimension") as refused:
        link.fetch_columns(sql)
    assert refused.value.row == 3
    assert [row["v"] for row in link.fetch(sql)] == [[], [1], None, [[1], [2]]]

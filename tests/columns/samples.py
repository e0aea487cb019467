"""Values of every type that has a column of its own, and where NULL may stand among them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Sample:
    """Literals of a PostgreSQL type, and the Python values that they are."""

    type_name: str
    literals: tuple[str, ...]
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return self.type_name


SAMPLES = (
    Sample("bool", ("true", "false", "true"), (True, False, True)),
    Sample("int2", ("-32768", "0", "32767"), (-32768, 0, 32767)),
    Sample("int4", ("-2147483648", "0", "7"), (-2147483648, 0, 7)),
    Sample("int8", ("-9223372036854775808", "9007199254740993", "1"), (-(2**63), 2**53 + 1, 1)),
    Sample("oid", ("0", "4294967295", "7"), (0, 2**32 - 1, 7)),
    Sample("float4", ("1.5", "-inf", "0"), (1.5, float("-inf"), 0.0)),
    Sample("float8", ("1.1", "1e300", "inf"), (1.1, 1e300, float("inf"))),
    Sample(
        "numeric(12,2)",
        ("1.50", "-9999999999.99", "0.00"),
        (Decimal("1.50"), Decimal("-9999999999.99"), Decimal("0.00")),
    ),
    Sample(
        "numeric",
        ("1.5", "12345678901234567890.123456789", "-0.001"),
        (Decimal("1.5"), Decimal("12345678901234567890.123456789"), Decimal("-0.001")),
    ),
    Sample("text", ("", "naïve 日本語 🐘", "x" * 200), ("", "naïve 日本語 🐘", "x" * 200)),
    Sample("varchar(5)", ("", "12345", "é"), ("", "12345", "é")),
    Sample("bpchar(3)", ("a", "abc", ""), ("a  ", "abc", "   ")),
    Sample("name", ("n", "", "ñ"), ("n", "", "ñ")),
    Sample("json", ('{"a": 1}', "null", "[]"), ('{"a": 1}', "null", "[]")),
    Sample("jsonb", ('{"a":1}', "null", "[]"), ('{"a": 1}', "null", "[]")),
    Sample("bytea", ("\\x00ff00", "\\x", "\\x61"), (b"\x00\xff\x00", b"", b"a")),
    Sample(
        "uuid",
        (
            "00000000-0000-0000-0000-000000000000",
            "12345678-9abc-def0-1234-56789abcdef0",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ),
        (UUID(int=0), UUID("12345678-9abc-def0-1234-56789abcdef0"), UUID(int=2**128 - 1)),
    ),
    Sample(
        "date",
        ("0001-01-01", "1969-12-31", "9999-12-31"),
        (date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)),
    ),
    Sample(
        "time",
        ("00:00", "12:30:00.25", "23:59:59.999999"),
        (time(0, 0), time(12, 30, 0, 250_000), time(23, 59, 59, 999_999)),
    ),
    Sample(
        "timestamp",
        ("0001-01-01", "1999-12-31 23:59:59.999999", "9999-12-31"),
        (datetime(1, 1, 1), datetime(1999, 12, 31, 23, 59, 59, 999_999), datetime(9999, 12, 31)),
    ),
    Sample(
        "timestamptz",
        ("1900-01-01 00:00+00", "2024-02-29 12:00+02", "2262-04-12 00:00+00"),
        (
            datetime(1900, 1, 1, tzinfo=UTC),
            datetime(2024, 2, 29, 10, tzinfo=UTC),
            datetime(2262, 4, 12, tzinfo=UTC),
        ),
    ),
)

# Where NULL stands -> a literal's index per row, None for NULL.
PLACEMENTS: dict[str, tuple[int | None, ...]] = {
    "none": (0, 1, 2),
    "first": (None, 0, 1, 2),
    "last": (0, 1, 2, None),
    "between": (0, None, 1, 2),
    "all": (None, None),
    "no rows": (),
}


def query(sample: Sample, placement: str) -> str:
    """A query for the sample's values as column `v`, with NULLs where the placement has them."""
    rows = PLACEMENTS[placement] or (None,)
    literals = ("null" if row is None else f"'{sample.literals[row]}'" for row in rows)
    values = ", ".join(f"({number}, {literal})" for number, literal in enumerate(literals))
    where = "" if PLACEMENTS[placement] else " where false"
    return f"select v::{sample.type_name} as v from (values {values}) t (i, v){where} order by i"


def expected(sample: Sample, placement: str) -> list[Any]:
    """The Python values of that query."""
    return [None if row is None else sample.values[row] for row in PLACEMENTS[placement]]

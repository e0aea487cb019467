"""The values that parameters accept and refuse, and the errors."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from colonnade.errors import DataError, EncodeError, InterfaceError, PostgresError
from tests.support.case_ids import named
from tests.types import oracle

if TYPE_CHECKING:
    from colonnade.sync import Connection

UUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
MOMENT = datetime(2024, 2, 29, 12, 34, 56, 789_012)


class Colour(IntEnum):
    RED = 3


class Name(str):
    __slots__ = ()


class Indexed:
    def __index__(self) -> int:
        return 4


#: A type, an object as a parameter, and the value that a row gives back.
TAKEN: tuple[tuple[str, object, object], ...] = (
    ("bool", True, True),
    ("bool", np.False_, False),
    ("int2", -(2**15), -(2**15)),
    ("int4", True, 1),
    ("int4", Colour.RED, 3),
    ("int4", np.uint8(200), 200),
    ("int4", Indexed(), 4),
    ("int4", 11.0, 11),
    ("int4", Decimal("11.00"), 11),
    ("oid", Fraction(22, 2), 11),
    ("int8", np.True_, 1),
    ("int8", 2**63 - 1, 2**63 - 1),
    ("oid", 2**32 - 1, 2**32 - 1),
    ("xid", 7, 7),
    ("float4", 0.5, 0.5),
    ("float4", 0.1, 0.10000000149011612),
    ("float4", float("-inf"), float("-inf")),
    ("float8", 3, 3.0),
    ("float8", -0.0, -0.0),
    ("float8", float("nan"), float("nan")),
    ("float8", Decimal("0.1"), 0.1),
    ("float8", Fraction(1, 4), 0.25),
    ("float8", np.float32(0.5), 0.5),
    ("text", "", ""),
    ("text", Name("n"), "n"),
    ("text", np.str_("n"), "n"),
    ("varchar(3)", "abcd", "abc"),
    ("char(3)", "a", "a  "),
    ("name", "x" * 63, "x" * 63),
    ('"char"', b"\xff", b"\xff"),
    ("bytea", b"", b""),
    ("bytea", bytearray(b"\0a"), b"\0a"),
    ("bytea", memoryview(b"abcdef")[::2], b"ace"),
    ("bytea", np.array([1, 255], dtype="u1"), b"\x01\xff"),
    ("uuid", UUID, UUID),
    ("uuid", str(UUID), UUID),
    ("json", ' {"a":1}', ' {"a":1}'),
    ("jsonb", ' {"a":1}', '{"a": 1}'),
    ("date", date(1, 1, 2), date(1, 1, 2)),
    ("date", MOMENT, MOMENT.date()),
    ("date", date.max, date.max),
    ("time", time(23, 59, 59, 999_999), time(23, 59, 59, 999_999)),
    ("timestamp", MOMENT, MOMENT),
    ("timestamp", date(2024, 2, 29), datetime(2024, 2, 29)),
    ("timestamp", datetime.max, datetime.max),
    ("timestamptz", MOMENT.replace(tzinfo=UTC), MOMENT.replace(tzinfo=UTC)),
    (
        "timestamptz",
        MOMENT.replace(tzinfo=timezone(timedelta(hours=5, minutes=30))),
        (MOMENT - timedelta(hours=5, minutes=30)).replace(tzinfo=UTC),
    ),
    ("timestamptz", datetime.min, datetime.min),
    ("numeric", Decimal("1.50"), Decimal("1.50")),
    ("numeric", Decimal("sNaN"), Decimal("NaN")),
    ("numeric", 7, Decimal(7)),
    ("numeric", 2**200, Decimal(2**200)),
    ("numeric", "1e3", Decimal(1000)),
    ("numeric", 0.5, Decimal("0.5")),
    ("numeric(5,2)", Decimal("1.005"), Decimal("1.01")),
)


@pytest.mark.parametrize(("sql_type", "value", "wanted"), TAKEN, ids=named)
def test_taken(link: Connection, sql_type: str, value: object, wanted: object) -> None:
    came_back = link.fetchval(f"SELECT $1::{sql_type}", value)
    assert oracle.same(came_back, wanted), came_back


def test_a_naive_moment_is_local_time(link: Connection) -> None:
    assert link.fetchval("SELECT $1::timestamptz", MOMENT) == MOMENT.astimezone()


@pytest.mark.parametrize(
    "sql_type",
    [
        "bool",
        "int4",
        "float8",
        "text",
        "bytea",
        "uuid",
        "jsonb",
        "date",
        "numeric",
        "int4range",
        "int4[]",
    ],
)
def test_null(link: Connection, sql_type: str) -> None:
    assert link.fetchval(f"SELECT $1::{sql_type}", None) is None
    assert link.fetchval(f"SELECT $1::{sql_type} IS NULL", None) is True


REFUSED: tuple[tuple[str, object, str], ...] = (
    ("float8", 2**53 + 1, "exactly"),
    ("bool", 1, "expected a bool, got int"),
    ("bool", "t", "expected a bool, got str"),
    ("int2", 2**15, "32768 is out of range for int2, which goes from -32768 to 32767"),
    ("int4", -(2**31) - 1, "-2147483649 is out of range for int4"),
    ("int8", 2**63, "value is outside of 64 bits"),
    ("int4", 1.5, "expected an int, got float"),
    ("int4", float("nan"), "expected an int, got float"),
    ("int8", 1e300, "value is outside of 64 bits"),
    ("int4", "1", "expected an int, got str"),
    ("int4", Decimal("1.5"), "expected an int, got decimal.Decimal"),
    ("int4", np.array([1]), "expected an int, got numpy.ndarray"),
    ("int4", np.arange(2), "got numpy.ndarray; for several values, write = ANY($1) instead of IN"),
    ("int4", [1, 2], "got list; for several values, write = ANY($1) instead of IN ($1))"),
    ("text", ("a",), "got tuple; for several values, write = ANY($1) instead of IN ($1))"),
    ("json", [1], "expected a str, such as json.dumps makes, got list)"),
    ("oid", -1, "value is negative"),
    ("oid", 2**32, "4294967296 is out of range for oid, which goes from 0 to 4294967295"),
    ("float4", 1e39, "out of range for float4; cast the parameter to float8"),
    ("float8", "1", "expected a float, got str"),
    ("float8", 2**1024, "int too large to convert to float"),
    ("text", 1, "expected a str, got int"),
    ("text", b"a", "expected a str, got bytes"),
    ("text", "a\0b", "the string has a NUL after 1 bytes, which PostgreSQL's text cannot hold"),
    ("text", "\ud800", "surrogates not allowed"),
    ("json", {"a": 1}, "expected a str, such as json.dumps makes, got dict"),
    ("jsonb", "\0", "the string has a NUL after 0 bytes"),
    ('"char"', b"ab", '"char" takes one byte, not 2; use text for longer strings'),
    ('"char"', "a", "expected bytes, got str"),
    ("bytea", "a", "expected bytes, got str"),
    ("bytea", [1, 2], "expected bytes, got list"),
    ("uuid", "x", "badly formed hexadecimal UUID string"),
    ("uuid", b"\0" * 16, "expected a uuid.UUID, got bytes"),
    ("date", "2000-01-01", "expected a datetime.date, got str"),
    ("time", MOMENT, "expected a datetime.time, got datetime.datetime"),
    ("time", time(1, tzinfo=UTC), "a time without time zone takes no tzinfo"),
    ("timestamp", MOMENT.replace(tzinfo=UTC), "takes a naive datetime: drop the tzinfo, or cast"),
    ("timestamptz", "now", "expected a datetime.datetime, got str"),
    ("numeric", "one", "expected a decimal.Decimal, got str"),
    ("numeric", Fraction(1, 2), "expected a decimal.Decimal, got fractions.Fraction"),
    ("numeric", Decimal("1e131072"), "the number has more digits than numeric: 131072 before"),
    ("numeric", Decimal("1e-16384"), "the number has more digits than numeric: 131072 before"),
    ("int4range", 1, "expected a Range, or a tuple (lower, upper), got int"),
    ("int4[]", "{1}", "expected a list, or another sized iterable, got str"),
)


@pytest.mark.parametrize(("sql_type", "value", "reason"), REFUSED, ids=named)
def test_refused(link: Connection, sql_type: str, value: object, reason: str) -> None:
    type_name = sql_type.strip('"')
    for fetch in (link.fetch, link.fetch_columns, link.execute):
        with pytest.raises(EncodeError) as refused:
            fetch(f"SELECT 1, $1::{sql_type}", value)
        text = str(refused.value)
        assert text.startswith(f"invalid input for query argument $1 of type {type_name}: ")
        assert reason in text
        assert isinstance(refused.value, DataError)
    assert link.fetchval("SELECT 1") == 1


def test_an_argument_is_counted_and_shown_in_short(link: Connection) -> None:
    with pytest.raises(EncodeError, match=r"argument \$2 of type int4: 'x{76}\.\.\. \("):
        link.fetchval("SELECT $1::int4 + $2::int4", 1, "x" * 1000)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "the server expects 2 arguments for this query, 0 were passed"),
        ((1,), "the server expects 2 arguments for this query, 1 was passed"),
        ((1, 2, 3), "the server expects 2 arguments for this query, 3 were passed"),
    ],
)
def test_the_number_of_arguments(link: Connection, arguments: tuple[Any, ...], told: str) -> None:
    with pytest.raises(InterfaceError, match=told):
        link.fetchval("SELECT $1::int4 + $2::int4", *arguments)


def test_the_most_parameters_that_there_are(link: Connection) -> None:
    """65,535, the protocol's limit."""
    holes = ", ".join(f"${number}" for number in range(1, 65_536))
    sql = f"SELECT count(*) FROM (VALUES (1), (65535), (65536)) x(v) WHERE v IN ({holes})"
    assert link.fetchval(sql, *range(1, 65_536)) == 2


def test_parameters_without_a_type_are_text(link: Connection) -> None:
    (row,) = link.fetch("SELECT $1 AS a, $2 || 'x' AS b", "one", "two")
    assert tuple(row.values()) == ("one", "twox")


def test_large_parameters(link: Connection) -> None:
    text, data = "\u00e4" * 5_000_000, bytes(10_000_000)
    assert link.fetchval("SELECT $1::text", text) == text
    assert link.fetchval("SELECT length($1::bytea)", data) == len(data)


def test_pairs_for_an_hstore(link: Connection) -> None:
    try:
        link.execute("CREATE EXTENSION IF NOT EXISTS hstore")
    except PostgresError:
        pytest.skip("the server has no hstore")
    assert link.fetchval("SELECT ($1::hstore)::text", (("a", "1"), ("b", None))) == (
        '"a"=>"1", "b"=>NULL'
    )
    with pytest.raises(EncodeError, match="expected a dict or pairs, got str"):
        link.fetchval("SELECT $1::hstore", ("a",))

"""Values of every type: as a parameter, in the server's own text, and back in a row."""

from __future__ import annotations

import gc
import pickle
from collections import OrderedDict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from colonnade import BitString, Point, Range, Record
from colonnade.errors import DecodeError, EncodeError
from samples import SAMPLES
from tests.support.case_ids import named
from tests.types import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection

EAST = timezone(timedelta(hours=5, minutes=30, seconds=15))

#: A type, a value as a parameter and in a row, and the server's text of it.
ROUND_TRIPS: tuple[tuple[str, Any, str], ...] = (
    *((sample.sql_type, *pair) for sample in SAMPLES for pair in sample.objects),
    ("int4[]", [], "{}"),
    ("int4[]", [1, None, 3], "{1,NULL,3}"),
    ("int4[]", [[1, 2], [3, None]], "{{1,2},{3,NULL}}"),
    ("int4[]", [[[[[[1], [2]]]]]], "{{{{{{1},{2}}}}}}"),
    ("text[]", ["", "a,b", 'c"d', "NULL", None], '{"","a,b","c\\"d","NULL",NULL}'),
    ("bytea[]", [b"", b"\0"], '{"\\\\x","\\\\x00"}'),
    ("bool[]", [True, False], "{t,f}"),
    ("numeric[]", [Decimal("1.50"), Decimal(-2)], "{1.50,-2}"),
    ("timestamptz[]", [datetime(2024, 2, 29, tzinfo=UTC)], '{"2024-02-29 00:00:00+00"}'),
    ("point[]", [Point(1, 2), Point(3, 4)], '{"(1,2)","(3,4)"}'),
    ("bit(2)[]", [BitString("10")], "{10}"),
    ("int4range", Range(1, 5), "[1,5)"),
    ("int4range", Range(None, 5), "(,5)"),
    ("int4range", Range(), "(,)"),
    ("int4range", Range(empty=True), "empty"),
    ("numrange", Range(Decimal("1.5"), Decimal(2), upper_inc=True), "[1.5,2]"),
    ("daterange", Range(date(2024, 1, 1), date(2024, 1, 5)), "[2024-01-01,2024-01-05)"),
    ("tstzrange", Range(datetime(2024, 1, 1, tzinfo=UTC)), '["2024-01-01 00:00:00+00",)'),
    ("int4range[]", [Range(1, 2), None], '{"[1,2)",NULL}'),
    ("int4multirange", [], "{}"),
    ("int4multirange", [Range(1, 5), Range(7, 9)], "{[1,5),[7,9)}"),
    ("values_mood", "it's ok", "it's ok"),
    ("values_mood[]", ["sad", None], "{sad,NULL}"),
    ("values_positive", 5, "5"),
    ("values_positive[]", [5, 6], "{5,6}"),
    ("values_moodrange", Range("sad", "it's ok"), '[sad,"it\'s ok")'),
)


class Mood(Enum):
    SAD = "sad"
    NUMBER = 3


#: A type, an object as a parameter, and the value that a row gives.
TAKEN: tuple[tuple[str, object, object], ...] = (
    *((sample.sql_type, *pair) for sample in SAMPLES for pair in sample.taken),
    ("int4[]", (1, 2), [1, 2]),
    ("int4[]", {7}, [7]),
    ("int4[]", range(3), [0, 1, 2]),
    ("int4[]", deque([1]), [1]),
    ("int4[]", {1: 2}.keys(), [1]),
    ("int4[]", ((1, 2), (3, 4)), [[1, 2], [3, 4]]),
    ("int4[]", [[], []], []),
    ("int4[]", [[None], [1]], [[None], [1]]),
    ("point[]", [[(1, 2)], [(3, 4)]], [[Point(1, 2)], [Point(3, 4)]]),
    ("int4range", (1, 5), Range(1, 6)),
    ("int4range", [1, None], Range(1, None)),
    ("int4range", (1,), Range(1, None)),
    ("int4range", (), Range(empty=True)),
    ("int4range[]", [(1, 2), (3, 4)], [Range(1, 3), Range(3, 5)]),
    ("int4multirange", (Range(1, 5), (7, 9)), [Range(1, 5), Range(7, 10)]),
    ("values_mood", Mood.SAD, "sad"),
    ("values_mood[]", [Mood.SAD, "it's ok"], ["sad", "it's ok"]),
)


@pytest.fixture(scope="module", autouse=True)
def types(link: Connection) -> Iterator[None]:
    link.execute("""
        CREATE TYPE values_mood AS ENUM ('sad', 'it''s ok');
        CREATE DOMAIN values_positive AS int4 CHECK (value > 0);
        CREATE TYPE values_moodrange AS RANGE (subtype = values_mood);
        CREATE TYPE values_place AS (city text, at point, tags text[]);
        CREATE TYPE values_trip AS (number int4, stops values_place[], days daterange);
    """)
    yield
    link.execute("""
        DROP TYPE values_trip, values_place, values_moodrange, values_mood CASCADE;
        DROP DOMAIN values_positive CASCADE;
    """)


@pytest.mark.parametrize(("sql_type", "value", "text"), ROUND_TRIPS, ids=named)
def test_round_trips(link: Connection, sql_type: str, value: object, text: str) -> None:
    row = link.fetchrow(f"SELECT $1::{sql_type} AS value, $1::{sql_type}::text AS text", value)
    assert row is not None
    assert row["text"] == text
    assert oracle.same(row["value"], value), row["value"]
    assert link.fetchval(f"SELECT $1::text::{sql_type}", text) == row["value"]


@pytest.mark.parametrize(("sql_type", "value", "wanted"), TAKEN, ids=named)
def test_taken(link: Connection, sql_type: str, value: object, wanted: object) -> None:
    came_back = link.fetchval(f"SELECT $1::{sql_type}", value)
    assert oracle.same(came_back, wanted), came_back


@pytest.mark.parametrize(
    ("text", "days"),
    [("1 year 2 mons 3 days", 428), ("-14 mons", -425), ("-1 mons", -30), ("1 mon -1 day", 29)],
)
def test_years_and_months_are_days(link: Connection, text: str, days: int) -> None:
    """A year has 365 days and a month 30, as in asyncpg."""
    assert link.fetchval("SELECT $1::text::interval", text) == timedelta(days=days)


@pytest.mark.parametrize(
    ("literal", "told"),
    [
        ("interval '178000000 years'", "an interval of 64970000000 days is outside"),
        ("interval 'infinity'", "the interval infinity is outside Python's timedelta"),
        ("interval '-infinity'", "the interval -infinity is outside"),
        ("timetz '24:00:00+00'", "Python's time cannot hold 24:00:00: cast it to text"),
        ("daterange '[0044-03-15 BC,)'", "the year 44 BC is outside Python's date"),
    ],
)
def test_values_that_python_has_no_place_for(link: Connection, literal: str, told: str) -> None:
    if "infinity" in literal and int(link.fetchval("SHOW server_version_num")) < 170_000:
        pytest.skip("intervals have infinities since PostgreSQL 17")
    with pytest.raises(DecodeError, match=told):
        link.fetchval(f"SELECT {literal}")
    assert link.fetchval("SELECT 1") == 1


PLACE = {"city": "Rome", "at": Point(1, 2), "tags": ["old", None]}


def test_composites_are_records(link: Connection) -> None:
    place = link.fetchval("SELECT $1::values_place", PLACE)
    assert isinstance(place, Record)
    assert dict(place.items()) == PLACE
    assert place == ("Rome", Point(1, 2), ["old", None])
    assert link.fetchval("SELECT $1::values_place", place) == place
    assert link.fetchval("SELECT $1::values_place::text", place) == '(Rome,"(1,2)","{old,NULL}")'


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (("Rome", None, []), ("Rome", None, [])),
        (["Rome", (1, 2), None], ("Rome", Point(1, 2), None)),
        ({"city": "Rome"}, ("Rome", None, None)),
        (OrderedDict(tags=("a",)), (None, None, ["a"])),
        ({}, (None, None, None)),
    ],
)
def test_composites_by_place_and_by_name(link: Connection, value: object, wanted: object) -> None:
    assert link.fetchval("SELECT $1::values_place", value) == wanted


def test_composites_within_composites(link: Connection) -> None:
    days = Range(date(2024, 1, 1), date(2024, 1, 5))
    trip = link.fetchval("SELECT $1::values_trip", (7, [PLACE, None, ("Oslo", None, None)], days))
    assert trip["stops"][0]["city"] == "Rome"
    assert trip["stops"][1:] == [None, ("Oslo", None, None)]
    assert trip["days"] == days
    again = link.fetchval("SELECT $1::values_trip[]", [trip, trip])
    assert again == [trip, trip]


def test_tuples_within_arrays_of_composites_are_composites(link: Connection) -> None:
    places = (("Rome", None, None), ("Oslo", (1, 2), None))
    assert link.fetchval("SELECT $1::values_place[]", places) == list(places)
    nested = [[places[0]], [places[1]]]
    assert link.fetchval("SELECT $1::values_place[]", nested) == nested


def test_composites_within_anonymous_records_are_records(link: Connection) -> None:
    sql = "SELECT ROW(1, $1::values_place, ARRAY[$1::values_place], NULL::values_place, ROW($1))"
    value = link.fetchval(sql, PLACE)
    assert type(value) is tuple
    assert value == (1, tuple(PLACE.values()), [tuple(PLACE.values())], None, (value[1],))
    for place in (value[1], value[2][0], value[4][0]):
        assert type(place) is Record
        assert dict(place.items()) == PLACE


def test_uuids_are_as_the_class_makes_them(link: Connection) -> None:
    text = "00112233-4455-6677-8899-aabbccddeeff"
    ours, theirs = link.fetchval("SELECT $1::uuid", text), UUID(text)
    assert type(ours) is UUID
    assert (ours, hash(ours), repr(ours), ours.is_safe) == (
        *(theirs, hash(theirs), repr(theirs), theirs.is_safe),
    )
    assert pickle.loads(pickle.dumps(ours)) == theirs  # noqa: S301 - its own
    assert link.fetchval("SELECT $1::uuid[]", [text, None]) == [theirs, None]
    with pytest.raises(TypeError, match="immutable"):
        setattr(ours, "int", 1)  # noqa: B010 - type checkers know that this is impossible


def test_anonymous_records_are_tuples(link: Connection) -> None:
    value = link.fetchval("SELECT ROW(1, 'a'::text, NULL, ROW(2, ARRAY[3]))")
    assert value == (1, "a", None, (2, [3]))
    assert type(value) is tuple
    assert link.fetchval("SELECT ARRAY[ROW(1, 2)]") == [(1, 2)]


REFUSED: tuple[tuple[str, object, str], ...] = (
    ("interval", "1 day", "expected a datetime.timedelta, got str"),
    ("interval", (1, 2, 3), "expected a datetime.timedelta, got tuple"),
    ("timetz", time(11), "takes a tzinfo with a fixed offset"),
    ("timetz", "11:00+00", "expected a datetime.time, got str"),
    ("bit(4)", "1020", "a bit must be 0 or 1, not '2' at position 2"),
    ("bit(4)", 5, "expected a BitString, or a str of 0 and 1, got int"),
    ("inet", "x", "'x' does not appear to be an IPv4 or IPv6 interface"),
    ("inet", 5, "expected an address of ipaddress, or a str, got int"),
    ("inet", "fe80::1%eth0", "PostgreSQL's addresses have no scope"),
    ("cidr", "1.2.3.4/24", "1.2.3.4/24 has host bits set"),
    ("cidr", ip_interface("1.2.3.4/24"), "1.2.3.4/24 has host bits set"),
    ("pg_lsn", "0/5", "expected an int, got str"),
    ("xid8", -1, "value is negative"),
    ("xid8", 2**64, "value is outside of 64 bits"),
    ("tid", (1, 2, 3), "expected a tuple (block, offset), got 3"),
    ("tid", (1, 65_536), "offset is outside of 0 to 65535"),
    ("point", (1, 2, 3), "expected a point (x, y), got a sequence of 3"),
    ("point", "(1,2)", "expected a point (x, y), got str"),
    ("point", (1, "2"), "expected a float, got str"),
    ("box", (1, 2, 3, 4), "expected two points ((x, y), (x, y)), got a sequence of 4"),
    ("circle", (1, 2), "expected a point (x, y), got int"),
    ("path", (), "expected at least one point"),
    ("int4[]", "{1}", "expected a list, or another sized iterable, got str"),
    ("int4[]", b"ab", "expected a list, or another sized iterable, got bytes"),
    ("int4[]", {1: 2}, "expected a list, or another sized iterable, got dict"),
    ("int4[]", 5, "expected a list, or another sized iterable, got int"),
    ("int4[]", [1, "x"], "(element [1]: expected an int, got str)"),
    ("int4[]", [[1, 2], [2**31, 3]], "(element [1][0]: 2147483648 is out of range for int4"),
    ("int4[]", [[1, 2], [3]], "inhomogeneous: element [1] has length 1, but its neigh"),
    ("int4[]", [[1, 2], 3], "inhomogeneous: element [1] is not a list, but its neighbours are"),
    ("int4[]", [[1], None], "inhomogeneous: element [1] is not a list, but its neighbours are"),
    ("int4[]", [1, [2]], "inhomogeneous: element [1] is a list, but its neighbours are not"),
    ("int4[]", [[[[[[[1]]]]]]], "an array has 6 dimensions at most"),
    ("int4range", (1, 2, 3), "a range has 2 bounds at most, and 3 were given"),
    ("int4range", Range(1, "x"), "(upper bound: expected an int, got str)"),
    ("int4range", Range(1, 2**31), "(upper bound: 2147483648 is out of range for int4"),
    ("int4range", range(1, 5), "expected a Range, or a tuple (lower, upper), got range"),
    ("int4multirange", Range(1, 2), "expected a list of Range, got colonnade.types.Range"),
    ("int4multirange", (1, 2), "(element [0]: expected a Range, or a tuple (lower, upper), got"),
    ("values_mood", 1, "expected a str, got int"),
    ("values_mood", Mood.NUMBER, "expected an enum member whose value is a str, got int"),
    ("values_positive", "5", "expected an int, got str"),
    ("values_place", ("Rome",), "the composite has 3 fields, and 1 were given"),
    ("values_place", {"town": "Rome"}, "no field 'town'; its fields: city, at, tags"),
    ("values_place", ("Rome", None, ["a", 1]), '(field "tags", element [1]: expected a str, got'),
    ("values_place", {"city": 1}, '(field "city": expected a str, got int)'),
    ("values_place[]", [None, ("x", 1, None)], '(element [1], field "at": expected a point'),
    ("record", (1, 2), "PostgreSQL takes no anonymous records as input"),
)


@pytest.mark.parametrize(("sql_type", "value", "reason"), REFUSED, ids=named)
def test_refused(link: Connection, sql_type: str, value: object, reason: str) -> None:
    with pytest.raises(EncodeError) as refused:
        link.fetchval(f"SELECT 1, $1::{sql_type}", value)
    text = str(refused.value)
    assert text.startswith("invalid input for query argument $1 of type ")
    assert reason in text
    assert link.fetchval("SELECT 1") == 1


def test_records_with_lists_are_collected(link: Connection) -> None:
    """A list can contain its own record; a record of numbers needs no garbage collection."""
    row = link.fetchrow("SELECT 1 AS n, ARRAY[1] AS list")
    assert row is not None
    assert gc.is_tracked(row)
    row["list"].append(row)
    del row
    gc.collect()
    assert not [found for found in gc.get_objects() if issubclass(type(found), Record)]
    assert not gc.is_tracked(link.fetchrow("SELECT 1 AS n, 'a' AS text"))

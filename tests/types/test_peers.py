"""Rows compared with those of psycopg and asyncpg: the same, or one table has the reason.

The corpus tests compare columns with rows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import asyncpg
import numpy as np
import psycopg
import pytest

from samples import HUGE_NUMERICS, SAMPLES, query
from tests.support.case_ids import named
from tests.types import oracle
from tests.types.conftest import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

    Peer = Callable[[str, str], Any]

ASYNCPG, BINARY, TEXT = "asyncpg", "psycopg, binary", "psycopg, text"
PEERS = (ASYNCPG, BINARY, TEXT)


MOVING = Path(__file__).resolve().parents[2] / "docs" / "moving"


@dataclass(frozen=True)
class Difference:
    """A difference of a peer: for all values of the types, or only for `texts`."""

    peers: tuple[str, ...]
    types: tuple[str, ...]
    texts: tuple[str, ...]
    reason: str

    def covers(self, peer: str, sql_type: str, text: str) -> bool:
        return (
            peer in self.peers and sql_type in self.types and (not self.texts or text in self.texts)
        )


def code(cell: str) -> tuple[str, ...]:
    """The code in a cell."""
    return tuple(cell.split("`")[1::2])


def documented() -> tuple[Difference, ...]:
    """All differences: the page lists them, and a test fails when one no longer exists."""
    below = (
        (MOVING / "compatibility.md")
        .read_text("utf-8")
        .split("\n## Values of rows, type by type\n")[1]
    )
    lines = [line for line in below.split("\n## ")[0].splitlines() if line.startswith("|")]
    found = []
    for line in lines[2:]:
        peer, types, texts, _, _, reason = (cell.strip() for cell in line.strip("|").split("|"))
        peers = tuple(known for known in PEERS if known.startswith(peer))
        assert peers, line
        found.append(Difference(peers, code(types), code(texts), reason))
    return tuple(found)


DIFFERENCES = documented()
REFUSED = object()


@pytest.fixture(scope="module")
def peers(dsn: str) -> Iterator[dict[str, Peer]]:
    options = " ".join(
        f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in SETTINGS.items()
    )
    with (
        asyncio.Runner() as runner,
        psycopg.connect(dsn, autocommit=True, options=options) as connection,
    ):
        other = runner.run(asyncpg.connect(dsn, server_settings=SETTINGS))

        def by_asyncpg(sql: str, argument: str) -> Any:
            return runner.run(other.fetch(sql, argument))[0]["v"]

        def by_psycopg(*, binary: bool) -> Peer:
            def fetch(sql: str, argument: str) -> Any:
                with connection.cursor(binary=binary) as cursor:
                    cursor.execute(sql.replace("$1", "%s::jsonb").encode(), [argument])
                    row = cursor.fetchone()
                assert row is not None
                return row[0]

            return fetch

        yield {
            ASYNCPG: by_asyncpg,
            BINARY: by_psycopg(binary=True),
            TEXT: by_psycopg(binary=False),
        }
        runner.run(other.close())


def value_or_refusal(fetch: Callable[[], Any]) -> Any:
    """The value, or the class of the driver's error."""
    try:
        return fetch()
    except Exception:  # noqa: BLE001
        return REFUSED


def plain(value: Any) -> Any:
    """A value converted from its driver's own classes to plain Python."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "is_closed"):
        return (value.is_closed, [plain(point) for point in value])
    if hasattr(value, "as_string") and hasattr(value, "to_int"):
        return ("bits", value.as_string())
    if hasattr(value, "lower_inc"):
        if value.isempty:
            return "empty"
        return (plain(value.lower), plain(value.upper), value.lower_inc, value.upper_inc)
    if type(value).__name__ in {"Polygon", "Multirange"}:
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value


def agree(ours: object, theirs: object) -> bool:
    if isinstance(ours, list | tuple) and type(ours) is type(theirs):
        return len(ours) == len(theirs) and all(map(agree, ours, theirs))
    if isinstance(ours, Decimal) and isinstance(theirs, Decimal):
        return ours.as_tuple() == theirs.as_tuple()
    if isinstance(ours, datetime | time) and isinstance(theirs, datetime | time):
        return ours == theirs and ours.utcoffset() == theirs.utcoffset()
    return oracle.same(ours, theirs)


#: Types made of other types.
MADE = (
    *(("int4[]", text) for text in ("{}", "{1,NULL,-3}", "{{1,2},{3,4}}", "[0:1]={1,2}")),
    *(("text[]", text) for text in ('{"",NULL,"NULL"}', '{"a,b","c\\"d"}')),
    *((kind, text) for kind, text in (("numeric[]", "{1.50,NaN}"), ("date[]", "{2024-02-29}"))),
    *(("int4range", text) for text in ("empty", "[1,5)", "(,7)", "(,)")),
    *(("numrange", text) for text in ("[1.5,2]", "(0,)")),
    ("tstzrange", "[2024-01-01 00:00+00,)"),
    ("daterange", "[2024-01-01,2024-02-01)"),
    *(("int4multirange", text) for text in ("{}", "{[1,5),[7,9)}")),
    ("int4range[]", '{"[1,2)",NULL}'),
)


def cases() -> list[tuple[str, str]]:
    found = [
        (sample.sql_type, text)
        for sample in SAMPLES
        if sample.sql_type != "xml"
        for text in (*sample.in_rows, *sample.rows_refuse, *sample.both_refuse)
    ]
    # The largest values are fetched once, not three times.
    huge = [("numeric", text) for text in HUGE_NUMERICS if len(text) < 10_000]
    return [*found, *huge, *MADE]


@pytest.mark.parametrize("peer", PEERS)
def test_rows_are_the_peers(link: Connection, peers: dict[str, Peer], peer: str) -> None:
    unexplained = []
    gone = {difference for difference in DIFFERENCES if peer in difference.peers}
    for sql_type, text in cases():
        sql, argument = query(sql_type), oracle.json_texts([text])

        def our_value(sql: str = sql, argument: str = argument) -> Any:
            return link.fetch(sql, argument)[0]["v"]

        def their_value(sql: str = sql, argument: str = argument) -> Any:
            return peers[peer](sql, argument)

        ours, theirs = value_or_refusal(our_value), value_or_refusal(their_value)
        known = [each for each in DIFFERENCES if each.covers(peer, sql_type, text)]
        if agree(plain(ours), plain(theirs)):
            continue
        gone.difference_update(known)
        if not known:
            unexplained.append((sql_type, text, ours, theirs))
    assert not unexplained
    assert not gone


@dataclass(frozen=True)
class ParameterDifference:
    sql_type: str
    value: object
    ours: str | None
    asyncpgs: str | None
    reason: str


#: Objects that become different values with us and with asyncpg; None is a refusal. The page lists
#: all of them.
PARAMETER_DIFFERENCES = (
    ParameterDifference("int4", 1.5, None, "1", "asyncpg drops the fraction"),
    ParameterDifference("int4", Decimal("1.5"), None, "1", "asyncpg drops the fraction"),
    ParameterDifference(
        "numeric", Decimal("1e131072"), None, "0", "asyncpg sends another number, 0"
    ),
    ParameterDifference(
        "numeric",
        0.1,
        "0.1",
        "0.1000000000000000055511151231257827021181583404541015625",
        "the fewest digits that read back as the float",
    ),
    ParameterDifference("float4", 1e-50, None, "0", "the server refuses it, too"),
    ParameterDifference(
        "float8", Decimal(2**53 + 1), None, "9.007199254740992e+15", "asyncpg rounds the integer"
    ),
    ParameterDifference("float8", np.timedelta64(5, "ns"), None, "5", "a duration is no number"),
    ParameterDifference(
        "time", time(1, 2, tzinfo=UTC), None, "01:02:00", "asyncpg drops the time zone"
    ),
    ParameterDifference(
        "time", datetime(2000, 1, 1, 1, 2), None, "01:02:00", "asyncpg drops the date"
    ),
    ParameterDifference(
        "timestamp",
        date.min,
        "0001-01-01 00:00:00",
        "-infinity",
        "only the outermost datetime stands for an infinity, not the outermost date",
    ),
    ParameterDifference(
        "timestamptz",
        datetime.max.replace(tzinfo=UTC),
        "9999-12-31 23:59:59.999999+00",
        "infinity",
        "a moment with a time zone is that moment",
    ),
    ParameterDifference(
        "uuid",
        "{00112233-4455-6677-8899-aabbccddeeff}",
        "00112233-4455-6677-8899-aabbccddeeff",
        None,
        "every text that uuid.UUID takes",
    ),
    ParameterDifference("bool", np.True_, "t", None, "NumPy's boolean is one"),
    ParameterDifference(
        "bytea", np.arange(2, dtype="i4"), None, "\\x0000000001000000", "not an array of bytes"
    ),
    ParameterDifference('"char"', b"", "", None, "the server has an empty one, as its byte 0"),
)


def taken(text: str | None) -> str:
    return "refused" if text is None else f"`{text}`" if text else "the empty one"


def test_the_page_lists_every_parameter_that_differs() -> None:
    below = (
        (MOVING / "asyncpg.md").read_text("utf-8").split("\n## Parameters, object by object\n")[1]
    )
    lines = [line for line in below.split("\n## ")[0].splitlines() if line.startswith("| `")]
    assert lines == [
        f"| `{known.sql_type}` | `{known.value!r}` | {taken(known.asyncpgs)} | {taken(known.ours)}"
        f" | {known.reason} |"
        for known in PARAMETER_DIFFERENCES
    ]


#: Objects that become the same value with both.
SAME_PARAMETERS: tuple[tuple[str, object], ...] = (
    ("bool", True),
    ("int4", True),
    ("int4", np.int16(-7)),
    ("int8", -(2**63)),
    ("float8", 7),
    ("float8", Decimal("0.1")),
    ("float8", np.float32(0.1)),
    ("float4", 0.1),
    ("float4", 1e-45),
    ("text", "\u00e9\U0001f600"),
    ("bytea", b"\0\xff"),
    ("bytea", bytearray(b"ab")),
    ("bytea", memoryview(b"ab")),
    ("uuid", UUID(int=2**127 + 1)),
    ("uuid", "00112233-4455-6677-8899-aabbccddeeff"),
    ("date", date(2000, 2, 29)),
    ("date", date.max),
    ("date", date.min),
    ("date", datetime(2000, 2, 29, 23)),
    ("time", time(23, 59, 59, 999_999)),
    ("timestamp", datetime(1969, 12, 31, 23, 59, 59, 999_999)),
    ("timestamp", date(2000, 1, 1)),
    ("timestamp", datetime.max),
    ("timestamp", datetime.min),
    ("timestamptz", datetime(2000, 1, 1, tzinfo=UTC)),
    ("timestamptz", datetime(2024, 7, 1, 12)),
    ("timestamptz", datetime.max),
    ("numeric", Decimal("1.50")),
    ("numeric", Decimal("-0.000")),
    ("numeric", Decimal("1E+5")),
    ("numeric", Decimal("NaN")),
    ("numeric", Decimal("-Infinity")),
    ("numeric", Decimal("1e-16383")),
    ("numeric", "12.50"),
    ("numeric", 0.5),
    ("numeric", 2**200),
    ("json", '{"a": [1]}'),
    ("jsonb", '{"a": [1]}'),
)


@pytest.fixture(scope="module")
def sent(dsn: str, link: Connection) -> Iterator[Callable[[str, object], tuple[Any, Any]]]:
    """The server's text of an object, sent by us and sent by asyncpg."""
    with asyncio.Runner() as runner:
        other = runner.run(asyncpg.connect(dsn, server_settings=SETTINGS))

        def both(sql_type: str, value: object) -> tuple[Any, Any]:
            sql = f"SELECT concat($1::{sql_type})"
            ours = value_or_refusal(lambda: link.fetchval(sql, value))
            theirs = value_or_refusal(lambda: runner.run(other.fetchval(sql, value)))
            return ours, theirs

        yield both
        runner.run(other.close())


@pytest.mark.parametrize(
    "known", PARAMETER_DIFFERENCES, ids=lambda known: f"{known.sql_type}-{known.value}"
)
def test_parameters_that_asyncpg_takes_otherwise(
    sent: Callable[[str, object], tuple[Any, Any]], known: ParameterDifference
) -> None:
    ours, theirs = sent(known.sql_type, known.value)
    assert ours == (REFUSED if known.ours is None else known.ours)
    assert theirs == (REFUSED if known.asyncpgs is None else known.asyncpgs)


@pytest.mark.parametrize(("sql_type", "value"), SAME_PARAMETERS, ids=named)
def test_parameters_that_asyncpg_takes_alike(
    sent: Callable[[str, object], tuple[Any, Any]], sql_type: str, value: object
) -> None:
    ours, theirs = sent(sql_type, value)
    assert ours == theirs
    assert ours is not REFUSED

"""Text of any value under settings of a session that change how the server prints."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import sync
from samples import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samples import Sample

HOSTILE = {
    "datestyle": "SQL, DMY",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "timezone": "Asia/Kathmandu",
}
OTHERS = [
    {"datestyle": "Postgres, MDY", "intervalstyle": "iso_8601", "extra_float_digits": "0"},
    {"datestyle": "German, DMY", "intervalstyle": "postgres_verbose", "extra_float_digits": "3"},
]
USUAL = {
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "timezone": "UTC",
}
TYPES = [
    sample
    for sample in SAMPLES
    if sample.values
    and sample.sql_type not in {"money", "xml"}
    and not sample.sql_type.startswith("reg")
]


@pytest.fixture(scope="module", params=[HOSTILE, *OTHERS], ids=["hostile", "postgres", "german"])
def hostile(request: pytest.FixtureRequest, dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn, server_settings=request.param) as connection:
        yield connection


@pytest.fixture(scope="module")
def usual(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn, server_settings=USUAL) as connection:
        yield connection


def assert_same(
    hostile: sync.Connection, usual: sync.Connection, sql: str, arguments: tuple[object, ...] = ()
) -> None:
    """The text under hostile settings is the server's own under the usual ones."""
    # The output function; a cast to text is another function for some types.
    printed = (
        f"SELECT CASE WHEN v IS DISTINCT FROM NULL THEN format('%s', v) END FROM ({sql}) AS q (v)"
    )
    wanted = [value for (value,) in usual.fetch(printed, *arguments)]
    for layout in ("utf8", "large_utf8", "utf8_view"):
        columns = hostile.fetch_columns(
            f"SELECT v FROM ({sql}) AS q (v)", *arguments, schema={"v": layout}
        )
        # As stored: for some types `to_pydict` makes objects of the text.
        assert columns._batch.column(0).stored_pylist() == wanted


@pytest.mark.parametrize("sample", TYPES, ids=lambda sample: sample.sql_type)
def test_every_type(sample: Sample, hostile: sync.Connection, usual: sync.Connection) -> None:
    texts = [*sample.in_columns, *sample.columns_refuse]
    kind = sample.sql_type
    if kind == "timestamptz":
        # Those without an offset mean another moment in each session.
        texts = [text for text in texts if "+" in text or "infinity" in text]
    values = f"SELECT v::{kind} FROM unnest($1::text[]) AS u (v)"
    assert_same(hostile, usual, f"{values} UNION ALL SELECT NULL", (texts,))


ARRAYS = [
    "'{}'::float8[]",
    "ARRAY[0.1::float8 + 0.2, NULL, 'NaN', '-Infinity', 1e15, 1e-5]",
    "'[0:1][-3:-2]={{0.1,0.2},{0.3,1e23}}'::float8[]",
    "ARRAY[['2024-02-03'::date], ['infinity'::date]]",
    "ARRAY['2024-02-03 04:05:06.70+02'::timestamptz, '0044-03-15 00:00+00 BC'::timestamptz]",
    "ARRAY['1 mon -2 days 03:00'::interval, '-1 mon +2 days']",
    r"ARRAY['\x00ff'::bytea, '\x', NULL]",
    "ARRAY['(1,2),(3,4)'::box, '(0.1,0.2),(1e20,3)']",
    "ARRAY[point(0.1, 1e-7)]",
    "daterange('2024-02-03', '2024-03-02')",
    "daterange(NULL, 'infinity', '[]')",
    "'empty'::tstzrange",
    "tstzrange('2024-02-03 04:05+05:30', NULL, '[]')",
    "'{[2024-02-03,2024-02-04), (2024-03-01 00:00:01.5,)}'::tsmultirange",
    "'{}'::datemultirange",
    "ARRAY[daterange('2024-02-03', '2024-03-02'), 'empty']",
    "made.whole(0.1::float8 + 0.2, '2024-02-03', '1 mon', E'\\\\xff', 'a \"b\\\\c, (d)', '{1,2}')",
    "made.whole(NULL, NULL, NULL, NULL, '', ARRAY[NULL, 0.30000000000000004]::float8[])",
    "ARRAY[made.whole(1e-7, 'infinity', '-3 days', '', 'NULL', '{}')]",
    "made.moment '2024-02-03 04:05:06+00'",
]
SCHEMA = """
DROP SCHEMA IF EXISTS made CASCADE;
CREATE SCHEMA made;
CREATE DOMAIN made.moment AS timestamptz;
CREATE TYPE made.whole AS (f float8, d date, i interval, b bytea, t text, l float8[]);
CREATE FUNCTION made.whole(float8, date, interval, bytea, text, float8[]) RETURNS made.whole
    LANGUAGE sql AS 'SELECT ROW($1, $2, $3, $4, $5, $6)::made.whole';
"""


@pytest.fixture(scope="module", autouse=True)
def _made(usual: sync.Connection) -> Iterator[None]:
    usual.execute(SCHEMA + PRICED)
    yield
    usual.execute("DROP SCHEMA made CASCADE; DROP EXTENSION cube, seg CASCADE")


@pytest.mark.parametrize("value", ARRAYS)
def test_types_with_parts(value: str, hostile: sync.Connection, usual: sync.Connection) -> None:
    assert_same(hostile, usual, f"SELECT {value}")


#: Values that the server alone prints; the page says that their text follows the session.
OF_THE_SERVER = [
    "ROW(0.1::float8 + 0.2, '2024-02-03'::date, '2024-02-03 04:05+00'::timestamptz)",
    "ROW('12.34'::money, 0.1::float8 + 0.2, '1 mon -2 days'::interval)::made.priced",
    "ROW('pg_class'::regclass, decode('ff', 'hex'))::made.named",
    "ARRAY[ROW('12.34'::money, 1e-7, '-3 days')::made.priced, NULL]",
    "'{postgres=r/postgres}'::aclitem[]",
    "'(0.1234567890123456,2)'::cube",
    "ARRAY['(0.1234567890123456,2)'::cube]",
    "'0.1234567'::seg",
    "'1.5 .. 2.50'::seg",
]
PRICED = """
CREATE EXTENSION IF NOT EXISTS cube; CREATE EXTENSION IF NOT EXISTS seg;
CREATE TYPE made.priced AS (m money, f float8, i interval);
CREATE TYPE made.named AS (r regclass, b bytea);
"""


@pytest.mark.parametrize("value", OF_THE_SERVER)
def test_text_of_the_server_alone(
    value: str, hostile: sync.Connection, usual: sync.Connection
) -> None:
    """Read as text, it is the server's own, so usual settings lose nothing of it."""
    for link in (hostile, usual):
        wanted = link.fetchval(f"SELECT format('%s', {value})")
        columns = link.fetch_columns(f"SELECT {value} AS v", schema={"v": "utf8"})
        assert columns._batch.column(0).stored_pylist() == [wanted]
    # Under any settings of its own, each session reads the text that the usual ones print.
    typed = f"SELECT pg_typeof({value})::text"
    if (kind := usual.fetchval(typed)) != "record":
        same = f"SELECT ($1::text)::{kind}::text = ({value})::text"
        assert usual.fetchval(same, usual.fetchval(f"SELECT format('%s', {value})"))


def test_many_floats(hostile: sync.Connection, usual: sync.Connection) -> None:
    draw = random.Random(7)
    doubles = [struct.unpack("<d", draw.randbytes(8))[0] for _ in range(4000)]
    doubles += [draw.random() * 10 ** draw.randint(-20, 40) for _ in range(2000)]
    doubles += [
        float(2**power) * odd for power in range(40, 110) for odd in (1, 3, 5, 7, 2**52 + 1)
    ]
    assert_same(hostile, usual, "SELECT unnest($1::float8[])", (doubles,))
    singles = [struct.unpack("<f", draw.randbytes(4))[0] for _ in range(4000)]
    assert_same(hostile, usual, "SELECT unnest($1::float4[])", (singles,))


def test_a_query_is_evaluated_under_the_sessions_own_settings(hostile: sync.Connection) -> None:
    """Only printing is independent: casts in the query mean what the session says."""
    sql = "SELECT d, d::text AS t FROM (SELECT to_date('20240203', 'YYYYMMDD')) AS q (d)"
    columns = hostile.fetch_columns(sql, schema={"d": "utf8"}).to_pydict()
    assert columns["d"] == ["2024-02-03"]
    assert columns["t"] != ["2024-02-03"]


def test_arguments_of_copies(hostile: sync.Connection) -> None:
    chunks: list[bytes] = []
    import datetime as dt

    moment = dt.datetime(2024, 2, 3, 4, 5, 6, 7, tzinfo=dt.UTC)
    given = (0.1 + 0.2, dt.date(2024, 2, 3), moment, dt.timedelta(days=-1, seconds=2), b"\\\xff")
    hostile.copy_from_query(
        "SELECT $1::float8 = 0.1::float8 + 0.2, $2::date = make_date(2024, 2, 3),"
        " $3::timestamptz - make_timestamptz(2024, 2, 3, 4, 5, 6.000007, 'UTC') = interval '0',"
        " $4::interval = make_interval(days => -1, secs => 2), encode($5::bytea, 'hex'),"
        " $6::float8[] = ARRAY[0.1::float8 + 0.2], $7::text, $8::int IS NULL",
        *(*given, [0.1 + 0.2], 'it\'s \\ "so"', None),
        output=chunks.append,
        format="csv",
    )
    assert b"".join(chunks) == b't,t,t,t,5cff,t,"it\'s \\ ""so""",t\n'


def test_very_many_arguments_of_a_copy(hostile: sync.Connection) -> None:
    chunks: list[bytes] = []
    numbers = range(1, 3301)
    listed = ", ".join(f"(${number}::int)" for number in numbers)
    query = f"SELECT sum(v), count(*) FROM (VALUES {listed}) AS q (v)"
    hostile.copy_from_query(query, *numbers, output=chunks.append)
    assert chunks == [f"{sum(numbers)}\t{len(numbers)}\n".encode()]
    with pytest.raises(colonnade.InterfaceError):
        hostile.copy_from_query("SELECT $1::int", 1, 2, output=chunks.append)
    with pytest.raises(colonnade.InterfaceError):
        hostile.copy_from_query("SELECT 1", 2, output=chunks.append)

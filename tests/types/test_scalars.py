"""Types without a counterpart in Arrow or Python: their columns and the server's own text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from colonnade.errors import DecodeError, EncodeError
from tests.types import oracle

if TYPE_CHECKING:
    from colonnade.sync import Connection

DAY_US = 86_400_000_000
# Each value, with the server's text of it.
PRINTED = (
    "SELECT value::{0} AS v, format('%s', value::{0}) AS printed"
    " FROM json_array_elements_text($1::text::json)"
)


NAMED = {
    "money": ("1.50", "-92233720368547758.08"),
    "regproc": ("now", "-"),
    "regprocedure": ("abs(int4)",),
    "regoper": ("||/",),
    "regoperator": ("+(int4,int4)",),
    "regclass": ("pg_class",),
    "regcollation": ('"C"',),
    "regtype": ("int4", "timestamp with time zone"),
    "regrole": ("-",),
    "regnamespace": ("pg_catalog",),
    "regconfig": ("english",),
    "regdictionary": ("simple",),
    "refcursor": ("cursor",),
    "jsonpath": ("$.a[*]?(@ > 1)", 'strict $."\u00e9".size()'),
}


@pytest.mark.parametrize("sql_type", NAMED)
def test_rows_columns_and_parameters_are_text(link: Connection, sql_type: str) -> None:
    query = PRINTED.format(sql_type)
    argument = oracle.json_texts(NAMED[sql_type])
    table = oracle.arrow_table(link.fetch_columns(query, argument))
    assert table["v"].type == pa.string()
    assert table["v"].to_pylist() == table["printed"].to_pylist()
    for row in link.fetch(query, argument):
        assert row["v"] == row["printed"]
        again = f"SELECT format('%s', $1::{sql_type}), $2::{sql_type}[] IS NULL"
        assert link.fetchval(again, row["v"], None) == row["printed"]


def test_text_search_is_parsed_by_the_server(link: Connection) -> None:
    assert link.fetchval("SELECT $1::tsvector", "b:2A a:1") == "'a':1 'b':2A"
    assert link.fetchval("SELECT $1::tsquery", "a&(b|!c)") == "'a' & ( 'b' | !'c' )"


def test_intervals(link: Connection) -> None:
    texts = ["1 year 2 mons -3 days 04:05:06.000007", "-178000000 years", None, "00:00:00"]
    argument = oracle.json_texts(texts)
    columns = link.fetch_columns(PRINTED.format("interval"), argument)
    assert columns.fields[0].arrow_type == "month_day_nano_interval"
    table = oracle.arrow_table(columns)
    assert table["v"].to_pylist() == [
        (14, -3, 14_706_000_007_000),
        (-2_136_000_000, 0, 0),
        None,
        (0, 0, 0),
    ]
    long = "SELECT '2562047788:00:54.775807'::interval AS v"
    with pytest.raises(DecodeError, match="nanoseconds; pass schema"):
        link.fetch_columns(long)
    assert link.fetch_columns(long, schema={"v": "utf8"}).to_pydict() == {
        "v": ["2562047788:00:54.775807"]
    }


def test_durations(link: Connection) -> None:
    sql = "SELECT v::interval FROM unnest(ARRAY['-1 day 1 us', NULL, '36:00:00']) v"
    columns = link.fetch_columns(sql, schema={"v": "duration[us]"})
    assert columns.fields[0].arrow_type == "duration[us]"
    column = oracle.arrow_table(columns)["v"]
    assert column.type == pa.duration("us")
    assert column.cast(pa.int64()).to_pylist() == [1 - DAY_US, None, DAY_US // 2 * 3]
    with pytest.raises(DecodeError, match="-1 months, which have no fixed length"):
        link.fetch_columns("SELECT '-1 month'::interval AS v", schema={"v": "duration[us]"})


def test_infinite_intervals(link: Connection) -> None:
    if link.fetchval("SELECT current_setting('server_version_num')::int4") < 170_000:
        pytest.skip("intervals have infinities since PostgreSQL 17")
    sql = "SELECT v::interval FROM unnest(ARRAY['infinity', '-infinity']) v"
    with pytest.raises(DecodeError, match='is infinity; pass infinity="null"'):
        link.fetch_columns(sql)
    nulls = oracle.arrow_table(link.fetch_columns(sql, infinity="null"))
    assert nulls["v"].null_count == 2
    outermost = oracle.arrow_table(link.fetch_columns(sql, infinity="saturate"))
    assert outermost["v"].to_pylist() == [
        (2**31 - 1, 2**31 - 1, 2**63 - 1),
        (-(2**31), -(2**31), -(2**63)),
    ]


def test_structs(link: Connection) -> None:
    columns = link.fetch_columns(
        "SELECT t::timetz, c::tid FROM (VALUES ('04:05:06.5+02', '(7,1)'), (NULL, NULL),"
        " ('23:59:59-03:30:10', '(4294967295,65535)')) AS v (t, c)"
    )
    table = oracle.arrow_table(columns)
    names = [field.arrow_type for field in columns.fields]
    assert names == [
        "struct<time: time64[us], offset: int32>",
        "struct<block: uint32, offset: uint16>",
    ]
    assert names == [str(field.type) for field in table.schema]
    times = table["t"].combine_chunks()
    assert times.field("time").cast(pa.int64()).to_pylist()[::2] == [14_706_500_000, 86_399_000_000]
    assert times.field("offset").to_pylist()[::2] == [7_200, -12_610]
    assert times.is_null().to_pylist() == [False, True, False]
    assert table["c"].to_pylist() == [
        {"block": 7, "offset": 1},
        None,
        {"block": 2**32 - 1, "offset": 2**16 - 1},
    ]


def test_numbers_without_sign(link: Connection) -> None:
    sql = (
        "SELECT x::text::xid8 AS x, l::pg_lsn FROM (VALUES ('18446744073709551615',"
        " '16/B374D848'), (NULL, NULL), ('0', 'FFFFFFFF/FFFFFFFF')) AS v (x, l)"
    )
    columns = link.fetch_columns(sql)
    assert [field.arrow_type for field in columns.fields] == ["uint64", "uint64"]
    table = oracle.arrow_table(columns)
    assert table["x"].to_pylist() == [2**64 - 1, None, 0]
    assert table["l"].to_pylist() == [0x16_B374_D848, None, 2**64 - 1]
    assert link.fetch(sql)[0]["x"] == 2**64 - 1
    with pytest.raises(DecodeError, match="has no exact float64; leave it out of schema"):
        link.fetch_columns(sql, schema={"x": "float64"})


def test_the_end_of_a_day(link: Connection) -> None:
    sql = "SELECT '24:00:00+02'::timetz AS v"
    with pytest.raises(DecodeError, match="no 24:00:00; pass schema"):
        link.fetch_columns(sql)
    assert link.fetch_columns(sql, schema={"v": "utf8"}).to_pydict() == {"v": ["24:00:00+02"]}


def test_void(link: Connection) -> None:
    sql = "SELECT pg_sleep(0) AS v FROM generate_series(1, 3)"
    columns = link.fetch_columns(sql)
    assert columns.fields[0].arrow_type == "null"
    assert oracle.arrow_table(columns)["v"].type == pa.null()
    assert [row["v"] for row in link.fetch(sql)] == [None] * 3


def test_void_as_a_parameter(link: Connection) -> None:
    assert link.fetchval("SELECT $1::void", "") is None
    with pytest.raises(EncodeError, match="only None and '' are passed"):
        link.fetchval("SELECT $1::void", "x")

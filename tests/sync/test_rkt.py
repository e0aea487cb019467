# Generated from tests/async/test_rkt.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queries with a dtype: arrays instead of records, as in asyncpg-rkt."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade.errors import DecodeError, InterfaceError, SchemaError
from colonnade.rkt import set_query_dtype

PAIRS = "SELECT g::int8, nullif(g, 2)::int4, g::text FROM generate_series(1, $1::int) g"
PAIR = [("a", "i8"), ("b", "i4"), ("c", "U6")]
INT4_NULL = -(2**31)


def blocks(fields: list[Any], *, wanted: object = True) -> np.dtype[Any]:
    return np.dtype(fields, metadata={"blocks": wanted})


def typed(value: str, dtype: Any, **options: Any) -> Any:
    return set_query_dtype(f"SELECT {value}", np.dtype([("v", dtype)]), **options)


# Shapes of results


def test_fetch_gives_an_array_and_the_places_of_nulls(
    connection: colonnade.sync.Connection,
) -> None:
    array, nulls = connection.fetch(set_query_dtype(PAIRS, PAIR), 3)
    assert array.dtype == np.dtype(PAIR)
    assert array.tolist() == [(1, 1, "1"), (2, INT4_NULL, "2"), (3, 3, "3")]
    assert nulls == [4]
    assert {type(place) for place in nulls} == {int}


@pytest.mark.parametrize("rows", [0, 1, 512, 513, 1024, 100_000])
def test_every_row_arrives_once(connection: colonnade.sync.Connection, rows: int) -> None:
    for dtype in (np.dtype(PAIR), blocks(PAIR)):
        found, nulls = connection.fetch(set_query_dtype(PAIRS, dtype), rows)
        assert found["a"].tolist() == list(range(1, rows + 1))
        assert found["c"].tolist() == [str(row) for row in range(1, rows + 1)]
        assert nulls == ([4] if rows > 1 else [])


def test_nulls_are_told_row_by_row(connection: colonnade.sync.Connection) -> None:
    query = "SELECT nullif(g % 3, 0), nullif(g % 2, 0) FROM generate_series(1, 40000) g"
    fields = [("a", "i4"), ("b", "i4")]
    want = [
        row * 2 + index
        for row in range(40_000)
        for index, divisor in ((0, 3), (1, 2))
        if (row + 1) % divisor == 0
    ]
    for dtype in (np.dtype(fields), blocks(fields)):
        assert (connection.fetch(set_query_dtype(query, dtype)))[1] == want


def test_columns_of_one_dtype_are_rows_of_a_block(connection: colonnade.sync.Connection) -> None:
    query = "SELECT g::int8, g::text, -g::int8, g::numeric FROM generate_series(1, 3) g"
    dtype = blocks([("a", "i8"), ("b", "U3"), ("c", "i8"), ("d", object)])
    row, nulls = connection.fetch(set_query_dtype(query, dtype))
    assert isinstance(row, np.void)
    assert (row.dtype.names, len(row.item()), nulls) == (("a", "b", "c", "d"), 4, [])
    assert row["a"].tolist() == row[0].tolist() == [1, 2, 3]
    assert row["d"].tolist() == [Decimal(1), Decimal(2), Decimal(3)]
    assert row["a"].base is row["c"].base
    assert row["a"].base.tolist() == [[1, 2, 3], [-1, -2, -3]]
    assert row["b"].base.shape == (1, 3)
    assert row["b"].dtype == np.dtype("U3")
    assert row["a"].flags.c_contiguous
    assert row["a"].flags.writeable


@pytest.mark.parametrize("metadata", [{"blocks": False}, {"blocks": 0}, {"other": True}])
def test_only_a_true_mark_asks_for_blocks(
    connection: colonnade.sync.Connection, metadata: dict[str, Any]
) -> None:
    dtype = np.dtype([("a", "i4")], metadata=metadata)
    array, _ = connection.fetch(set_query_dtype("SELECT 1", dtype))
    assert array.shape == (1,)


def test_columns_are_matched_by_place(connection: colonnade.sync.Connection) -> None:
    dtype = [("b", "i4"), ("a", "U3"), ("c", "U9")]
    query = "SELECT 1 AS a, 'one' AS same, 'other' AS same"
    array, _ = connection.fetch(set_query_dtype(query, dtype))
    assert array.tolist() == [(1, "one", "other")]


def test_layouts_of_rows(connection: colonnade.sync.Connection) -> None:
    query = "SELECT 7::int2, 1.5::float8, 'x'::text"
    fields = {"names": ["a", "b", "c"], "formats": ["i2", "f8", "U2"]}
    spread: Any = {**fields, "offsets": [20, 0, 8], "itemsize": 40}
    aligned: Any = fields
    for layout in (np.dtype(aligned, align=True), np.dtype(spread)):
        array, _ = connection.fetch(set_query_dtype(query, layout))
        assert array.dtype == layout
        assert array.tolist() == [(7, 1.5, "x")]
        padding = array.view(np.uint8).reshape(-1).copy()
        for name in "abc":
            start = (layout.fields or {})[name][1]
            padding[start : start + layout[name].itemsize] = 0
        assert not padding.any()


def test_the_text_is_the_query(connection: colonnade.sync.Connection) -> None:
    logged: list[Any] = []
    query = set_query_dtype("SELECT current_query()", [("a", "U99")])
    assert isinstance(query, str)
    assert query == "SELECT current_query()"
    with connection.query_logger(logged.append):
        array, _ = connection.fetch(query)
    assert array["a"].tolist() == ["SELECT current_query()"]


def test_one_text_of_two_dtypes_is_one_statement(connection: colonnade.sync.Connection) -> None:
    count = "SELECT count(*) FROM pg_prepared_statements"
    before = connection.fetchval(count)
    for dtype in ("i4", object):
        array, _ = connection.fetch(typed("41 + 1", dtype))
        assert array["v"].tolist() == [42]
    assert (connection.fetch("SELECT 41 + 1"))[0][0] == 42
    assert connection.fetchval(count) == before + 1


def test_what_makes_another_text_gives_records(connection: colonnade.sync.Connection) -> None:
    query = set_query_dtype("SELECT 1 AS one", [("v", "i4")])
    for text in (query + " ", f"{query}", query.strip() + "", str.__str__(query)):
        if type(text) is str:
            assert [tuple(row) for row in connection.fetch(text)] == [(1,)]


def test_a_comment_before_the_query_changes_nothing(
    connection: colonnade.sync.Connection,
) -> None:
    for text in ("  SELECT 1", "/* why */ SELECT 1", "-- why\nSELECT 1"):
        array, _ = connection.fetch(set_query_dtype(text, [("v", "i4")]))
        assert array.tolist() == [(1,)]


def test_a_command_has_no_rows(connection: colonnade.sync.Connection) -> None:
    create = set_query_dtype("CREATE TEMPORARY TABLE t (i int)", PAIR)
    array, nulls = connection.fetch(create)
    assert (array.dtype, len(array), nulls) == (np.dtype(PAIR), 0, [])
    row, nulls = connection.fetch(set_query_dtype("DROP TABLE t", blocks(PAIR)))
    assert (row["a"].shape, nulls) == ((0,), [])


def test_a_large_array_grows_in_place(connection: colonnade.sync.Connection) -> None:
    query = "SELECT g::int8, g::text FROM generate_series(1, 300000) g"
    array, _ = connection.fetch(set_query_dtype(query, [("a", "i8"), ("b", "U8")]))
    assert array.flags.owndata
    assert array.nbytes == 300_000 * 40
    assert int(array["a"].sum()) == 300_000 * 300_001 // 2
    assert array["b"][-1] == "300000"


def test_the_connection_s_codecs_make_objects(connection: colonnade.sync.Connection) -> None:
    connection.set_type_codec(
        "int4", schema="pg_catalog", encoder=str, decoder=lambda text: f"<{text}>"
    )
    array, _ = connection.fetch(typed("1", object))
    assert array["v"].tolist() == ["<1>"]
    with pytest.raises(colonnade.DTypeError, match="PostgreSQL object"):
        connection.fetch(typed("1", "i4"))


# Defects of asyncpg-rkt


@pytest.mark.parametrize("columns", ["1", "1, 2, 3", "1, 2, 3, 4"])
def test_the_count_of_columns_must_be_the_dtype_s(
    connection: colonnade.sync.Connection, columns: str
) -> None:
    for dtype in (np.dtype("i4,i4"), blocks([("a", "i4"), ("b", "i4")])):
        query = set_query_dtype(f"SELECT {columns} FROM generate_series(1, 4)", dtype)
        with pytest.raises(colonnade.DTypeError, match=r"has 2 fields, and the result . columns"):
            connection.fetch(query)
    assert connection.fetchval("SELECT 1") == 1


def test_fetchrow_gives_a_row_and_its_nulls(connection: colonnade.sync.Connection) -> None:
    for dtype in (np.dtype(PAIR), blocks(PAIR)):
        query = set_query_dtype(PAIRS + " OFFSET $2::int", dtype)
        row, nulls = connection.fetchrow(query, 9, 1)
        assert isinstance(row, np.void)
        assert (row.tolist(), row["c"], nulls) == ((2, INT4_NULL, "2"), "2", [1])
        assert connection.fetchrow(query, 9, 9) is None
    assert connection.fetchval("SELECT 1") == 1


def test_fetchval_gives_a_value(connection: colonnade.sync.Connection) -> None:
    query = set_query_dtype(PAIRS + " OFFSET $2::int", PAIR)
    value = connection.fetchval(query, 9, 4)
    assert (type(value), value) == (np.int64, 5)
    assert connection.fetchval(query, 9, 4, column=2) == "5"
    assert connection.fetchval(query, 9, 4, column="c") == "5"
    assert connection.fetchval(query, 9, 1, column=1) is None
    assert connection.fetchval(query, 9, 1, column=-2) is None
    assert connection.fetchval(query, 9, 9) is None


def test_nothing_is_unpickled(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(colonnade.DTypeError, match="nothing is unpickled"):
        set_query_dtype("SELECT 1", b"cos\nsystem\n(S'false'\ntR.")
    # asyncpg-rkt's comment with a pickled dtype is only a comment.
    query = "--�" + b"cos\nsystem\n(S'false'\ntR.".hex() + "�\nSELECT 1"
    assert tuple((connection.fetch(query))[0]) == (1,)


@pytest.mark.parametrize("dtype", [None, "i4", np.void, np.dtype("V8"), "V", np.dtype([]), object])
def test_a_dtype_that_is_no_structure_is_refused(dtype: Any) -> None:
    with pytest.raises(colonnade.DTypeError, match="must be a structure") as caught:
        set_query_dtype("SELECT 1", dtype)
    assert isinstance(caught.value, ValueError | SchemaError | InterfaceError)


def test_a_query_is_a_text() -> None:
    with pytest.raises(TypeError, match="query must be a str"):
        set_query_dtype(b"SELECT 1", PAIR)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="infinity must be"):
        set_query_dtype("SELECT 1", PAIR, infinity="maybe")


def test_the_capacity_of_u_counts_characters(connection: colonnade.sync.Connection) -> None:
    for text in ("äöü", "日本語", "🐘🐘🐘", "e\u0301x"):
        array, _ = connection.fetch(typed("$1::text", "U3"), text)
        assert array["v"].tolist() == [text]
        with pytest.raises(colonnade.DTypeError, match="PostgreSQL text of size 4"):
            connection.fetch(typed("$1::text", "U3"), text + "!")


def test_text_is_utf8_whatever_the_database_speaks(
    connection: colonnade.sync.Connection,
) -> None:
    # The client sets the session's encoding: text is UTF-8, or the server reports another
    # encoding.
    assert connection.get_settings()["client_encoding"] == "UTF8"
    array, _ = connection.fetch(typed("chr(233) || chr(8364)", "U2"))
    assert array["v"].tolist() == ["é€"]


def test_text_of_another_encoding_is_an_error(connection: colonnade.sync.Connection) -> None:
    connection.execute("SET client_encoding = 'LATIN1'")
    for dtype in ("U9", "S9", "O"):
        with pytest.raises(InterfaceError, match="text is read as UTF-8"):
            connection.fetch(typed("chr(233)", dtype))
    connection.execute("SET client_encoding = 'UTF8'")
    array, _ = connection.fetch(typed("chr(233)", "U1"))
    assert array["v"].tolist() == ["é"]


@pytest.mark.parametrize("unit", ["W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_infinity_is_no_moment(connection: colonnade.sync.Connection, unit: str) -> None:
    for value in ("'infinity'::timestamptz", "'-infinity'::timestamp", "'infinity'::date"):
        with pytest.raises(DecodeError, match="infinity"):
            connection.fetch(typed(value, f"M8[{unit}]"))
        array, nulls = connection.fetch(typed(value, f"M8[{unit}]", infinity="null"))
        assert (np.isnat(array["v"]).tolist(), nulls) == ([True], [0])
    assert connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("'3000-01-01'::timestamp", "M8[ns]"),
        ("'1600-01-01'::timestamptz", "M8[ns]"),
        ("'3000-01-01'::date", "M8[ns]"),
        ("'294276-12-31'::date", "M8[us]"),
        ("'5874897-12-31'::date", "M8[us]"),
        ("'300 years'::interval", "m8[ns]"),
    ],
)
def test_a_moment_past_its_unit_is_an_error(
    connection: colonnade.sync.Connection, value: str, dtype: str
) -> None:
    query = f"SELECT CASE g WHEN 3 THEN {value} END FROM generate_series(0, 3) g"
    with pytest.raises(DecodeError, match=r"row 3: is out of range for \w+\[.s\]") as caught:
        connection.fetch(set_query_dtype(query, [("v", dtype)]))
    assert caught.value.row == 3


def test_the_last_year_in_microseconds_does_not_wrap(
    connection: colonnade.sync.Connection,
) -> None:
    for dtype in ("M8[us]", "M8[s]"):
        with pytest.raises(DecodeError):
            connection.fetch(typed("'294276-12-31'::timestamp", dtype))


def test_multiples_of_units_count(connection: colonnade.sync.Connection) -> None:
    for value, dtype in (
        ("'2022-05-22 14:28:13.7'::timestamp", "M8[5s]"),
        ("'1969-12-31 23:59:59.5'::timestamp", "M8[5s]"),
        ("'2022-05-22'::date", "M8[7h]"),
        ("'2022-05-22'::date", "M8[36h]"),
        ("'2022-05-22'::date", "M8[2D]"),
        ("'2022-05-22 14:28:13.7'::timestamp", "M8[25ns]"),
        ("'2022-05-22 14:28:13.7'::timestamp", "M8[3M]"),
    ):
        array, _ = connection.fetch(typed(value, dtype))
        exact = connection.fetchval(f"SELECT ({value})::timestamp")
        assert array["v"].tolist() == np.array([exact], "M8[us]").astype(dtype).tolist()
    array, _ = connection.fetch(typed("'-7.5 s'::interval", "m8[5s]"))
    assert array["v"].view("i8").tolist() == [-1]


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [
        ("1::int4", ">i4", [1]),
        ("-2::int2", ">i2", [-2]),
        ("-2::int2", ">u2", [65534]),
        ("3::int8", ">u8", [3]),
        ("1.5::float8", ">f8", [1.5]),
        ("1.5::float4", ">f4", [1.5]),
        ("'añ'::text", ">U4", ["añ"]),
        ("'2020-01-01'::date", ">M8[D]", [np.datetime64("2020-01-01").item()]),
        ("'2020-01-01'::timestamp", ">M8[s]", [np.datetime64("2020-01-01T00", "s").item()]),
        ("'00:00:01'::time", ">m8[ms]", [np.timedelta64(1000, "ms").item()]),
    ],
)
def test_byte_orders(
    connection: colonnade.sync.Connection, value: str, dtype: str, want: list[Any]
) -> None:
    query = set_query_dtype(f"SELECT {value} UNION ALL SELECT null", [("v", dtype)])
    array, nulls = connection.fetch(query)
    assert array.dtype["v"] == np.dtype(dtype)
    assert (array["v"][:1].tolist(), nulls) == (want, [1])


def test_objects_are_let_go_of_after_an_error(connection: colonnade.sync.Connection) -> None:
    query = "SELECT $1::text, CASE WHEN g = 399 THEN 'too long' END FROM generate_series(0, 399) g"
    marker = f"a text that nobody else has {id(query)}"
    for _ in range(5):
        with pytest.raises(colonnade.DTypeError):
            connection.fetch(set_query_dtype(query, [("a", "O"), ("b", "S2")]), marker)
    import gc

    assert [
        held for held in gc.get_objects() if type(held) is np.ndarray and held.size == 400
    ] == []


def test_infinite_intervals_keep_the_connection(connection: colonnade.sync.Connection) -> None:
    if connection.get_server_version().major < 17:
        pytest.skip("intervals are infinite since PostgreSQL 17")
    with pytest.raises(DecodeError):
        connection.fetch(typed("'infinity'::interval", "m8[us]"))
    assert connection.fetchval("SELECT 1") == 1


# Errors


@pytest.mark.parametrize(
    ("value", "dtype", "word"),
    [
        ("true", "i1", "bool"),
        ("1::int2", "i4", "smallint of size 2"),
        ("1::int4", "i8", "int of size 4"),
        ("1::int4", "f4", "int"),
        ("1::int8", "i4", "bigint of size 8"),
        ("1::float4", "f8", "float4 of size 4"),
        ("1::float8", "f4", "float8 of size 8"),
        ("1::float8", "i8", "float8"),
        ("'a'::bytea", "V1", "bytea"),
        ("'a'::bytea", "U4", "bytea"),
        ("'a'::text", "i4", "text"),
        ("'a'::text", "S", "text: the width is missing"),
        ("now()", "i8", "timestamp"),
        ("now()", "M8[ps]", "timestamp: the units are"),
        ("'2020-01-01'::date", "i4", "timestamp"),
        ("'1 h'::interval", "M8[s]", "time"),
        ("'1 h'::interval", "m8[Y]", "time: the units are"),
        ("gen_random_uuid()", "V16", "bytea"),
        ("gen_random_uuid()", "S15", "bytea of size 16"),
        ("'(7,3)'::tid", "V8", "tid of size 6"),
        ("point(1, 2)", "V8", "2 of float8 of size 16"),
        ("point(1, 2)", ("f8", (2,)), "2 of float8"),
        ("point(1, 2)", [("x", "O"), ("y", "O")], "2 of float8"),
        ("1::numeric", "f8", "object"),
        ("'{1}'::int4[]", "i4", "object"),
        ("'{}'::json", "U3", "object"),
    ],
)
def test_a_dtype_that_does_not_match(
    connection: colonnade.sync.Connection, value: str, dtype: Any, word: str
) -> None:
    # The error needs no row, and the driver waits for none.
    query = set_query_dtype(
        f"SELECT {value}, 1/g FROM (VALUES (0)) t (g)", [("v", dtype), ("w", "O")]
    )
    match = rf"dtype\[0\] = .* does not match PostgreSQL (?:{word}).*: column \""
    with pytest.raises(colonnade.DTypeError, match=match):
        connection.fetch(query)
    assert connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize(
    ("value", "dtype", "size"),
    [
        ("'abcd'::text", "U3", 4),
        ("'abcd'::text", "S3", 4),
        ("'日本'::text", "S3", 6),
        ("'\\x01020304'::bytea", "S3", 4),
        ("B'111111111'", "S1", 2),
    ],
)
def test_a_value_that_is_too_long(
    connection: colonnade.sync.Connection, value: str, dtype: str, size: int
) -> None:
    query = f"SELECT CASE g WHEN 70000 THEN {value} END AS v FROM generate_series(0, 70000) g"
    with pytest.raises(colonnade.DTypeError, match=rf"of size {size}: column \"v\" .*row 70000"):
        connection.fetch(set_query_dtype(query, [("v", dtype)]))
    assert connection.fetchval("SELECT 1") == 1

"""Structs on their way to the server and back, and the functions that read them there."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pytest

import colonnade
from colonnade import sync
from colonnade.errors import StructError
from colonnade.structs import Ascii, Fixed, Struct, struct

if TYPE_CHECKING:
    from collections.abc import Iterator


@struct
class Person(Struct):
    login: str
    id: int


@struct
class Facts(Struct):
    number: int
    created: Annotated[np.datetime64, "s"]
    author: str | None
    owner: Person
    score: float
    labels: list[str]
    closed: Annotated[np.datetime64, "us"] | None = None


ANN = Facts(1, np.datetime64("2020-01-02T03:04:05"), "ann", Person("bob", 5), 0.5, ["a", "b"])
EVE = Facts(
    2,
    np.datetime64("1950-01-02T03:04:05"),
    None,
    Person("dän", -5),
    -1e300,
    [],
    np.datetime64("2021-01-01T00:00:00.000001"),
)


@pytest.fixture
def connection(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute("CREATE TEMP TABLE t (id int, data bytea)")
        yield connection


def stored(connection: sync.Connection) -> list[Facts | None]:
    rows = connection.fetch("SELECT data FROM t ORDER BY id")
    return [None if row[0] is None else Facts.from_bytes(row[0]) for row in rows]


def test_an_instance_is_a_parameter(connection: sync.Connection) -> None:
    connection.execute("INSERT INTO t VALUES (1, $1)", ANN)
    assert stored(connection) == [ANN]


def test_instances_in_many_sets_and_records_and_columns(connection: sync.Connection) -> None:
    connection.executemany("INSERT INTO t VALUES ($1, $2)", [(1, ANN), (2, EVE)])
    connection.copy_records_to_table("t", records=[(3, EVE), (4, None)])
    objects = np.array([ANN, None], dtype=object)
    connection.copy_columns_to_table("t", {"id": np.array([5, 6]), "data": objects})
    assert connection.fetchval("SELECT count(*) FROM t WHERE data = ANY($1)", [ANN, EVE]) == 4
    assert stored(connection) == [ANN, EVE, EVE, None, ANN, None]


def fill(connection: sync.Connection) -> None:
    connection.copy_records_to_table("t", records=[(1, ANN), (2, None), (3, EVE)])


QUERY = "SELECT data, id FROM t ORDER BY id"


def test_a_schema_makes_a_column_of_structs(connection: sync.Connection) -> None:
    fill(connection)
    columns = connection.fetch_columns(QUERY, schema={"data": Facts})
    (field, _) = columns.fields
    assert field.arrow_type.startswith("struct<number: int64, created: timestamp[s]")
    first, second, third = columns.to_pydict()["data"]
    assert first[0] == 1
    assert first[3:6] == (("bob", 5), 0.5, ["a", "b"])
    assert second is None
    assert third[-1] == dt.datetime(2021, 1, 1, 0, 0, 0, 1)
    assert columns[1:].to_pydict()["data"] == [None, third]


def test_a_selection_reads_only_its_fields(connection: sync.Connection) -> None:
    fill(connection)
    columns = connection.fetch_columns(QUERY, schema={"data": Facts["author", "number"]})
    assert columns.to_pydict()["data"] == [
        ("ann", 1),
        None,
        (None, 2),
    ]


def test_every_way_of_columns_reads_structs(connection: sync.Connection) -> None:
    fill(connection)
    schema = {"data": Facts["number"]}
    expected = [(1,), None, (2,)]
    batches = list(connection.iter_columns(QUERY, batch_rows=2, schema=schema))
    assert [row for batch in batches for row in batch.to_pydict()["data"]] == expected
    assert sync.Columns.concat(batches).to_pydict()["data"] == expected
    statement = connection.prepare(QUERY)
    assert statement.fetch_columns(schema=schema).to_pydict()["data"] == expected


def test_plain_columns_of_a_bytea_column(connection: sync.Connection) -> None:
    fill(connection)
    columns = Facts.unpack(connection.fetch_columns(QUERY), "number", "author", column="data")
    assert columns.to_pydict() == {"number": [1, None, 2], "author": ["ann", None, None]}


def test_columns_are_packed_natively(connection: sync.Connection) -> None:
    plain = Facts.unpack([ANN, EVE])
    packed = Facts.pack(plain)
    assert [bytes(each) for each in packed["data"]] == [bytes(ANN), bytes(EVE)]
    connection.copy_columns_to_table("t", packed, columns=["data"])
    assert stored(connection) == [ANN, EVE]


def test_pack_does_not_choose_among_columns_of_one_name(connection: sync.Connection) -> None:
    columns = connection.fetch_columns("select 1 as number, 2 as number, 'a' as author")
    with pytest.raises(KeyError, match='several columns are named "number"'):
        Facts.pack(columns)


def test_damaged_bytes_name_row_and_field(connection: sync.Connection) -> None:
    records = [(1, ANN), (2, bytes(ANN)[:40])]
    connection.copy_records_to_table("t", records=records)
    with pytest.raises(StructError, match=r'Facts: row 1, field "author": .* 40 are there') as info:
        connection.fetch_columns(QUERY, schema={"data": Facts})
    assert (info.value.row, info.value.field) == (1, "author")
    assert connection.fetchval("SELECT 1") == 1


def test_another_type_than_bytea_is_refused(connection: sync.Connection) -> None:
    with pytest.raises(colonnade.SchemaError, match="data"):
        connection.fetch_columns("SELECT 1 AS data", schema={"data": Facts})


# SQL


def test_functions_read_fields(connection: sync.Connection) -> None:
    fill(connection)
    connection.execute('CREATE SCHEMA "a b"')
    try:
        connection.execute(Facts.create_sql(schema="a b"))
        connection.execute(Person.create_sql(schema="a b"))
        rows = connection.fetch(
            'SELECT "a b".facts_number(data), "a b".facts_created(data), "a b".facts_author(data),'
            ' "a b".person_login("a b".facts_owner(data)), "a b".facts_score(data),'
            ' "a b".facts_closed(data) FROM t ORDER BY id'
        )
    finally:
        connection.execute('DROP SCHEMA "a b" CASCADE')
    assert [tuple(row) for row in rows] == [
        (1, dt.datetime(2020, 1, 2, 3, 4, 5), "ann", "bob", 0.5, None),
        (None,) * 6,
        (
            2,
            dt.datetime(1950, 1, 2, 3, 4, 5),
            None,
            "dän",
            -1e300,
            dt.datetime(2021, 1, 1, 0, 0, 0, 1),
        ),
    ]


def test_a_stranger_s_function_is_refused(connection: sync.Connection) -> None:
    """CREATE OR REPLACE keeps its owner, who could give it another body afterwards."""
    connection.execute(
        "DROP ROLE IF EXISTS squatter; CREATE ROLE squatter; CREATE SCHEMA shared;"
        " GRANT ALL ON SCHEMA shared TO squatter; SET ROLE squatter;"
        " CREATE FUNCTION shared.facts_author(bytea) RETURNS text LANGUAGE sql AS 'SELECT 1';"
        " RESET ROLE"
    )
    body = "SELECT prosrc FROM pg_proc WHERE oid = 'shared.facts_author'::regproc"
    try:
        with pytest.raises(colonnade.InsufficientPrivilegeError, match="belongs to squatter"):
            connection.execute(Facts.create_sql(schema="shared"))
        assert connection.fetchval(body) == "SELECT 1"
        connection.execute("DROP FUNCTION shared.facts_author")
        for _ in range(2):
            connection.execute(Facts.create_sql(schema="shared"))
    finally:
        connection.execute("DROP SCHEMA shared CASCADE; DROP ROLE squatter")


def test_an_index_over_a_function_is_used(connection: sync.Connection) -> None:
    connection.execute(Facts.create_sql(schema="pg_temp"))
    facts = [ANN.replace(number=number, author=f"a{number}") for number in range(3000)]
    connection.copy_records_to_table("t", records=list(enumerate(facts)))
    for name, wanted in [("number", 77), ("author", "a77")]:
        connection.execute(f"CREATE INDEX ON t (pg_temp.facts_{name}(data))")
        connection.execute("ANALYZE t")
        query = f"SELECT id FROM t WHERE pg_temp.facts_{name}(data) = $1"
        plan = "\n".join(row[0] for row in connection.fetch(f"EXPLAIN {query}", wanted))
        assert "Index" in plan, plan
        assert connection.fetchval(query, wanted) == 77


def test_functions_are_inlined_unless_they_make_text(connection: sync.Connection) -> None:
    connection.execute(Facts.create_sql(schema="pg_temp"))
    for name, inlined in [("number", True), ("created", True), ("author", False)]:
        query = f"EXPLAIN (VERBOSE, COSTS OFF) SELECT pg_temp.facts_{name}(data) FROM t"
        plan = "\n".join(row[0] for row in connection.fetch(query))
        assert (f"facts_{name}" not in plan) is inlined, plan


def test_struct_columns_are_selected_and_grouped(connection: sync.Connection) -> None:
    """A struct column of Python's class is a column as others are."""
    facts = [ANN, EVE, None, ANN.replace(number=3), EVE]
    connection.copy_records_to_table("t", records=list(enumerate(facts)))
    cols = connection.fetch_columns(
        "SELECT id, data FROM t ORDER BY id", schema={"data": Facts["author", "score"]}
    )
    rows = cols.to_pydict()["data"]
    assert rows == [("ann", 0.5), (None, -1e300), None, ("ann", 0.5), (None, -1e300)]
    assert cols.filter(cols["id"] > 2).to_pydict()["data"] == rows[3:]
    assert cols.take([4, 2, 0]).to_pydict()["data"] == [rows[4], rows[2], rows[0]]
    groups = cols.group_by("data")
    assert groups.keys.to_pydict()["data"] == rows[:3]
    assert groups.aggregate(n="size", last=("id", "last")).to_pydict() == {
        "data": rows[:3],
        "n": [2, 2, 1],
        "last": [3, 4, 2],
    }
    plain = Facts.unpack(connection.fetch_columns("SELECT data FROM t ORDER BY id"), "author")
    assert plain.group_by("author").aggregate(n=("author", "count")).to_pydict() == {
        "author": ["ann", None],
        "n": [2, 0],
    }


@struct
class Numbers(Struct):
    i8: Annotated[int, "int8"]
    u8: Annotated[int, "uint8"]
    i16: Annotated[int, "int16"]
    u16: Annotated[int, "uint16"]
    i32: Annotated[int, "int32"]
    u32: Annotated[int, "uint32"]
    i64: Annotated[int, "int64"]
    u64: Annotated[int, "uint64"]
    f16: Annotated[float, "float16"]
    f32: Annotated[float, "float32"]
    f64: Annotated[float, "float64"]
    truth: bool
    ascii: Annotated[str, Ascii(4)]
    fixed: Annotated[bytes, Fixed(4)]
    data: bytes
    day: dt.date
    took: Annotated[np.timedelta64, "ms"]


SMALL = Numbers(
    *(-(2**7), 0, -(2**15), 0, -(2**31), 0, -(2**63), 0),
    *(6e-8, 1e-45, 5e-324, False, "", b"\0\0a", b"", dt.date(1, 1, 1)),
    np.timedelta64(-9 * 86_400_000 + 7, "ms"),
)
LARGE = Numbers(
    *(2**7 - 1, 2**8 - 1, 2**15 - 1, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1),
    *(65504.0, 3.4028234663852886e38, 1.7976931348623157e308, True, "abcd", b"a\0b", b"\0\xff"),
    dt.date(9999, 12, 31),
    np.timedelta64(100 * 3_600_000 + 7, "ms"),
)


@pytest.mark.parametrize("numbers", [SMALL, LARGE])
def test_functions_read_every_number(connection: sync.Connection, numbers: Any) -> None:
    connection.execute(Numbers.create_sql(schema="pg_temp"))
    names = Numbers.__struct_definition__.names
    calls = ", ".join(f"pg_temp.numbers_{name}($1::bytea)" for name in names)
    (row,) = connection.fetch(f"SELECT {calls}", numbers)
    values = numbers.to_dict()
    values["took"] = values["took"].astype("timedelta64[us]").item()
    assert dict(zip(names, row, strict=True)) == values


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), -0.0, 0.1])
def test_functions_read_special_floats(connection: sync.Connection, value: float) -> None:
    connection.execute(Numbers.create_sql(schema="pg_temp"))
    numbers = SMALL.replace(f16=value, f32=value, f64=value)
    row = connection.fetchrow(
        "SELECT pg_temp.numbers_f16($1), pg_temp.numbers_f32($1), pg_temp.numbers_f64($1)", numbers
    )
    assert row is not None
    expected = [getattr(numbers, name) for name in ("f16", "f32", "f64")]
    assert str(list(row)) == str([float(np.float32(expected[0])), *expected[1:]])


UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
MOMENT: Any = np.datetime64
SPAN: Any = np.timedelta64
DEFAULTS: list[tuple[Any, Any]] = [
    (bool, True),
    ("uint64", 2**64 - 1),
    (float, float("-inf")),
    (str, "it's\n\\"),
    (bytes, b"\0'"),
    (Person, Person("x", 1)),
    (dt.datetime, dt.datetime(1, 1, 1)),
    (dt.date, dt.date(1969, 12, 31)),
    (dt.timedelta, dt.timedelta(days=-3, microseconds=7)),
    *((f"datetime64[{unit}]", MOMENT(-7, unit)) for unit in UNITS),
    *((f"timedelta64[{unit}]", SPAN(-7, unit)) for unit in UNITS),
]


@pytest.mark.parametrize(("kind", "default"), DEFAULTS, ids=[str(each) for each in DEFAULTS])
def test_functions_read_defaults_as_if_stored(
    connection: sync.Connection, kind: Any, default: Any
) -> None:
    fields = {"number": int, "b": kind}
    old: Any = struct(type("Made", (), {"__annotations__": {"number": int}}))
    new: Any = struct(type("Made", (), {"__annotations__": fields, "b": default}))
    connection.execute(new.create_sql(schema="pg_temp"))
    row = connection.fetchrow(
        "SELECT pg_temp.made_b($1)::text, pg_temp.made_b($2)::text", old(1), new(1)
    )
    assert row is not None
    assert row[0] is not None
    assert row[0] == row[1]


def test_versions_stand_side_by_side(connection: sync.Connection) -> None:
    @struct
    class V1(Struct):
        number: int
        name: str | None = None

    @struct
    class V2(Struct):
        number: int
        name: str | None = None
        grade: Annotated[int, "int16"] = 3
        note: str | None = None

    connection.execute(V1.create_sql(schema="pg_temp", prefix="v1_"))
    connection.execute(V2.create_sql(schema="pg_temp", prefix="v2_"))
    old, new, other = V1(1, "a"), V2(2, "b", 4, "n"), Person("x", 1)
    rows = [
        tuple(
            connection.fetchrow(
                "SELECT pg_temp.v1_number($1), pg_temp.v1_name($1), pg_temp.v2_number($1),"
                " pg_temp.v2_name($1), pg_temp.v2_grade($1), pg_temp.v2_note($1)",
                each,
            )
            or ()
        )
        for each in (old, new, other)
    ]
    assert rows == [(1, "a", 1, "a", 3, None), (2, "b", 2, "b", 4, "n"), (None,) * 6]
    assert V2.from_bytes(bytes(old)).to_dict() == {
        "number": 1,
        "name": "a",
        "grade": 3,
        "note": None,
    }
    assert V1.from_bytes(bytes(new)).to_dict() == {"number": 2, "name": "b"}
    assert V2.unpack([old, new]).to_pydict()["grade"] == [3, 4]

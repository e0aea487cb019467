"""Rows: records by index, slice and name, equal to tuples, invisible to the garbage collector."""

from __future__ import annotations

import gc

import pytest

import colonnade
from colonnade.errors import InterfaceError

QUERY = "SELECT 1 AS a, 'two' AS b, NULL::int AS c"


async def test_values_by_index_slice_and_name(connection: colonnade.Connection) -> None:
    row = await connection.fetchrow(QUERY)
    assert isinstance(row, colonnade.Record)
    assert (row[0], row[1], row[2], row[-1], row[-3]) == (1, "two", None, None, 1)
    assert (row["a"], row["b"], row["c"]) == (1, "two", None)
    assert row[1:] == ("two", None)
    assert row[::-2] == (None, 1)
    assert len(row) == 3


@pytest.mark.parametrize("index", [3, -4, 1 << 70])
async def test_an_index_out_of_range(connection: colonnade.Connection, index: int) -> None:
    row = await connection.fetchrow(QUERY)
    with pytest.raises(IndexError):
        row[index]


async def test_what_is_no_index(connection: colonnade.Connection) -> None:
    row = await connection.fetchrow(QUERY)
    with pytest.raises(KeyError, match="'d'"):
        row["d"]
    with pytest.raises(TypeError, match="column names, integers or slices, not float"):
        row[1.0]
    with pytest.raises(TypeError):
        row[0] = 1


async def test_as_a_mapping(connection: colonnade.Connection) -> None:
    row = await connection.fetchrow(QUERY)
    assert list(row.keys()) == ["a", "b", "c"]
    assert list(row.values()) == [1, "two", None]
    assert list(row.items()) == [("a", 1), ("b", "two"), ("c", None)]
    assert dict(row) == dict(row.items()) == {"a": 1, "b": "two", "c": None}
    assert row.get("b") == "two"
    assert row.get("c", 5) is None
    assert row.get("d") is None
    assert row.get("d", 5) == 5
    assert "a" in row
    assert "d" not in row
    assert 1 not in row


async def test_as_a_sequence(connection: colonnade.Connection) -> None:
    row = await connection.fetchrow(QUERY)
    assert list(row) == [1, "two", None]
    first, *others = row
    assert (first, others) == (1, ["two", None])
    assert tuple(row) == (1, "two", None)


async def test_comparisons(connection: colonnade.Connection) -> None:
    one, two = await connection.fetch("VALUES (1, 'a'), (1, 'b')")
    assert one == (1, "a")
    pair: object = (1, "a")
    assert pair == one
    assert one != two
    assert one != [1, "a"]
    assert one < two
    assert two > one
    assert one <= (1, "a")
    assert two >= (1,)
    assert sorted([two, one]) == [one, two]
    with pytest.raises(TypeError):
        _ = one < 1
    assert hash(one) == hash((1, "a"))
    assert {one: "x"}[(1, "a")] == "x"


async def test_repr(connection: colonnade.Connection) -> None:
    row = await connection.fetchrow(QUERY)
    assert repr(row) == "<Record a=1 b='two' c=None>"
    assert repr(await connection.fetchrow("SELECT")) == "<Record>"


async def test_of_equal_names_the_last_is_found(connection: colonnade.Connection) -> None:
    row = await connection.fetchrow("SELECT 1 AS a, 2 AS a, 3")
    assert row["a"] == 2
    assert row["?column?"] == 3
    assert row[:2] == (1, 2)
    assert list(row.keys()) == ["a", "a", "?column?"]


async def test_names_of_any_text(connection: colonnade.Connection) -> None:
    row = await connection.fetchrow('SELECT 1 AS "größe 大", 2 AS "%"')
    assert row["größe 大"] == 1
    assert row["%"] == 2


async def test_records_are_not_seen_by_the_garbage_collector(
    connection: colonnade.Connection,
) -> None:
    rows = await connection.fetch("SELECT i, i::text, i * 1.5 FROM generate_series(1, 1000) i")
    assert len(rows) == 1000
    assert not any(gc.is_tracked(row) for row in rows)


async def test_fetch_fetchrow_fetchval(connection: colonnade.Connection) -> None:
    query = "SELECT i, -i AS minus FROM generate_series(1, 3) i"
    assert await connection.fetch(query) == [(1, -1), (2, -2), (3, -3)]
    assert await connection.fetchrow(query) == (1, -1)
    assert await connection.fetchval(query) == 1
    assert await connection.fetchval(query, column=1) == -1
    assert await connection.fetchval(query, column="minus") == -1
    with pytest.raises(IndexError):
        await connection.fetchval(query, column=2)
    with pytest.raises(KeyError):
        await connection.fetchval(query, column="plus")
    assert await connection.fetchval("SELECT 1") == 1


async def test_without_rows(connection: colonnade.Connection) -> None:
    nothing = "SELECT 1 WHERE false"
    assert await connection.fetch(nothing) == []
    assert await connection.fetchrow(nothing) is None
    assert await connection.fetchval(nothing) is None
    assert await connection.fetch("CREATE TEMPORARY TABLE nothing ()") == []
    assert await connection.fetch("") == []


async def test_a_row_of_no_columns(connection: colonnade.Connection) -> None:
    assert await connection.fetch("SELECT FROM generate_series(1, 3)") == [(), (), ()]
    row = await connection.fetchrow("SELECT")
    assert len(row) == 0
    assert list(row.items()) == []


async def test_many_columns(connection: colonnade.Connection) -> None:
    count = 1600
    columns = ", ".join(f"{i} AS c{i}" for i in range(count))
    row = await connection.fetchrow(f"SELECT {columns}")
    assert row == tuple(range(count))
    assert row[f"c{count - 1}"] == count - 1


async def test_a_command_with_rows_runs_to_its_end(connection: colonnade.Connection) -> None:
    await connection.execute("CREATE TEMPORARY TABLE numbers (i int)")
    insert = "INSERT INTO numbers SELECT generate_series(1, 3) RETURNING i"
    assert await connection.fetchrow(insert) == (1,)
    assert await connection.fetchval("SELECT count(*) FROM numbers") == 3


async def test_a_large_value(connection: colonnade.Connection) -> None:
    assert await connection.fetchval("SELECT repeat('ä', 3000000)") == "ä" * 3_000_000


async def test_a_closed_connection_says_so(connection: colonnade.Connection) -> None:
    await connection.close()
    for call in (connection.fetch, connection.fetchrow, connection.fetchval, connection.execute):
        with pytest.raises(InterfaceError, match="connection is closed"):
            await call("SELECT 1")
    assert connection.is_closed()
    assert repr(connection).endswith("closed>")

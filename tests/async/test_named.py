"""Queries with named parameters have the same meaning for the server as written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import Named, named
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Sequence

# A column of a query, and its value if :a is 7 and :b is "x".
COLUMNS: Sequence[tuple[str, Any]] = (
    (":a::int", 7),
    ("(:b)::text", "x"),
    ("':a'", ":a"),
    ("E'\\':a'", "':a"),
    ("$$:a$$", ":a"),
    ("$b$:a$$:b$b$", ":a$$:b"),
    ("1 /* :a /* :c */ */", 1),
    ("2 -- :a\n", 2),
    ("(ARRAY[1,2,3])[1:n]", [1, 2]),
    ("(ARRAY[1,2,3])[:a::int - 5: 3]", [2, 3]),
    ('(SELECT ":a" FROM (SELECT 5 AS ":a") AS q)', 5),
    ("make_interval(days := :a::int) > interval '1 day'", True),
    ("'{\"k\": 1}'::jsonb ? :b::text", False),
)


async def test_every_place_of_a_name(connection: colonnade.Connection) -> None:
    values = {"a": 7, "b": "x"}
    query = f"SELECT {', '.join(column for column, _ in COLUMNS)} FROM (SELECT 2 AS n) AS t"
    row = await connection.fetchrow(*named(query, values))
    assert list(row) == [value for _, value in COLUMNS]
    for column, value in COLUMNS:
        query = f"SELECT {column} FROM (SELECT 2 AS n) AS t"
        used = {name: values[name] for name in Named(query).names}
        assert await connection.fetchval(*named(query, used)) == value


async def test_methods_that_run_queries(connection: colonnade.Connection) -> None:
    query = "SELECT :low::int + i AS n FROM generate_series(1, :many) AS i"
    given = named(query, low=10, many=3)
    assert [row["n"] for row in await connection.fetch(*given)] == [11, 12, 13]
    assert (await connection.fetch_columns(*given))["n"].tolist() == [11, 12, 13]
    assert await connection.execute(*given) == "SELECT 3"
    kept = connection.conversation.session.cached_statements
    await connection.fetch(*named(query, low=0, many=1))
    assert connection.conversation.session.cached_statements == kept


async def test_a_mistake_sends_nothing(connection: colonnade.Connection) -> None:
    with pytest.raises(InterfaceError, match="no value for :a"):
        await connection.fetch(*named("SELECT :a::int", {}))
    assert await connection.fetchval(*named("SELECT :a::int", a=1)) == 1

"""The types of `Pool.gather`'s queries and results for mypy and pyright, and at run time.

Both type checkers read this file.
"""

from __future__ import annotations

from typing import Any, assert_type

import colonnade
import colonnade.sync
from colonnade import Columns, Gathered, Query, Record


async def test_of_a_pool(dsn: str) -> None:
    columns = assert_type(Query.columns("SELECT 1 AS id"), Query[Columns])
    rows = assert_type(Query.rows("SELECT 1"), Query[list[Record]])
    row = assert_type(Query.row("SELECT 1"), Query[Record | None])
    value = assert_type(Query.value("SELECT 1"), Query[Any])
    queries = {"columns": columns, "rows": rows, "row": row, "value": value}
    async with colonnade.create_pool(dsn, min_size=1, max_size=2) as pool:
        results = assert_type(await pool.gather(queries), Gathered)
        # The names are known at run time only.
        assert isinstance(assert_type(results["columns"], Any), Columns)
        assert assert_type(results["value"], Any) == 1
        assert [assert_type(name, str) for name in results] == list(queries)


def test_of_a_blocking_pool(dsn: str) -> None:
    queries = {"columns": Query.columns("SELECT 1 AS id")}
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        results = assert_type(pool.gather(queries, deadline=20), Gathered)
        assert isinstance(assert_type(results["columns"], Any), Columns)

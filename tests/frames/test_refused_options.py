"""Options of a wrong class or size give an error that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import colonnade
import colonnade.sync
from colonnade import parallel

QUERY = "SELECT 1 AS a"
# Untyped, because type checkers would reject the cases.
READ: Any = colonnade.read_sql
PARALLEL: Any = parallel.sync
Link = colonnade.sync.Connection
CASES: tuple[tuple[str, type[Exception], Callable[[Any], object]], ...] = (
    ("batch_rows", TypeError, lambda c: list(c.iter_columns(QUERY, batch_rows="5"))),
    ("batch_rows", TypeError, lambda c: list(c.iter_columns(QUERY, batch_rows=1.5))),
    ("batch_rows", TypeError, lambda c: list(c.iter_columns(QUERY, batch_rows=True))),
    ("batch_rows", ValueError, lambda c: list(c.iter_columns(QUERY, batch_rows=0))),
    ("batch_rows", TypeError, lambda c: c.prepare(QUERY).iter_columns(batch_rows="5")),
    ("batch_rows", TypeError, lambda c: list(READ(QUERY, c, batch_rows=[]))),
    ("dtypes", ValueError, lambda c: READ(QUERY, c, dtypes={"a": "int64"})),
    ("decimals", ValueError, lambda c: READ(QUERY, c, decimals=[])),
    ("into", ValueError, lambda c: READ(QUERY, c, into=[])),
    ("params", TypeError, lambda c: READ(QUERY, c, params=5)),
    ("schema", colonnade.SchemaError, lambda c: c.fetch_columns(QUERY, schema=5)),
    ("schema", colonnade.SchemaError, lambda c: c.fetch_columns(QUERY, schema={"a": 5})),
    ("timeout", ValueError, lambda c: c.fetch_columns(QUERY, timeout="x")),
    ("columns", TypeError, lambda c: c.copy_columns_to_table("t", {"a": [1]}, columns=5)),
    ("progress", TypeError, lambda c: c.copy_columns_to_table("t", {"a": [1]}, progress=5)),
    ("table_name", TypeError, lambda c: c.copy_columns_to_table(5, {"a": [1]})),
    ("schema_name", TypeError, lambda c: c.copy_columns_to_table("t", {"a": [1]}, schema_name=5)),
    ("table_name", TypeError, lambda c: c.copy_records_to_table(5, records=[(1,)])),
    (
        "conflict_columns",
        TypeError,
        lambda c: c.copy_columns_to_table(
            "t", {"a": [1]}, on_conflict="update", conflict_columns=5
        ),
    ),
    ("connections", TypeError, lambda _: PARALLEL.read("t", "postgresql://", connections="x")),
    ("parts", TypeError, lambda _: PARALLEL.plan("t", "postgresql://", parts="x")),
)


@pytest.mark.parametrize(("option", "kind", "call"), CASES)
def test_the_option_is_named(
    dsn: str, option: str, kind: type[Exception], call: Callable[[Link], object]
) -> None:
    with colonnade.sync.connect(dsn) as connection:
        with pytest.raises(kind, match=option):
            call(connection)
        assert connection.fetchval("SELECT 1") == 1

# Generated from tests/async/test_pool_uses.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""The rest of the library on a connection from a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import InterfaceError, errors
from colonnade.rkt import set_query_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

# Methods for one particular connection: its state, its listeners, and objects that outlive a call.
_OF_A_CONNECTION = {
    "address",
    "begin_ahead",
    "cancel",
    "database",
    "naive_datetimes",
    "transaction_status",
    "user",
    *("add_listener", "add_log_listener", "add_query_logger", "add_termination_listener"),
    *("remove_listener", "remove_log_listener", "remove_query_logger"),
    *("remove_termination_listener", "notifications", "query_logger"),
    *("cursor", "prepare", "transaction", "reset", "get_reset_query", "reload_schema_state"),
    *("get_server_pid", "get_server_version", "get_settings", "last_timing"),
    # It prepares the next call on the same connection.
    "parameter_types",
    *("is_closed", "is_in_transaction", "is_inherited", "row_factory"),
    *("reset_type_codec", "set_builtin_type_codec", "set_type_codec"),
}


@pytest.fixture
def pool(dsn: str, nothing_left: None) -> Iterator[colonnade.sync.Pool]:
    del nothing_left
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        yield pool


def _public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_a_pool_has_every_method_that_needs_no_connection_of_ones_own() -> None:
    assert _public(colonnade.sync.Connection) - _public(colonnade.sync.Pool) == _OF_A_CONNECTION


# Pipelines


def test_a_pipeline_holds_a_connection_for_its_block(pool: colonnade.sync.Pool) -> None:
    with pool.pipeline() as pipeline:
        assert pool.get_idle_size() == 0
        first = pipeline.fetchval("SELECT pg_backend_pid()")
        second = pipeline.fetch("SELECT generate_series(1, $1::int) AS n", 2)
        third = pipeline.fetchval("SELECT pg_backend_pid()")
        assert second.wait() == [(1,), (2,)]
    assert pool.get_idle_size() == 1
    assert first.result() == third.result()
    with pytest.raises(InterfaceError, match="within its block"):
        pipeline.fetch("SELECT 1")


def test_a_pipeline_that_fails_gives_its_connection_back(pool: colonnade.sync.Pool) -> None:
    with pytest.raises(errors.UndefinedTableError):  # noqa: PT012 - the end of the block raises
        with pool.pipeline() as pipeline:
            pipeline.fetch("SELECT * FROM no_such_table")
            after = pipeline.fetchval("SELECT 5")
    assert after.result() == 5
    assert pool.get_idle_size() == 1


def test_a_pipeline_of_the_pool_is_entered_once_at_a_time(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=2, max_size=2) as pool:
        context = pool.pipeline()
        with context:
            with pytest.raises(InterfaceError, match="already in"):
                context.__enter__()
        with context as pipeline:
            result = pipeline.fetchval("SELECT 1")
        assert result.result() == 1
        assert pool.get_idle_size() == 2


# Objects made through a proxy


# Arrays by dtype


def test_a_dtype_travels_through_the_pool(pool: colonnade.sync.Pool) -> None:
    query = "SELECT g::int8, nullif(g, 2)::int4 FROM generate_series(1, $1::int) g"
    typed = set_query_dtype(query, [("a", "i8"), ("b", "i4")])
    array, nulls = pool.fetch(typed, 3)
    assert array["a"].tolist() == [1, 2, 3]
    assert nulls == [3]
    row, nulls = pool.fetchrow(typed, 3)
    assert row["a"] == 1
    with pool.acquire() as connection:
        there, _ = connection.fetchrow(typed, 3)
        value = connection.fetchval(typed, 3)
    assert row.tolist() == there.tolist()
    assert pool.fetchval(typed, 3) == value
    assert pool.get_idle_size() == 1


# Timing

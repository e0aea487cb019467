"""The answers of the application under test: a source and the options of each case."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import colonnade

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    Case: TypeAlias = Callable[["Pools"], tuple[Any, dict[str, Any]]]

ROWS = 300_000
#: More than the buffers of both sides hold.
ENDLESS_ROWS = 100_000_000


class Pools(NamedTuple):
    """The pools of the application."""

    main: colonnade.Pool
    hasty: colonnade.Pool
    """The server gives up its queries."""
    small: colonnade.Pool
    """One connection, and nobody may wait for it."""


@contextlib.asynccontextmanager
async def pools(dsn: str) -> AsyncIterator[Pools]:
    """Open the pools."""
    hasty = {"statement_timeout": "300"}
    async with (
        colonnade.create_pool(dsn, min_size=1, max_size=6) as main,
        colonnade.create_pool(dsn, min_size=1, max_size=2, server_settings=hasty) as second,
        colonnade.create_pool(dsn, min_size=1, max_size=1, max_waiting=0) as small,
    ):
        yield Pools(main, second, small)


def _series(last: int, column: str = "i * 2.5") -> str:
    # A series in FROM would be written to disk before its first row.
    return f"SELECT i, {column} AS x FROM (SELECT generate_series(1, {last}) AS i) AS series"


def _failing(pool: colonnade.Pool, column: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A query whose row `ROWS` fails, in the middle of the table."""
    query = _series(2 * ROWS, f"CASE WHEN i = {ROWS} THEN {column} ELSE i END")
    return (lambda: pool.iter_columns(query, **options)), {}


def _exhausted(pool: colonnade.Pool) -> tuple[Any, dict[str, Any]]:
    async def source() -> colonnade.Columns:
        async with pool.acquire():
            return await pool.fetch_columns("SELECT 1")

    return source, {}


def _watched(pools: Pools, query: str) -> tuple[Any, dict[str, Any]]:
    return (lambda: pools.main.iter_columns(query)), {}


CASES: dict[str, Case] = {
    "whole": lambda pools: (lambda: pools.main.iter_columns(_series(ROWS)), {"etag": "1"}),
    "small": lambda pools: (lambda: pools.main.fetch_columns("SELECT 1 AS one"), {"etag": "1"}),
    "argument": lambda pools: (lambda: pools.main.iter_columns("SELECT $1::int4", "x"), {}),
    "slow": lambda pools: (lambda: pools.hasty.iter_columns("SELECT pg_sleep(60)"), {}),
    "exhausted": lambda pools: _exhausted(pools.small),
    "mistake": lambda pools: (lambda: pools.main.iter_columns("SELECT * FROM missing"), {}),
    "midway": lambda pools: _failing(pools.main, "1 / (i - i)"),
    "killed": lambda pools: _failing(
        pools.main, "pg_terminate_backend(pg_backend_pid())::int::bigint"
    ),
    "late": lambda pools: _failing(pools.main, "length(pg_sleep(60)::text)", timeout=0.5),
    "endless": lambda pools: _watched(pools, _series(ENDLESS_ROWS)),
    "stalled": lambda pools: (
        lambda: pools.main.iter_columns(_series(ENDLESS_ROWS)),
        {"stall_timeout": 0.5},
    ),
    "sleeping": lambda pools: _watched(pools, "SELECT pg_sleep(60)"),
}

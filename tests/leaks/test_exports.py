"""Columns exported to other libraries: consumed, partly consumed or not, dropped in any order."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade.sync
from tests.support.memory import least_growth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    LeavesNothing = Callable[..., None]

pytestmark = pytest.mark.thorough

# Large enough for separate pages, with every kind of buffer.
QUERY = """
    SELECT n AS number, NULLIF(n % 7, 0) AS nullable, n::text AS name, n % 2 = 0 AS even,
           ARRAY[n, n + 1] AS list, ROW(n, n::text) AS pair, n::numeric / 7 AS share,
           now() AS moment, '{}'::jsonb AS document, int4range(n, n + 3) AS range
    FROM generate_series(1, 2000) AS n
"""
VIEWS: dict[str, Callable[[colonnade.Columns], object]] = {
    "NumPy": lambda columns: (columns["number"], columns["name"], columns["even"]),
    "pyarrow": pa.table,
    "Polars": lambda columns: columns.to_polars(),
    "pandas": lambda columns: columns.to_pandas(decimals="float64"),
    "itself": lambda columns: columns[10:20],
}


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    """One connection for all failures; the first ones fill its caches."""
    with colonnade.sync.connect(dsn) as connection:
        yield connection


def test_capsules_that_nobody_takes(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    columns = connection.fetch_columns(QUERY)

    def turn() -> None:
        columns.__arrow_c_stream__()
        columns.__arrow_c_schema__()
        columns.to_arrow()

    leaves_nothing(turn)


def test_streams_that_are_taken_in_part(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    query = "SELECT n, n::text FROM generate_series(1, 1000) AS n"

    def turn() -> None:
        stream = connection.iter_columns(query, batch_rows=100)
        reader = pa.RecordBatchReader.from_stream(colonnade.ArrowStream(stream))
        reader.read_next_batch()
        del reader
        stream.close()

    leaves_nothing(turn)


def test_views_that_go_in_any_order(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    orders = itertools.cycle(itertools.permutations(VIEWS))

    def turn() -> None:
        columns = connection.fetch_columns(QUERY)
        held: dict[str, Any] = {name: make(columns) for name, make in VIEWS.items()}
        del columns
        for name in next(orders):
            del held[name]

    # A leaked view would keep its memory; the libraries cache some objects.
    leaves_nothing(turn, objects=2)


def test_a_view_outlives_everything_else(dsn: str) -> None:
    """The memory lives as long as any view, whatever happens to its connection."""
    with colonnade.sync.connect(dsn) as connection:
        columns = connection.fetch_columns(QUERY)
    number, table = columns["number"], pa.table(columns)
    sliced = columns[500:510]["number"]
    del columns, connection
    taken = table.column("number").combine_chunks()
    del table
    # Allocate, to overwrite memory that was freed too early.
    filling = [np.full(2000, 255, np.int32) for _ in range(50)]
    assert number.sum() == 2001000
    assert sliced.tolist() == list(range(501, 511))
    assert taken.to_pylist()[-3:] == [1998, 1999, 2000]
    assert len(filling) == 50


def test_sources_that_fail(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    connection.execute("CREATE TEMP TABLE narrow (n smallint)")
    numbers = {"n": np.full(100, 40_000)}

    def turn() -> None:
        # A pandas frame keeps a list of its users.
        for source in (pd.DataFrame(numbers), pl.DataFrame(numbers), pa.table(numbers)):
            with contextlib.suppress(colonnade.EncodeError):
                connection.copy_columns_to_table("narrow", source)

    leaves_nothing(turn)


def test_duckdb(connection: colonnade.sync.Connection) -> None:
    """DuckDB leaves as much behind for our columns as for pyarrow's: a view in its catalog."""
    database = duckdb.connect()
    columns = connection.fetch_columns("SELECT n FROM generate_series(1, 2000) AS n")
    table = pa.table(columns)

    def turn(source: object) -> None:
        database.register("source", source)
        assert database.execute("SELECT sum(n) FROM source").fetchall() == [(2001000,)]
        database.unregister("source")

    ours = least_growth(lambda: turn(columns), 20)
    theirs = least_growth(lambda: turn(table), 20)
    assert ours.objects <= theirs.objects + 40, (ours, theirs)
    assert ours.heap_bytes <= theirs.heap_bytes + 100 * 20, (ours, theirs)

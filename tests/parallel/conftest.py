"""A table to read in parts, and a check that no backend is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from colonnade import sync
from tests.support.leftovers import BackendWatch, Leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator

_END_SECONDS_MAX = 10.0

ROWS = 30_000

_TABLE = f"""
CREATE TABLE parted AS SELECT
    g AS id,
    CASE WHEN g % 7 = 0 THEN NULL ELSE g % 1000 END AS key,
    CASE WHEN g % 11 = 0 THEN 'NaN' ELSE g / 8.0 END::float8 AS ratio,
    CASE WHEN g > 20000 THEN g / 1000.0 ELSE g END::numeric AS amount,
    (g * 0.25)::numeric(12, 2) AS price,
    'n' || (g % 501) AS name,
    timestamptz '2020-01-01' + g * interval '1 minute' AS seen,
    ARRAY[g, NULL, g + 1] AS list,
    date '2020-01-01' + g % 300 AS day
FROM generate_series(1, {ROWS}) AS g
"""


@pytest.fixture(scope="session")
def watch(dsn: str) -> Iterator[BackendWatch]:
    """A connection that watches the backends of the session's server."""
    with BackendWatch(dsn) as watch:
        yield watch


@pytest.fixture(autouse=True)
def nothing_left(watch: BackendWatch) -> Iterator[None]:
    """Check that no test leaves sockets or backends behind."""
    leftovers = Leftovers(watch)
    yield
    give_up = time.monotonic() + _END_SECONDS_MAX
    while (found := leftovers.found()) and time.monotonic() < give_up:
        time.sleep(0.002)
    assert found == []


@pytest.fixture(scope="session")
def table(dsn: str) -> Iterator[str]:
    """A table with NULL, NaN, and numerics without a declared scale."""
    with sync.connect(dsn) as connection:
        connection.execute(f"DROP TABLE IF EXISTS parted; {_TABLE}; ANALYZE parted")
    yield "parted"
    with sync.connect(dsn) as connection:
        connection.execute("DROP TABLE parted")

"""Fixtures: a connection that checks the program's effects, and a table of many types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade.sync

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    """A blocking connection to the session's server."""
    with colonnade.sync.connect(dsn) as connection:
        yield connection


@pytest.fixture
def mixed(connection: colonnade.sync.Connection) -> Iterator[str]:
    """A table of many types, with edges and NULLs."""
    name = "cli_mixed"
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(
        f"""
        CREATE TABLE {name} AS SELECT
            i::int8 AS id,
            i % 3 = 0 AS flag,
            nullif(i % 7, 0)::int2 AS small,
            i / 8.0::float8 AS ratio,
            (i * 1.25)::numeric(12, 2) AS price,
            CASE WHEN i % 5 = 0 THEN NULL WHEN i % 5 = 1 THEN '' WHEN i % 5 = 2 THEN E'a,b"c'
                 WHEN i % 5 = 3 THEN E'two\\nlines' ELSE 'größe ' || i END AS label,
            date '2024-02-28' + i::int AS day,
            timestamptz '2024-02-28 12:00:00+00' + i * interval '1 minute' AS moment,
            ARRAY[i, NULL, i + 1]::int4[] AS list,
            json_build_object('n', i) AS doc,
            decode(md5(i::text), 'hex') AS digest,
            md5(i::text)::uuid AS key
        FROM generate_series(1, 2500) AS i
        """
    )
    yield name
    connection.execute(f"DROP TABLE {name}")

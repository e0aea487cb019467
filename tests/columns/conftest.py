"""One connection to the session's server fetches the columns of all tests in this folder."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.columns import Columns


class Fetch(Protocol):
    """A blocking `fetch_columns` of an async connection."""

    def __call__(self, query: str, *, schema: dict[str, str] | None = None) -> Columns: ...


@pytest.fixture(scope="session")
def fetch(dsn: str) -> Iterator[Fetch]:
    with asyncio.Runner() as runner:
        connection = runner.run(colonnade.connect(dsn))

        def fetched(query: str, *, schema: dict[str, str] | None = None) -> Columns:
            return runner.run(connection.fetch_columns(query, schema=schema))

        yield fetched
        runner.run(connection.close())

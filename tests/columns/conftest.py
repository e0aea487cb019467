"""Columns come from the session's server, by one connection for all tests of this folder."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.columns import Columns


class Fetch(Protocol):
    """`fetch_columns` of a connection, waited for."""

    def __call__(self, query: str, *, schema: dict[str, str] | None = None) -> Columns: ...


@pytest.fixture(scope="session")
def fetch(dsn: str) -> Iterator[Fetch]:
    with asyncio.Runner() as runner:
        connection = runner.run(colonnade.connect(dsn))

        def fetched(query: str, *, schema: dict[str, str] | None = None) -> Columns:
            return runner.run(connection.fetch_columns(query, schema=schema))

        yield fetched
        runner.run(connection.close())

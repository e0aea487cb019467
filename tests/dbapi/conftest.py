"""A connection of the DB-API for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import dbapi, embedded

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def conn(dsn: str) -> Iterator[dbapi.Connection]:
    """A connection to the session's server; what a test leaves open is undone."""
    connection = dbapi.connect(dsn)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def two_phase_dsn() -> Iterator[str]:
    """A server of its own that keeps prepared transactions."""
    with embedded.start(tcp=True, settings={"max_prepared_transactions": "10"}) as server:
        yield server.dsn

"""A DB-API connection for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import dbapi, embedded

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def conn(dsn: str) -> Iterator[dbapi.Connection]:
    """A connection to the session's server; an open transaction is rolled back after the test."""
    connection = dbapi.connect(dsn)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def two_phase_dsn() -> Iterator[str]:
    """A private server that allows prepared transactions."""
    with embedded.start(tcp=True, settings={"max_prepared_transactions": "10"}) as server:
        yield server.dsn

"""One set of doors for the tables of situations, and fixtures of single situations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade.sync
from colonnade import dbapi
from tests.reports.situations import Doors

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def doors(dsn: str) -> Iterator[Doors]:
    made = Doors(dsn)
    yield made
    made.close()


@pytest.fixture
def link(dsn: str) -> Iterator[colonnade.sync.Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


@pytest.fixture
def conn(dsn: str) -> Iterator[dbapi.Connection]:
    with dbapi.connect(dsn) as connection:
        yield connection
        connection.rollback()

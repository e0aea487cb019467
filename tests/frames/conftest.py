"""One blocking connection for all tests of frames, and a unique table name for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection


@pytest.fixture(scope="module")
def link(dsn: str) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


@pytest.fixture
def table(link: Connection) -> Iterator[str]:
    name = 'frames "of" a test'
    yield name
    link.execute('DROP TABLE IF EXISTS "frames ""of"" a test"')

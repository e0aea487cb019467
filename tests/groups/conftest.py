from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from tests.columns.every_type import MADE_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection


@pytest.fixture(scope="module")
def link(dsn: str) -> Iterator[Connection]:
    """A connection with the types of `MADE_TYPES` in a schema of its own."""
    with colonnade.sync.connect(dsn, server_settings={"timezone": "UTC"}) as connection:
        connection.execute("drop schema if exists grouped_types cascade")
        connection.execute("create schema grouped_types")
        connection.execute("set search_path to grouped_types, public")
        connection.execute(MADE_TYPES)
        yield connection
        connection.execute("drop schema grouped_types cascade")

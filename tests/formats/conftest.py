"""A connection with the types that samples use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from tests.columns.every_type import MADE_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection


@pytest.fixture(scope="package")
def link(dsn: str) -> Iterator[Connection]:
    settings = {"timezone": "UTC", "search_path": "formats, public"}
    with colonnade.sync.connect(dsn, server_settings=settings) as connection:
        connection.execute("create schema formats")
        connection.execute(MADE_TYPES)
        yield connection
        connection.execute("drop schema formats cascade")

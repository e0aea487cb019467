"""One connection for all tests of types: decoding is the same under every transport."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import FeatureNotSupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.sync import Connection

# The styles of the corpus's texts, whatever the server's configuration.
SETTINGS = {"timezone": "UTC", "datestyle": "ISO, MDY", "bytea_output": "hex"}


@pytest.fixture(scope="session")
def link(dsn: str) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn, server_settings=SETTINGS) as connection:
        yield connection


@pytest.fixture(scope="session")
def has_xml(link: Connection) -> bool:
    try:
        link.fetchval("SELECT '<a/>'::xml")
    except FeatureNotSupportedError:
        return False
    return True

"""Connections whose servers read strings with either setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade import embedded, sync

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=["on", "off"], ids=lambda word: f"strings-{word}")
def strings(request: pytest.FixtureRequest) -> str:
    """`standard_conforming_strings`: with "off", a backslash escapes in every string."""
    word: str = request.param
    return word


@pytest.fixture(scope="module")
def strings_dsn(dsn: str, strings: str) -> str:
    """The DSN of the server with that setting."""
    settings = f"standard_conforming_strings={strings}&escape_string_warning=off"
    return f"{dsn}{'&' if '?' in dsn else '?'}{settings}"


@pytest.fixture(scope="module")
def asked(strings_dsn: str) -> Iterator[sync.Connection]:
    """A module's connection, without cached statements: tables differ under one text."""
    with sync.connect(strings_dsn, statement_cache_size=0) as connection:
        yield connection


@pytest.fixture(scope="module")
def two_phase_dsn() -> Iterator[str]:
    """A private server that allows prepared transactions."""
    with embedded.start(tcp=True, settings={"max_prepared_transactions": "10"}) as server:
        yield server.dsn

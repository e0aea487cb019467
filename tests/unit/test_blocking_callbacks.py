"""Callbacks without an event loop: the reading thread calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade.sync
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


def test_a_coroutine_function_is_refused(connection: colonnade.sync.Connection) -> None:
    async def listener(*_: object) -> None:
        """A coroutine function, which nothing would await."""

    with pytest.raises(InterfaceError, match="not a coroutine function"):
        connection.add_listener("news", listener)
    with pytest.raises(InterfaceError, match="not a coroutine function"):
        connection.add_log_listener(listener)


def test_what_came_while_nothing_ran_is_told_with_the_next_operation(
    connection: colonnade.sync.Connection, dsn: str
) -> None:
    heard: list[str] = []
    connection.add_listener("news", lambda *args: heard.append(args[3]))
    with colonnade.sync.connect(dsn) as other:
        other.execute("NOTIFY news, 'one'; NOTIFY news, 'two'")
    assert not heard
    while len(heard) < 2:
        connection.execute("")
    assert heard == ["one", "two"]


def test_a_callback_cannot_use_the_connection_that_tells_it(
    connection: colonnade.sync.Connection,
) -> None:
    refused: list[InterfaceError] = []

    def listener(source: Any, *_: object) -> None:
        with pytest.raises(InterfaceError, match="another operation") as caught:
            source.fetchval("SELECT 1")
        refused.append(caught.value)

    connection.add_listener("news", listener)
    connection.execute("NOTIFY news")
    assert len(refused) == 1
    assert connection.fetchval("SELECT 2") == 2

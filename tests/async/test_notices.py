"""Notices of the server reach the listeners of their connection only."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    import colonnade
    from colonnade.errors import PostgresLogMessage

RAISE = "DO $$ BEGIN RAISE WARNING 'mind the %', 'gap' USING HINT = 'step over'; END $$"


async def test_a_listener_gets_connection_and_message(connection: colonnade.Connection) -> None:
    heard: list[tuple[object, PostgresLogMessage]] = []

    def listener(source: object, message: PostgresLogMessage) -> None:
        heard.append((source, message))

    await connection.execute(RAISE)
    connection.add_log_listener(listener)
    await connection.execute(RAISE)
    connection.remove_log_listener(listener)
    await connection.execute(RAISE)
    ((source, message),) = heard
    assert source is connection
    assert message.message == "mind the gap"
    assert message.hint == "step over"
    assert message.severity == "WARNING"


async def test_a_listener_that_fails_is_logged(
    connection: colonnade.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    def listener(_source: object, message: PostgresLogMessage) -> None:
        raise RuntimeError(message.message)

    connection.add_log_listener(listener)
    with caplog.at_level(logging.ERROR, logger="colonnade"):
        assert await connection.execute(RAISE) == "DO"
    assert "mind the gap" in caplog.text
    assert await connection.fetchval("SELECT 1") == 1

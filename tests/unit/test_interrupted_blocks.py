"""Ctrl-C at every step of entering and leaving a block: no transaction stays open unseen.

A trace function raises KeyboardInterrupt at the calls, lines and returns of the blocking classes,
one after the other, as a signal does between any two steps.
"""

from __future__ import annotations

import contextlib
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import colonnade.sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ROOM = str(Path(colonnade.__file__).parent / "_sync")


@pytest.fixture
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TEMPORARY TABLE t (i int)")
        yield connection


class Striking:
    """Raises KeyboardInterrupt at the step of this number, within the ends of a block."""

    def __init__(self, step: int) -> None:
        self.steps_left = step

    def __enter__(self) -> None:
        self._former = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._former)

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ROOM) or not is_end_of_block(frame):
            return None
        self.steps_left -= 1
        if self.steps_left < 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return self._trace


def is_end_of_block(frame: FrameType) -> bool:
    """Whether a block is being entered or left."""
    names = {"__enter__", "__exit__"}
    at: FrameType | None = frame
    while at is not None and at.f_code.co_name not in names:
        at = at.f_back
    return at is not None


def transaction(connection: colonnade.sync.Connection) -> None:
    with connection.transaction():
        connection.execute("INSERT INTO t VALUES (1)")


def nested(connection: colonnade.sync.Connection) -> None:
    with connection.transaction(), connection.transaction():
        connection.execute("INSERT INTO t VALUES (1)")


def pipeline(connection: colonnade.sync.Connection) -> None:
    with connection.pipeline() as queries:
        queries.execute("INSERT INTO t VALUES (1)")


def stream(connection: colonnade.sync.Connection) -> None:
    with connection.iter_columns("SELECT generate_series(1, 30)", batch_rows=10) as batches:
        assert [len(batch) for batch in batches] == [10, 10, 10]


@pytest.mark.parametrize("block", [transaction, nested, pipeline, stream])
def test_a_block_that_is_struck_is_left(
    dsn: str,
    connection: colonnade.sync.Connection,
    block: Callable[[colonnade.sync.Connection], None],
) -> None:
    block(connection)
    closed = 0
    for step in count():
        striking = Striking(step)
        with contextlib.suppress(KeyboardInterrupt), striking:
            block(connection)
        if striking.steps_left >= 0:
            break
        if connection.is_closed():
            closed += 1
            connection = colonnade.sync.connect(dsn)
            connection.execute("CREATE TEMPORARY TABLE t (i int)")
        assert not connection.is_in_transaction(), step
        before = connection.fetchval("SELECT count(*) FROM t")
        assert connection.execute("INSERT INTO t VALUES (1)") == "INSERT 0 1"
        connection.execute("ROLLBACK")
        # A transaction that was left open would have been rolled back with the row.
        assert connection.fetchval("SELECT count(*) FROM t") == before + 1, step
    assert step > 10
    # Closing is for the moments in which nobody can know: between the socket and the session.
    assert closed <= step / 5
    connection.close()


def test_the_first_step_of_leaving(connection: colonnade.sync.Connection) -> None:
    def struck_at_the_end() -> None:
        with connection.transaction():
            connection.execute("INSERT INTO t VALUES (1)")
            Striking(0).__enter__()

    with pytest.raises(KeyboardInterrupt):
        struck_at_the_end()
    assert not connection.is_closed()
    assert connection.fetchval("SELECT count(*) FROM t") == 0
    assert not connection.is_in_transaction()

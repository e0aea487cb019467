"""Ctrl-C at every step of entering and leaving a block: no transaction stays open unnoticed.

A trace function raises KeyboardInterrupt at one call, line or return of the blocking classes after
the other, like a signal between any two steps.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import colonnade.sync
from colonnade._driver._sync.pipeline import Pipeline
from colonnade._driver._sync.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

Block = Callable[[colonnade.sync.Connection], None]
ROOM = str(Path(colonnade.__file__).parent / "_driver" / "_sync")
ENDS = "__enter__", "__exit__"


@pytest.fixture
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TEMPORARY TABLE t (i int)")
        yield connection


class Striking:
    """Raises KeyboardInterrupt at the step of this number, within functions of these names."""

    def __init__(self, step: int, *names: str) -> None:
        self.steps_left = step
        self._names = names

    def __enter__(self) -> None:
        self._former = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._former)

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ROOM) or not is_within(self._names, frame):
            return None
        if is_within(("__del__",), frame):
            # Finalizers of a connection that was given up before: an interrupt here reaches
            # nothing.
            return None
        self.steps_left -= 1
        if self.steps_left < 0:
            # The interpreter does not call a trace function again after it has raised.
            raise KeyboardInterrupt
        return self._trace


def is_within(names: tuple[str, ...], frame: FrameType) -> bool:
    """Whether one of the functions is running."""
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


BLOCKS: dict[Block, Any] = {
    transaction: Transaction,
    nested: Transaction,
    pipeline: Pipeline,
    stream: colonnade.sync.ColumnStream,
}


def left(connection: colonnade.sync.Connection, dsn: str) -> colonnade.sync.Connection:
    """Check that the connection has nothing open; return it, or a new one if it was closed."""
    if connection.is_closed():
        connection = colonnade.sync.connect(dsn)
        connection.execute("CREATE TEMPORARY TABLE t (i int)")
    assert not connection.is_in_transaction()
    before = connection.fetchval("SELECT count(*) FROM t")
    assert connection.execute("INSERT INTO t VALUES (1)") == "INSERT 0 1"
    connection.execute("ROLLBACK")
    # If the transaction had stayed open, the row would have been rolled back.
    assert connection.fetchval("SELECT count(*) FROM t") == before + 1
    return connection


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_that_is_struck_is_left(
    dsn: str, connection: colonnade.sync.Connection, block: Block
) -> None:
    block(connection)
    closed = 0
    for step in count():
        striking = Striking(step, *ENDS)
        with contextlib.suppress(KeyboardInterrupt), striking:
            block(connection)
        if striking.steps_left >= 0:
            break
        closed += connection.is_closed()
        connection = left(connection, dsn)
    assert step > 10
    # The connection is closed only if its state is unknown: between the socket and the session.
    assert closed <= step / 5
    connection.close()


@pytest.mark.parametrize("block", BLOCKS)
def test_giving_up_what_was_struck_is_struck_as_well(
    dsn: str,
    connection: colonnade.sync.Connection,
    block: Block,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    abandon = BLOCKS[block]._abandon
    again: list[Striking] = []

    def struck(self: Any, error: BaseException) -> None:
        if again:
            again.pop().__enter__()
        abandon(self, error)

    monkeypatch.setattr(BLOCKS[block], "_abandon", struck)
    for step in count():
        striking = Striking(step, "_abandon")
        again.append(striking)
        with contextlib.suppress(KeyboardInterrupt), Striking(0, "__exit__"):
            block(connection)
        assert not again, "nothing was given up"
        if striking.steps_left >= 0:
            break
        connection = left(connection, dsn)
    assert step > 2
    connection.close()


def test_an_exit_stack_has_the_same_blocks(connection: colonnade.sync.Connection) -> None:
    def struck_at_the_end() -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(connection.transaction())
            connection.execute("INSERT INTO t VALUES (1)")
            Striking(0, *ENDS).__enter__()

    with pytest.raises(KeyboardInterrupt):
        struck_at_the_end()
    with contextlib.ExitStack() as stack:
        stack.enter_context(connection.transaction())
        connection.execute("INSERT INTO t VALUES (2)")
    assert [i for (i,) in connection.fetch("SELECT i FROM t")] == [2]
    with contextlib.ExitStack() as stack:
        queries = stack.enter_context(connection.pipeline())
        answer = queries.fetchval("SELECT 3")
    assert answer.result() == 3
    with contextlib.ExitStack() as stack:
        batches = stack.enter_context(connection.iter_columns("SELECT 4"))
        assert [len(batch) for batch in batches] == [1]
    assert next(iter(inspect.signature(Transaction.__exit__).parameters)) == "self"


def test_the_first_step_of_leaving(connection: colonnade.sync.Connection) -> None:
    def struck_at_the_end() -> None:
        with connection.transaction():
            connection.execute("INSERT INTO t VALUES (1)")
            Striking(0, *ENDS).__enter__()

    with pytest.raises(KeyboardInterrupt):
        struck_at_the_end()
    assert not connection.is_closed()
    assert connection.fetchval("SELECT count(*) FROM t") == 0
    assert not connection.is_in_transaction()


@pytest.mark.parametrize("call", ["fetchval", "fetch_columns", "execute"])
def test_a_struck_first_call_leaves_the_connection(dsn: str, call: str) -> None:
    """No earlier call has recorded the connection's thread."""
    for step in count():
        with colonnade.sync.connect(dsn) as fresh:
            strike = Striking(step, "ask")
            with contextlib.suppress(KeyboardInterrupt), strike:
                getattr(fresh, call)("SELECT 1")
            assert fresh.is_closed() or fresh.fetchval("SELECT 2") == 2
        if strike.steps_left >= 0:
            break
    assert step > 5

"""One statement for many sets of arguments, sent without waiting for each answer."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterable, Iterable
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade._driver.sql.sql_text import is_copy_in
from colonnade._words.arguments import check_values
from colonnade.errors import InterfaceError, PostgresError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.own_statement import OwnStatement
    from colonnade._driver._async.row_making import RecordClass

    Arguments = Iterable[Sequence[Any]] | AsyncIterable[Sequence[Any]]
    Begin = Callable[[_core.Statement], _core.ManyArguments]

# The amount encoded at once, and then passed to the socket: large enough to make the call and the
# turn of the loop negligible, small enough not to hold the loop.
CHUNK_BYTES = 64 * 1024

# The number of rows collected from an asynchronous source at once.
GATHERED_ROWS_MAX = 64


def declared(types: Sequence[int | None] | None) -> tuple[int, ...]:
    """The declared OIDs: 0 for a type that the server infers."""
    if not types:
        return ()
    check_values("parameter_types", types)
    return tuple(oid or 0 for oid in types)


def fetching_many(conversation: Conversation, record_class: RecordClass) -> Begin:
    """The function that begins a statement whose rows are wanted."""

    def begin(statement: _core.Statement) -> _core.ManyArguments:
        return conversation.session.fetch_many(statement, record_class)

    return begin


async def run_many(
    conversation: Conversation,
    query: str,
    args: Arguments,
    begin: Begin,
    *,
    types: tuple[int, ...] = (),
    own: OwnStatement | None = None,
) -> _core.Completion:
    """Within an operation: prepare a text unless it is known, and run it for each set.

    `own` is the statement to run, if its caller has prepared it.
    """

    async def start(statement: _core.Statement) -> _core.Completion:
        return await _many(conversation, statement, args, begin)

    if not hasattr(type(args), "__aiter__"):
        check_values("args", args)
    is_used_up = hasattr(args, "__next__") or hasattr(args, "__anext__")
    completion: _core.Completion = await conversation.started(
        query, start, types, own=own, can_repeat=not is_used_up
    )
    return completion


async def _many(
    conversation: Conversation,
    statement: _core.Statement,
    args: Arguments,
    begin: Begin,
) -> _core.Completion:
    """Within an operation: run a statement for each set."""
    check_many(statement)
    rows = _rows(args)
    arguments = begin(statement)
    try:
        await _send_rows(conversation, arguments, rows)
    except Exception:
        await _give_up_many(conversation)
        raise
    conversation.session.end_many()
    return await conversation.completion()


async def _send_rows(conversation: Conversation, arguments: _core.ManyArguments, rows: Any) -> None:
    """Send an iterator's rows, until they end or the server refuses more."""
    # async-only: begin
    if isinstance(rows, AsyncIterable):
        async for gathered in _gathered(rows):
            await _send_rows(conversation, arguments, iter(gathered))
            await conversation.transport.flush()
        return
    # async-only: end
    while conversation.session.send_many(arguments, rows, CHUNK_BYTES):
        await conversation.transport.flush()
        # A socket that accepts everything must not starve the loop's other tasks.
        await conversation.transport.give_turn()


async def _give_up_many(conversation: Conversation) -> None:
    """Have the server undo the series."""
    conversation.session.give_up_many()
    # The caller gets the first failure, not this one.
    with contextlib.suppress(PostgresError):
        await conversation.completion()


def check_many(statement: _core.Statement) -> None:
    """Refuse a COPY: the server would read the second execution as data, and disconnect."""
    if not statement.columns and is_copy_in(statement.sql):
        msg = "a COPY from STDIN cannot run as a query: use the copy methods"
        raise InterfaceError(msg)


def _rows(args: Arguments) -> Any:
    # async-only: begin
    if isinstance(args, AsyncIterable):
        return args
    # async-only: end
    return iter(args)


# async-only: begin
async def _gathered(rows: AsyncIterable[Any]) -> AsyncIterator[list[Any]]:
    gathered: list[Any] = []
    async for row in rows:
        gathered.append(row)
        if len(gathered) >= GATHERED_ROWS_MAX:
            yield gathered
            gathered = []
    yield gathered


# async-only: end

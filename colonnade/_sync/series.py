# Generated from colonnade/_async/series.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""One statement for many sets of arguments, sent without waiting for the answers in between."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade._arguments import check_values
from colonnade._sql_text import is_copy_in
from colonnade.errors import InterfaceError, PostgresError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade._sync.conversation import Conversation
    from colonnade._sync.row_making import RecordClass

    Arguments = Iterable[Sequence[Any]] | Iterable[Sequence[Any]]
    Begin = Callable[[_core.Statement], _core.ManyArguments]

# What is encoded in one go, and then handed to the socket: large enough that the call and the turn
# of the loop behind it are nothing, small enough to be no hold.
CHUNK_BYTES = 64 * 1024

# Rows of an asynchronous source that are gathered for one go.
GATHERED_ROWS_MAX = 64


def declared(types: Sequence[int | None] | None) -> tuple[int, ...]:
    """The OIDs that are declared: 0 for what is the server's to infer."""
    if not types:
        return ()
    check_values("parameter_types", types)
    return tuple(oid or 0 for oid in types)


def fetching_many(conversation: Conversation, record_class: RecordClass) -> Begin:
    """What begins a statement whose rows are wanted."""

    def begin(statement: _core.Statement) -> _core.ManyArguments:
        return conversation.session.fetch_many(statement, record_class)

    return begin


def run_many(
    conversation: Conversation,
    query: str,
    args: Arguments,
    begin: Begin,
    *,
    types: tuple[int, ...] = (),
) -> _core.Completion:
    """Within an operation: prepare a text unless it is known, and run it for each set."""

    def start(statement: _core.Statement) -> _core.Completion:
        return many(conversation, statement, args, begin)

    is_used_up = hasattr(args, "__next__") or hasattr(args, "__next__")
    completion: _core.Completion = conversation.started(
        query, start, types, can_repeat=not is_used_up
    )
    return completion


def many(
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
        _send_rows(conversation, arguments, rows)
    except Exception:
        _give_up_many(conversation)
        raise
    conversation.session.end_many()
    return conversation.completion()


def _send_rows(conversation: Conversation, arguments: _core.ManyArguments, rows: Any) -> None:
    """Send what an iterator gives, until the server wants no more of it."""
    while conversation.session.send_many(arguments, rows, CHUNK_BYTES):
        conversation.transport.flush()
        # A socket that takes everything must not keep the loop from its other tasks.
        conversation.transport.give_turn()


def _give_up_many(conversation: Conversation) -> None:
    """Have the server undo what was begun."""
    conversation.session.give_up_many()
    # The caller learns of the first failure, which was not this one.
    with contextlib.suppress(PostgresError):
        conversation.completion()


def check_many(statement: _core.Statement) -> None:
    """Refuse a COPY: the server would take its second execution for data, and hang up."""
    if not statement.columns and is_copy_in(statement.sql):
        msg = "a COPY from STDIN cannot run as a query: use the copy methods"
        raise InterfaceError(msg)


def _rows(args: Arguments) -> Any:
    return iter(args)

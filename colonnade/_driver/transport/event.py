"""The events of a session's exchange, for both transports."""

from __future__ import annotations

from colonnade import _core
from colonnade.errors import InternalClientError

Event = _core.Batch | _core.CopyIn | _core.GssToken | _core.Completion | bytes


def impossible(expected: str, event: object) -> InternalClientError:
    """The error of an exchange with an impossible event.

    It is a defect of this library, even if the caller or the server provoked it.
    """
    return InternalClientError(f"expected {expected}, got {event!r}: this is a defect of Colonnade")


def completion_of(event: object) -> _core.Completion:
    """The end of an exchange."""
    if isinstance(event, _core.Completion):
        return event
    raise impossible("the end of the exchange", event)


def batch_of(event: object) -> _core.Batch:
    """The columns of a whole result, which ends its exchange."""
    if not isinstance(event, _core.Completion) or event.batch is None:
        raise impossible("columns", event)
    return event.batch


def statement_of(completion: _core.Completion) -> _core.Statement:
    """The statement prepared by an exchange."""
    if completion.statement is None:
        raise impossible("a prepared statement", completion)
    return completion.statement

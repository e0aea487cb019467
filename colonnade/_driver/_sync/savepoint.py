# Generated from colonnade/_driver/_async/savepoint.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A part of a transaction that leaves nothing behind if it fails.

Queues of jobs have one of their own, because they use public names of the driver only.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError, PostgresError

if TYPE_CHECKING:
    from collections.abc import Generator

# A limit of time for the connection's queries must not prevent the rollback.
_ROLLBACK_S = 10.0


@contextmanager
def savepoint(connection: Any, name: str) -> Generator[None, None]:
    """Roll back to here if the block fails.

    It is an SQL savepoint, because `connection.transaction()` takes no part in a transaction that
    was begun by hand or by another library.
    """
    connection.execute(f"SAVEPOINT {name}")
    try:
        yield
    except BaseException as error:
        _roll_back(connection, name, error)
        raise
    connection.execute(f"RELEASE SAVEPOINT {name}")


def _roll_back(connection: Any, name: str, error: BaseException) -> None:
    """Roll back to the savepoint, unless the connection or the transaction has ended."""
    if connection.is_closed() or not connection.is_in_transaction():
        return
    back = f"ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}"
    try:
        connection.execute(back, timeout=_ROLLBACK_S)
    except (OSError, PostgresError, InterfaceError) as failure:
        error.add_note(f"The savepoint {name} could not be restored: {failure!r}")

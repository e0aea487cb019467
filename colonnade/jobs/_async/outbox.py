"""The caller's transaction, even one begun by another library or by hand."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError, PostgresError
from colonnade.jobs._tasks.asyncio import check_connection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_NAME = "colonnade_jobs"
# A limit of time for the connection's queries must not prevent the rollback.
_ROLLBACK_S = 10.0


def in_transaction(verb: str, connection: Any, instead: str) -> Any:
    """Return the driver's connection, which has an open transaction.

    `connection` may wrap it, as that of `colonnade.dbapi`, which begins its transaction now. Raises
    InterfaceError, with the remedy, if there is none.
    """
    if hasattr(connection, "__colonnade_connection__"):
        connection = connection.__colonnade_connection__()
    check_connection(verb, connection)
    if not connection.is_in_transaction():
        msg = (
            f"{verb} needs a connection with an open transaction; {instead}. SQLAlchemy begins its"
            " transaction with the first statement: flush the session, or execute one, before"
        )
        raise InterfaceError(msg)
    return connection


@asynccontextmanager
async def savepoint(connection: Any) -> AsyncGenerator[None]:
    """A part of the transaction that leaves nothing behind if it fails.

    It is an SQL savepoint, because `connection.transaction()` takes no part in a transaction that
    was begun by hand or by another library.
    """
    await connection.execute(f"SAVEPOINT {_NAME}")
    try:
        yield
    except BaseException as error:
        await _roll_back(connection, error)
        raise
    await connection.execute(f"RELEASE SAVEPOINT {_NAME}")


async def _roll_back(connection: Any, error: BaseException) -> None:
    """Roll back to the savepoint, unless the connection or the transaction has ended."""
    if connection.is_closed() or not connection.is_in_transaction():
        return
    back = f"ROLLBACK TO SAVEPOINT {_NAME}; RELEASE SAVEPOINT {_NAME}"
    try:
        await connection.execute(back, timeout=_ROLLBACK_S)
    except (OSError, PostgresError, InterfaceError) as failure:
        error.add_note(f"The savepoint before add() could not be restored: {failure!r}")

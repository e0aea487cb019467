"""One operation at a time, each with a limit in time and an end that leaves no doubt."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from colonnade import _core
from colonnade._shown import shown
from colonnade._sql_text import is_read
from colonnade._transport.asyncio import deadline
from colonnade._transport.farewell import closed_error
from colonnade.errors import (
    EncodeError,
    FeatureNotSupportedError,
    InvalidSQLStatementNameError,
    PostgresError,
)
from colonnade.errors._place import ComposedSql, note_place

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._async.connection import Connection


# How the server refuses a statement that it no longer takes: the shape of its result has changed,
# or it was deallocated.
STALE_PLAN = (FeatureNotSupportedError, InvalidSQLStatementNameError)


# A longer time is no limit: operating systems count what they wait for in 31 bits of milliseconds.
LONGEST_WAIT_S = 2_000_000


def may_run_again(error: PostgresError, query: str) -> bool:
    """Whether a query that is refused as stale may be run again without harm.

    The server refuses a statement before anything runs. An error with such a code that comes out of
    a function says where it was, and a procedure may have committed before. Where the client could
    not read the rows, the query has run: then only one that reads may run again.
    """
    return is_read(query) if error.severity is None else error.context is None


def checked_timeout(timeout: float | None) -> float | None:
    """The timeout in seconds, or an error that says what a timeout can be."""
    if timeout is None:
        return None
    if not _is_number(timeout):
        msg = f"invalid timeout value: expected a number of seconds or None, got {shown(timeout)}"
        raise ValueError(msg)
    return None if timeout > LONGEST_WAIT_S else float(timeout)


def _is_number(value: object) -> bool:
    # NaN is not even below infinity.
    return not isinstance(value, bool) and isinstance(value, int | float) and value <= math.inf


def may_encode_again(error: EncodeError) -> bool:
    """Whether a second time could end better, as where the server has altered a type.

    An argument that changed while it was encoded would be found settled, and be sent.
    """
    return not isinstance(error.__cause__, _core.ChangedError)


def name_query(error: BaseException | None, query: str | None) -> None:
    """Tell an error of the server which statement was running, unless it knows."""
    if isinstance(error, PostgresError) and error.query is None:
        error.query = query
        if query is not None:
            note_place(error, query)


def name_limit(
    error: BaseException | None, what: str, seconds: float | None, usual: float | None = None
) -> None:
    """Write into a TimeoutError which wait ended and after how long, if it has no text yet.

    `usual` is the connection's own limit, which the error names where it was in force.
    """
    if isinstance(error, TimeoutError) and not error.args and seconds is not None:
        source = " (command_timeout)" if seconds == usual else ""
        error.args = (f"{what} within {seconds:g} s{source}",)


class CallHold:
    """Stands for a call that has the connection for one exchange; the calls' own, one by one."""

    def __init__(self) -> None:
        self.thread = 0


class StreamHold:
    """Stands for a stream that has the connection, and does not keep that stream alive."""

    hint = "A stream of columns is open: read it to its end, or close it."

    def __init__(self) -> None:
        self.is_waiting = False

    def is_at_work(self) -> bool:
        """Whether a call is inside the stream at this moment."""
        return self.is_waiting


class Operation:
    """A block during which a connection belongs to one caller.

    Leaving it by an exception (an error, a timeout, a cancelled task, Ctrl-C) gives up the exchange
    that is still under way: the query is cancelled on the server, and the connection is usable
    again or closed before anybody else gets to use it.
    """

    def __init__(
        self, connection: Connection, timeout: float | None, query: str | None = None
    ) -> None:
        self._connection = connection
        self._query = query
        self._timeout = timeout
        self._deadline = None if timeout is None else deadline(timeout)
        self._is_entered = False
        self.thread = threading.get_ident()

    async def __aenter__(self) -> None:
        """Take the connection, and start the clock."""
        connection = self._connection
        try:
            await connection._put_away_left_over()  # noqa: SLF001
            connection._take(self)  # noqa: SLF001 - an operation is the connection's own guard
            if self._deadline is not None:
                self._is_entered = True
                await self._deadline.__aenter__()
            await connection._transport.settled()  # noqa: SLF001
        except BaseException as error:
            await self._leave(type(error), error, error.__traceback__)
            raise
        if connection.is_closed():
            await self._leave(None, None, None)
            raise closed_error(connection._session)  # noqa: SLF001

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the connection back."""
        if error is not None:
            name_query(error, self._query)
            self._connection._transport.abandon()  # noqa: SLF001
        await self._leave(kind, error, traceback)

    async def _leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._deadline is not None and self._is_entered:
                await self._deadline.__aexit__(kind, error, traceback)
                if self._deadline.expired():
                    # The blocking deadline ends the wait itself.
                    self._name_limit(error)
        except TimeoutError as late:
            self._name_limit(late)
            raise
        finally:
            self._connection._give_back(self)  # noqa: SLF001

    def _name_limit(self, error: BaseException | None) -> None:
        if self._query is None:
            what = "the call"
        else:
            what = "the COPY" if isinstance(self._query, ComposedSql) else "the query"
        usual = self._connection._command_timeout  # noqa: SLF001
        name_limit(error, f"{what} did not end", self._timeout, usual)

    async def put_away(self) -> None:
        """Finish what an operation could not that Ctrl-C kept from giving the connection back."""
        await self._leave(None, None, None)

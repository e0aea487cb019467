# Generated from colonnade/_driver/_async/cursor.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Cursors: the rows of a query piece by piece, with other queries in between."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Generic, Self

from colonnade._columns.schema import asked_of, asked_types
from colonnade._driver._sync.resource import ConnectionResource, guarded
from colonnade._driver._sync.row_making import asked_once, made_rows
from colonnade._driver.sql.quoting import quote_identifier
from colonnade._driver.sql.sql_text import is_read
from colonnade._driver.transport.event import batch_of, completion_of
from colonnade._words.arguments import whole
from colonnade._words.shown import shown
from colonnade.columns import Columns
from colonnade.errors import (
    InterfaceError,
    InterfaceValueError,
    InvalidCachedStatementError,
    NoActiveSQLTransactionError,
)
from colonnade.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade import _core
    from colonnade._columns.schema import Schema
    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver._sync.own_statement import OwnStatement
    from colonnade.rows import RowFactory
    from colonnade.types import Infinity

_PREFETCH_ROWS = 50
_SHOWN_CHARACTERS = 30
# The largest number of rows that the protocol can request.
ROWS_MAX = 2**31 - 1


class CursorFactory(ConnectionResource, Generic[Row]):
    """A cursor that is not open yet; made by `Connection.cursor`.

    `for` iterates over its rows. `await`, or `open`, makes it a `Cursor`.
    """

    def __init__(
        self,
        conversation: Conversation,
        query: str,
        own: OwnStatement | None,
        args: tuple[object, ...],
        *,
        prefetch: int | None,
        timeout: float | None,
        record_class: type[_core.Record | tuple[Any, ...]] | None,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        super().__init__(conversation)
        if prefetch is not None:
            whole("prefetch", prefetch)
        self._query = query
        self._own = own
        self._args = args
        self._prefetch = prefetch
        self._timeout = timeout
        self._record_class = record_class
        self._row_factory = asked_once(row_factory)

    @guarded
    def __iter__(self) -> CursorIterator[Row]:
        """Iterate over the rows, from the first on."""
        prefetch = _PREFETCH_ROWS if self._prefetch is None else self._prefetch
        if prefetch <= 0:
            msg = f"prefetch argument must be greater than zero, not {shown(prefetch)}"
            raise InterfaceValueError(msg)
        return self._iterator(prefetch)

    @guarded
    def open(self) -> Cursor[Row]:
        """Open the cursor; rows are fetched from it by hand."""
        return self._opened()

    def _opened(self) -> Cursor[Row]:
        if self._prefetch is not None:
            msg = "prefetch argument can only be specified for iterable cursor"
            raise InterfaceValueError(msg)
        return _bound(self._cursor(), self._timeout)

    def _iterator(self, prefetch: int) -> CursorIterator[Row]:
        return CursorIterator(
            self._conversation,
            self._query,
            self._own,
            self._args,
            self._record_class,
            row_factory=self._row_factory,
            prefetch=prefetch,
            timeout=self._timeout,
        )

    def _cursor(self) -> Cursor[Row]:
        return Cursor(
            self._conversation,
            self._query,
            self._own,
            self._args,
            self._record_class,
            row_factory=self._row_factory,
        )


class BaseCursor(ConnectionResource, Generic[Row]):
    """The common part of cursors: a portal, and its position."""

    def __init__(
        self,
        conversation: Conversation,
        query: str,
        own: OwnStatement | None,
        args: tuple[object, ...],
        record_class: type[_core.Record | tuple[Any, ...]] | None,
        *,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        super().__init__(conversation)
        self._query = query
        self._args = args
        self._record_class = record_class
        self._row_factory = asked_once(row_factory)
        self._own = own
        self._portal: _core.Portal | None = None
        self._exhausted = False
        self._is_torn = False

    def _bind(self, timeout: float | None) -> None:
        """Open the portal."""
        conversation = self._conversation

        def begin(statement: _core.Statement) -> None:
            self._portal = self._bound(statement)

        with conversation.operation(timeout, self._query, self._args):
            self._check_transaction()
            completion_of(self._first_event(begin))

    def _bound(self, statement: _core.Statement) -> _core.Portal:
        return self._conversation.session.bind(statement, self._args)

    def _bind_exec(self, n: int, timeout: float | None) -> list[Any]:
        """Open the portal, and fetch the first rows in the same round trip."""
        conversation = self._conversation

        def begin(statement: _core.Statement) -> None:
            self._portal = conversation.session.open_rows(
                statement, self._args, n, self._record_class
            )

        with conversation.operation(timeout, self._query, self._args):
            self._check_transaction()
            completion = completion_of(self._first_event(begin))
        return self._made(self._taken(completion))

    def _exec(self, n: int, timeout: float | None) -> list[Any]:
        """Fetch the next rows."""
        conversation = self._conversation
        with conversation.operation(timeout, self._query, self._args):
            conversation.session.more_rows(self._usable(), min(n, ROWS_MAX), self._record_class)
            completion = completion_of(self._next_event())
        return self._made(self._taken(completion))

    def _taken(self, completion: _core.Completion) -> list[Any]:
        self._exhausted = not completion.has_more
        return completion.rows or []

    def _made(self, records: list[Any]) -> list[Any]:
        return made_rows(self._conversation.transport, records, self._row_factory)

    def _first_event(self, begin: Callable[[_core.Statement], None]) -> object:
        conversation = self._conversation
        try:
            return conversation.run(self._query, begin, own=self._own)
        except InvalidCachedStatementError:
            # The text was sent along, and its columns differ from the remembered ones. The exchange
            # that was begun in vain must not have changed anything.
            is_lost = conversation.session.transaction_status == "failed"
            if self._own is not None or is_lost or not is_read(self._query):
                raise
        return conversation.run(self._query, begin)

    def _next_event(self) -> object:
        """The next event of a fetch. After a failure the portal's position is unknown."""
        try:
            return self._conversation.transport.next_event()
        except BaseException:
            self._is_torn = True
            raise

    def _usable(self) -> _core.Portal:
        """The portal, within its transaction."""
        self._check_transaction()
        if self._portal is None:
            msg = "cursor is not open"
            raise InterfaceError(msg)
        # In a failed transaction the server reports the error.
        if self._is_torn and self._conversation.session.transaction_status != "failed":
            msg = "cannot fetch from the cursor: an earlier fetch failed, and its rows are lost"
            raise InterfaceError(msg, hint="Open a new cursor, and move it forward if necessary.")
        return self._portal

    def _check_transaction(self) -> None:
        if not self._conversation.is_in_transaction:
            msg = "cursor cannot be created outside of a transaction"
            raise NoActiveSQLTransactionError(msg)

    def __repr__(self) -> str:
        """The beginning of its query, and whether it has ended."""
        words = [f'colonnade.{type(self).__name__} "{self._query[:_SHOWN_CHARACTERS]}"']
        if self._exhausted:
            words.append("exhausted")
        return f"<{' '.join(words)} {id(self):#x}>"


def _bound(self: Cursor[Row], timeout: float | None) -> Cursor[Row]:
    """The cursor, with its portal open."""
    self._bind(timeout)
    return self


class CursorIterator(BaseCursor[Row]):
    """The rows of a cursor one after the other; made by `for` over a `CursorFactory`."""

    def __init__(
        self,
        conversation: Conversation,
        query: str,
        own: OwnStatement | None,
        args: tuple[object, ...],
        record_class: type[_core.Record | tuple[Any, ...]] | None,
        *,
        row_factory: RowFactory[Any] | None = None,
        prefetch: int,
        timeout: float | None,
    ) -> None:
        super().__init__(conversation, query, own, args, record_class, row_factory=row_factory)
        self._buffer: deque[Row] = deque()
        self._prefetch = min(prefetch, ROWS_MAX)
        self._timeout = timeout

    def _taken(self, completion: _core.Completion) -> list[Any]:
        rows = super()._taken(completion)
        if self._exhausted:
            # The server closes it together with the next query.
            self._portal = None
        return rows

    def __iter__(self) -> Self:
        """The cursor itself."""
        return self

    @guarded
    def __next__(self) -> Row:
        """The next row."""
        if not self._buffer:
            if self._exhausted:
                raise StopIteration
            fetch = self._bind_exec if self._portal is None else self._exec
            self._buffer.extend(fetch(self._prefetch, self._timeout))
            if not self._buffer:
                raise StopIteration
        return self._buffer.popleft()


class Cursor(BaseCursor[Row]):
    """An open cursor; made by awaiting a `CursorFactory`.

    It lives as long as the transaction. Other queries and other cursors may run in between.
    `timeout`, in seconds, limits a single call; None means the connection's `command_timeout`.
    """

    @guarded
    def fetch(self, n: int, *, timeout: float | None = None) -> list[Row]:
        """The next `n` rows as a list of `Record`; fewer at the end.

        Raises InterfaceValueError if `n` is less than 1.
        """
        check_count(n)
        if self._exhausted:
            self._check_transaction()
            return []
        return self._exec(n, timeout)

    @guarded
    def fetchrow(self, *, timeout: float | None = None) -> Row | None:
        """The next row as a `Record`, or None at the end."""
        if self._exhausted:
            self._check_transaction()
            return None
        rows = self._exec(1, timeout)
        return rows[0] if rows else None

    @guarded
    def fetch_columns(
        self,
        n: int,
        *,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        timeout: float | None = None,
    ) -> Columns:
        """The next `n` rows as `Columns`; fewer at the end.

        `schema` and `infinity` are as in `Connection.fetch_columns`. A type that requires another
        format than the cursor was opened with raises SchemaError.
        """
        check_count(n)
        conversation = self._conversation
        with conversation.operation(timeout, self._query, self._args):
            overrides, limit = asked_types(schema), min(n, ROWS_MAX)
            conversation.session.more_batches(self._usable(), limit, overrides, infinity)
            try:
                completion = conversation.completion()
            except BaseException:
                self._is_torn = True
                raise
        self._exhausted = not completion.has_more
        return Columns(conversation.decoded(batch_of(completion)), asked_of(schema))

    @guarded
    def forward(self, n: int, *, timeout: float | None = None) -> int:
        """Skip the next `n` rows without fetching them, and return their number.

        Raises InterfaceValueError if `n` is less than 1.
        """
        check_count(n)
        if self._exhausted:
            self._check_transaction()
            return 0
        conversation = self._conversation
        n = min(n, ROWS_MAX)
        with conversation.operation(timeout, f"MOVE FORWARD {n:d}"):
            name = quote_identifier(self._usable().name)
            conversation.session.script(f"MOVE FORWARD {n:d} IN {name}")
            completion = completion_of(self._next_event())
        moved = int((completion.tag or "MOVE 0").split()[-1])
        self._exhausted = moved < n
        return moved


def check_count(n: int) -> None:
    """Refuse to fetch no rows."""
    whole("n", n)
    if n <= 0:
        msg = f"n must be greater than zero, not {shown(n)}"
        raise InterfaceValueError(msg)

"""PEP 249's Cursor."""

# ruff: noqa: SLF001 - a cursor is a part of its connection

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from colonnade.dbapi._description import Column, described
from colonnade.dbapi.errors import InterfaceError, ProgrammingError
from colonnade.dbapi.parameters import adapted, adapted_many
from colonnade.dbapi.placeholders import is_script

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.dbapi.connection import Connection
    from colonnade.dbapi.placeholders import Parameters
    from colonnade.rows import RowFactory, RowMaker
    from colonnade.types import Attribute

__all__ = ["Cursor"]

# The commands whose status ends in the number of rows that they were about.
_COUNTED = re.compile(r"(?:INSERT \d+|SELECT|UPDATE|DELETE|MERGE|FETCH|MOVE|COPY) (?P<rows>\d+)\Z")


class Cursor:
    """Runs queries, and hands out their rows; made by `Connection.cursor`.

    `execute` waits for the whole result, so that errors come from there. Cursors of one connection
    share its transaction.
    """

    rowcount: int
    """How many rows the last query was about; -1 where that is not known."""
    statusmessage: str | None
    """The server's word for what was done, such as `INSERT 0 1`."""
    _rows: list[Any] | None
    _position: int
    _attributes: tuple[Attribute, ...]
    _modifiers: tuple[int, ...]
    _columns: list[Column] | None
    _make: RowMaker[Any] | None

    def __init__(
        self, connection: Connection, *, row_factory: RowFactory[Any] | None = None
    ) -> None:
        self._connection = connection
        self._driver = connection.driver_connection
        self.row_factory = row_factory
        """Makes the rows: one of `colonnade.rows`; None for tuples."""
        self.arraysize = 1
        """How many rows `fetchmany` gives, unless it is told."""
        self._is_closed = False
        self._forget()

    # Queries

    def execute(self, query: str, params: Parameters | None = None) -> Self:
        """Run a query or a command, and return the cursor.

        Without `params` the text is sent as it is, and may hold several commands. With them, be
        they empty, it has placeholders, and `%%` for a percent sign.
        """
        connection = self._connection
        with connection._guard:
            self._check_open()
            self._forget()
            if params is None:
                if is_script(query):
                    connection._begin()
                    self._ended(self._driver.execute(query))
                    return self
                self._run(query, (), ())
            else:
                text, values = connection.placeholders.translated(query, params)
                self._run(text, *adapted(values))
        return self

    def executemany(self, query: str, params_seq: Iterable[Parameters]) -> None:
        """Run a command once for each set of parameters; rows are thrown away.

        `rowcount` is about all of them together, where the command tells it.
        """
        connection = self._connection
        with connection._guard:
            self._check_open()
            self._forget()
            sets = list(params_seq)
            if not sets:
                self.rowcount = 0
                return
            text, values = connection.placeholders.translated_many(query, sets)
            rows, types = adapted_many(values)
            connection._begin()
            self._driver.executemany(text, rows, parameter_types=types)

    def _run(self, text: str, values: Sequence[Any], types: Sequence[int]) -> None:
        self._connection._begin()
        result = self._driver.fetch_result(text, *values, parameter_types=types, record_class=tuple)
        self._ended(result.status)
        if result.has_rows:
            self._attributes, self._modifiers = result.attributes, result.type_modifiers
            self._rows = result.rows
            self.rowcount = len(result.rows)

    def _ended(self, status: str) -> None:
        self.statusmessage = status or None
        counted = _COUNTED.match(status)
        self.rowcount = int(counted["rows"]) if counted else -1

    # Rows

    def fetchone(self) -> Any:
        """The next row, or None where there is no more."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next rows: `size` of them, or `arraysize`, or as many as there are."""
        with self._connection._guard:
            rows = self._checked_rows()
            start = self._position
            found = rows[start : start + (self.arraysize if size is None else size)]
            self._position += len(found)
            return self._shaped(found)

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        with self._connection._guard:
            rows = self._checked_rows()
            found = rows[self._position :] if self._position else rows
            self._position = len(rows)
            return self._shaped(found)

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left, one by one."""
        while rows := self.fetchmany(1):
            yield from rows

    def _checked_rows(self) -> list[Any]:
        self._check_open()
        if self._rows is None:
            did = self.statusmessage
            raise ProgrammingError(
                "no query was run yet"
                if did is None
                else f"the last command gave no rows (its status is {did})"
            )
        return self._rows

    def _shaped(self, rows: list[Any]) -> list[Any]:
        if self.row_factory is None:
            return rows
        if self._make is None:
            names = tuple(attribute.name for attribute in self._attributes)
            self._make = self.row_factory(names)
        return list(map(self._make, rows))

    # What the last query was

    @property
    def connection(self) -> Connection:
        """The connection that it is on."""
        return self._connection

    @property
    def description(self) -> list[Column] | None:
        """The columns of the result; None where the last command has none."""
        if self._rows is None:
            return None
        if self._columns is None:
            pairs = zip(self._attributes, self._modifiers, strict=True)
            self._columns = [described(attribute, modifier) for attribute, modifier in pairs]
        return self._columns

    @property
    def rownumber(self) -> int | None:
        """How many rows were fetched; None where there is no result."""
        return None if self._rows is None else self._position

    # Its life

    @property
    def closed(self) -> bool:
        """Whether it is closed, or its connection is."""
        return self._is_closed or self._connection.closed

    def close(self) -> None:
        """Throw the rows away; nothing can be done with it any more."""
        self._forget()
        self._is_closed = True

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Nothing: values say what they are."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing: values are as large as they are."""

    def __enter__(self) -> Self:
        """The cursor itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    # Inside

    def _forget(self) -> None:
        """Forget the result of the last query."""
        self.rowcount = -1
        self.statusmessage = None
        self._rows = None
        self._position = 0
        self._attributes = ()
        self._modifiers = ()
        self._columns = None
        self._make = None

    def _check_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the cursor is closed")
        self._connection._check_open()

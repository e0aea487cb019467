"""Server-side cursors: the rows stay on the server until they are fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from colonnade._driver.sql.quoting import quote_identifier, whole_on
from colonnade._pep249.errors import NotSupportedError, ProgrammingError
from colonnade._words.arguments import check_choice
from colonnade.dbapi._description import Column, described
from colonnade.dbapi.cursor import BaseCursor, row_count

if TYPE_CHECKING:
    from colonnade.columns import Columns
    from colonnade.dbapi.placeholders import Parameters
    from colonnade.sync import PreparedStatement
    from colonnade.types import Infinity

__all__ = ["BaseNamedCursor"]

# FETCH and MOVE take a 32-bit count.
_ROWS_MAX = 2**31 - 1


class BaseNamedCursor(BaseCursor):
    """The methods of a server-side cursor, over the state that it shares with its connection."""

    def _give_name(self, name: str, *, scrollable: bool | None, withhold: bool) -> None:
        self.name = name
        self.scrollable = scrollable
        self.withhold = withhold
        self.itersize = 100
        """The number of rows that iteration fetches per round trip."""
        with self._shared.guard:
            self._quoted = quote_identifier(*whole_on(self._driver, name))
        self._is_declared = False
        self._statements: dict[str, PreparedStatement[Any]] = {}

    def execute(self, query: str, params: Parameters | None = None) -> Self:
        """Declare the cursor for a query, and return it. A cursor that is open is closed first.

        Raises the errors of `Cursor.execute`.
        """
        shared = self._shared
        with shared.guard:
            self._prepare(query)
            self._end_declared()
            text, values, types = shared.with_values(query, params)
            shared.begin()
            result = self._driver.fetch_result(
                f"DECLARE {self._quoted} {self._options()} FOR {text}",
                *values,
                parameter_types=types,
            )
            self._is_declared = True
            self.statusmessage = result.status
            attributes = self._statement(_forward(self.itersize)).get_attributes()
            self._columns = [described(attribute, -1) for attribute in attributes]
        return self

    def executemany(
        self, query: str, params_seq: Iterable[Parameters], *, returning: bool = False
    ) -> None:
        """Raise NotSupportedError: a server-side cursor runs one query."""
        del query, params_seq, returning
        raise NotSupportedError("a named cursor runs only one query: use a cursor without a name")

    def fetchone(self) -> Any:
        """Return the next row, or None after the last; one round trip."""
        rows = self._fetched("FORWARD 1")
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """Return up to `size` rows (`arraysize` by default) in one round trip.

        Raises ValueError if `size` is negative.
        """
        count = row_count(self.arraysize if size is None else size)
        if count == 0:
            # FETCH FORWARD 0 would return the last row again.
            self._check_declared()
            return []
        return self._fetched(_forward(count))

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        return self._fetched("FORWARD ALL")

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the remaining rows, `itersize` rows per round trip."""
        if row_count(self.itersize) == 0:
            raise ValueError("itersize must be 1 or more")
        while rows := self._fetched(_forward(self.itersize)):
            yield from rows

    def fetch_columns(self, *, schema: Any = None, infinity: Infinity = "raise") -> Columns:
        """Return the remaining rows as `Columns`, as `Cursor.fetch_columns` does."""
        with self._shared.guard:
            statement = self._statement("FORWARD ALL")
            columns = statement.fetch_columns(schema=schema, infinity=infinity)
            self._position += columns.num_rows
            return columns

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Move by `value` rows, or with `mode` "absolute" to row `value`, as MOVE does.

        After the last row, fetches return nothing. Moving backwards needs `scrollable`.
        """
        check_choice("mode", mode, ("relative", "absolute"))
        with self._shared.guard:
            self._check_declared()
            value = max(-_ROWS_MAX, min(value, _ROWS_MAX))
            self._driver.execute(f"MOVE {mode.upper()} {value:d} FROM {self._quoted}")
            self._position = max(0, self._position + value if mode == "relative" else value)

    def close(self) -> None:
        """Close the cursor, and also on the server if its transaction is still open."""
        if not self._is_closed and not self._driver.is_closed():
            with self._shared.guard:
                self._end_declared()
        super().close()

    @property
    def description(self) -> list[Column] | None:
        """The columns of the query; None before `execute`."""
        return self._columns

    @property
    def rownumber(self) -> int | None:
        """The index of the next row, from 0; None before `execute`."""
        return self._position if self._is_declared else None

    def __next__(self) -> Any:
        """Return the next row; one round trip, as `fetchone`."""
        rows = self._fetched("FORWARD 1")
        if not rows:
            raise StopIteration
        return rows[0]

    # Internals

    def _options(self) -> str:
        words = []
        if self.scrollable is not None:
            words.append("SCROLL" if self.scrollable else "NO SCROLL")
        words.append("CURSOR")
        if self.withhold:
            words.append("WITH HOLD")
        return " ".join(words)

    def _fetched(self, direction: str) -> list[Any]:
        with self._shared.guard:
            rows = self._statement(direction).fetch()
            self._position += len(rows)
            return self._shaped(rows)

    def _statement(self, direction: str) -> PreparedStatement[Any]:
        """Return the FETCH statement, prepared without a name.

        Each use sends its text again, because a later cursor of the same name may have other
        columns.
        """
        self._check_declared()
        found = self._statements.get(direction)
        if found is None:
            text = f"FETCH {direction} FROM {self._quoted}"
            found = self._driver.prepare(text, name="", record_class=tuple)
            self._statements[direction] = found
        return found

    def _check_declared(self) -> None:
        self._check_open()
        if not self._is_declared:
            raise ProgrammingError("the cursor is not open: no query was run")

    def _end_declared(self) -> None:
        was_declared, self._is_declared = self._is_declared, False
        self._statements.clear()
        is_there = self._driver.transaction_status == "in transaction" or (
            self.withhold and self._driver.transaction_status == "idle"
        )
        if was_declared and is_there:
            query = "SELECT true FROM pg_catalog.pg_cursors WHERE name OPERATOR(pg_catalog.=) $1"
            # The cursor may have ended with an earlier transaction.
            if self._driver.fetch_plain(query, self.name):
                self._driver.execute(f"CLOSE {self._quoted}")


def _forward(count: int) -> str:
    return f"FORWARD {min(count, _ROWS_MAX):d}"

"""The methods of a cursor of PEP 249: it runs queries, and returns their rows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Self

from colonnade._driver.sql.quoting import quote_identifier
from colonnade._pep249.errors import InterfaceError, ProgrammingError
from colonnade._pep249.parameters import adapted_many, without_naive
from colonnade._pep249.scripts import is_script, with_rows
from colonnade._pep249.transactions import run_in_transaction
from colonnade._words.arguments import check_choice
from colonnade._words.shown import full_name
from colonnade.dbapi._description import Column, described
from colonnade.dbapi.adbc_methods import ColumnsMixin

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.dbapi._shared import Shared
    from colonnade.dbapi.placeholders import Parameters
    from colonnade.rows import RowFactory, RowMaker
    from colonnade.sync import HeldResult, Result

__all__ = ["BaseCursor"]

# Commands whose command tag ends with a row count.
_COUNTED = re.compile(r"(?:INSERT \d+|SELECT|UPDATE|DELETE|MERGE|FETCH|MOVE|COPY) (?P<rows>\d+)\Z")


class BaseCursor(ColumnsMixin):
    """The methods of a cursor, over the state that it shares with its connection."""

    rowcount: int
    """The number of rows that the last query returned or changed; -1 if it is not known."""
    statusmessage: str | None
    """The server's command tag, such as `INSERT 0 1`; None before the first query."""
    _held: HeldResult | None
    _rows: list[Any] | None
    _position: int
    _columns: list[Column] | None
    _make: RowMaker[Any] | None
    # The results of a script's later statements, for `nextset`.
    _further: deque[HeldResult]

    def __init__(self, shared: Shared, *, row_factory: RowFactory[Any] | None = None) -> None:
        self._shared = shared
        self._driver = shared.driver
        self.row_factory = row_factory
        """The row factory, one of `colonnade.rows`; None for tuples."""
        self.arraysize = 1
        """The default number of rows of `fetchmany`."""
        self._is_closed = False
        self._forget()

    # Queries

    def execute(self, query: str, params: Parameters | None = None) -> Self:
        """Run a query or a command, and return the cursor.

        Without `params` the text is sent unchanged, and may hold several commands. With `params`,
        even empty ones, `%s` and `%(name)s` are placeholders and `%%` is a percent sign. None is
        sent as NULL.

        Raises ProgrammingError if placeholders and parameters do not match, DataError for a value
        that cannot be encoded. An error of the server raises the class that fits its SQLSTATE.
        """
        with self._shared.guard:
            self._prepare(query)
            if params is None and is_script(query):
                self._run_script(query)
            else:
                self._take(self._run(*self._shared.with_values(query, params)))
        return self

    def executemany(
        self, query: str, params_seq: Iterable[Parameters], *, returning: bool = False
    ) -> None:
        """Run a command once for each set of parameters, all in one round trip.

        `rowcount` is the total over all sets. Rows are discarded, unless `returning` is set: then
        each set takes a round trip and has its own result, and `nextset` moves to the next one.
        Raises the errors of `execute`.
        """
        with self._shared.guard:
            self._prepare(query)
            sets = list(params_seq)
            if not sets:
                self.rowcount = 0
                return
            text, values = self._shared.placeholders.translated_many(query, sets)
            rows, types = adapted_many(values)
            if self._shared.refuses_naive:
                types = without_naive(types)
            if returning:
                self._take_all([self._run(text, row, types) for row in rows])
                return
            # A first statement may be repeated, with the same rows.
            kept = list(rows)

            def run() -> Result:
                return self._driver.fetchmany_result(
                    text, kept, parameter_types=types, record_class=tuple
                )

            shared = self._shared
            self._count(run_in_transaction(shared.begin, run, shared.undo).status)

    def executescript(self, script: str) -> None:
        """Run several commands and discard their rows."""
        with self._shared.guard:
            self._prepare(script)
            self._run_whole(script)

    def callproc(self, procname: str, parameters: Parameters = ()) -> Parameters:
        """Call a function, and return `parameters`. Fetch its result as that of a query.

        A mapping passes the parameters by name. For a procedure, execute `CALL` instead.
        """
        with self._shared.guard:
            name = ".".join(map(quote_identifier, procname.split(".")))
            self._prepare()
            if isinstance(parameters, Mapping):
                words = [
                    f"{quote_identifier(each)} => ${number}"
                    for number, each in enumerate(parameters, 1)
                ]
                values = list(parameters.values())
            else:
                words = [f"${number}" for number in range(1, len(parameters) + 1)]
                values = list(parameters)
            self._take(
                self._run(
                    f"SELECT * FROM {name}({', '.join(words)})", *self._shared.adapted(values)
                )
            )
        return parameters

    def nextset(self) -> bool | None:
        """Move to the next result of several; None if this was the last."""
        with self._shared.guard:
            self._check_open()
            further = self._further
            if not further:
                return None
            self._forget()
            self._take(further.popleft())
            self._further = further
            return True

    def _prepare(self, query: object = "") -> None:
        self._check_open()
        if not isinstance(query, str):
            hint = ": call its as_string(None)" if hasattr(query, "as_string") else ""
            raise TypeError(f"the query must be a str, not {full_name(type(query))}{hint}")
        self._forget()

    def _run(self, text: str, values: Sequence[Any] = (), types: Sequence[int] = ()) -> HeldResult:
        shared = self._shared

        def run() -> HeldResult:
            return self._driver.hold_result(
                text,
                *values,
                parameter_types=types,
                record_class=tuple,
                expect=shared.expects,
            )

        return run_in_transaction(shared.begin, run, shared.undo)

    def _run_whole(self, script: str) -> None:
        self._shared.begin()
        status = self._driver.execute(script)
        self._count(status)

    def _run_script(self, script: str) -> None:
        statements = with_rows(script)
        if statements is None or self._shared.autocommit:
            self._run_whole(script)
        else:
            self._take_all([self._run(statement) for statement in statements])

    def _take_all(self, results: list[HeldResult]) -> None:
        self._take(results[0])
        self._further = deque(results[1:])

    def _take(self, result: HeldResult) -> None:
        """Make it the cursor's result."""
        self._count(result.status)
        if result.has_rows:
            self._held = result
            self.rowcount = result.row_count

    def _count(self, status: str) -> None:
        self.statusmessage = status or None
        counted = _COUNTED.match(status)
        self.rowcount = int(counted["rows"]) if counted else -1

    # Rows

    def fetchone(self) -> Any:
        """Return the next row, or None after the last. Raises ProgrammingError without a result."""
        with self._shared.guard:
            rows = self._all_rows()
            position = self._position
            if position >= len(rows):
                return None
            self._position = position + 1
            row = rows[position]
            return row if self.row_factory is None else self._shaped([row])[0]

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """Return up to `size` rows (`arraysize` by default); an empty list after the last.

        Raises ValueError if `size` is negative.
        """
        count = row_count(self.arraysize if size is None else size)
        with self._shared.guard:
            rows = self._all_rows()
            start = self._position
            found = rows[start : start + count]
            self._position += len(found)
            return self._shaped(found)

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        with self._shared.guard:
            rows = self._all_rows()
            found = rows[self._position :]
            self._position = len(rows)
            return self._shaped(found)

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Move by `value` rows, or with `mode` "absolute" to row `value`, counted from 0.

        Raises IndexError if that is outside of the result, and leaves the cursor where it was.
        """
        with self._shared.guard:
            rows = self._all_rows()
            place = self._position + index(value) if _is_relative(mode) else index(value)
            if not 0 <= place <= len(rows):
                raise IndexError(f"row {place} is outside of a result of {len(rows)} rows")
            self._position = place

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the remaining rows."""
        return self

    def __next__(self) -> Any:
        """Return the next row."""
        rows = self._rows
        if rows is None:
            with self._shared.guard:
                rows = self._all_rows()
        position = self._position
        if position >= len(rows):
            raise StopIteration
        self._position = position + 1
        return rows[position] if self.row_factory is None else self._shaped([rows[position]])[0]

    def _all_rows(self) -> list[Any]:
        rows = self._rows
        if rows is None:
            rows = self._rows = self._checked_result().fetch()
            self._shared.expects = "rows"
        elif self.closed:
            self._check_open()
        return rows

    def _checked_result(self) -> HeldResult:
        self._check_open()
        if self._held is not None:
            return self._held
        if self.statusmessage is None:
            raise ProgrammingError("there is no result: no query was run")
        raise ProgrammingError(
            f"there is no result: the last command returned no rows (its status is "
            f"{self.statusmessage})"
        )

    def _shaped(self, rows: list[Any]) -> list[Any]:
        if self.row_factory is None:
            return rows
        if self._make is None:
            self._make = self.row_factory(tuple(column.name for column in self.description or ()))
        return list(map(self._make, rows))

    # The last query

    @property
    def description(self) -> list[Column] | None:
        """The columns of the result; None if the last command returned none."""
        if self._columns is None and self._held is not None:
            pairs = zip(self._held.attributes, self._held.type_modifiers, strict=True)
            self._columns = [described(attribute, modifier) for attribute, modifier in pairs]
        return self._columns

    @property
    def rownumber(self) -> int | None:
        """The index of the next row, from 0; None if there is no result."""
        return None if self._held is None else self._position

    # Lifetime

    @property
    def closed(self) -> bool:
        """Whether the cursor or its connection is closed."""
        return self._is_closed or self._driver.is_closed()

    def close(self) -> None:
        """Discard the rows; later calls raise InterfaceError."""
        self._forget()
        self._is_closed = True

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing; PEP 249 requires the method. A value's class decides its type."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing; PEP 249 requires the method. Values of any size are fetched."""

    def __enter__(self) -> Self:
        """The cursor itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the cursor."""
        self.close()

    # Internals

    def _forget(self) -> None:
        """Forget the result of the last query."""
        self.rowcount = -1
        self.statusmessage = None
        self._held = None
        self._rows = None
        self._position = 0
        self._columns = None
        self._make = None
        self._further = deque()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the cursor is closed")
        self._shared.check_open()


def row_count(size: int) -> int:
    """Check a number of rows to fetch: TypeError if it is no int, ValueError if negative."""
    count = index(size)
    if count < 0:
        raise ValueError(f"the number of rows to fetch must be 0 or more, not {count}")
    return count


def _is_relative(mode: str) -> bool:
    check_choice("mode", mode, ("relative", "absolute"))
    return mode == "relative"

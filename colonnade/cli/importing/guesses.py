"""Types for the columns of CSV: taken only if every value would come back as it is written."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, NamedTuple

from colonnade._words.shown import shown
from colonnade.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_INT8 = range(-(1 << 63), 1 << 63)
_INTEGER = rb"-?(?:0|[1-9]\d*+)"
# A number of the server has no zeros before it, no plus, no exponent, and no negative zero. It has
# at most 16,383 digits after its point.
_DECIMAL = rb"(?!-0(?:\.0+)?(?![\d.]))-?(?:0|[1-9]\d*+)(?:\.\d{1,16383}+)?"
_DAY = rb"\d{4}-\d\d-\d\d"
_CLOCK = rb"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6}0*+)?"
# A moment comes back as the same moment, though its text may have a T, Z or further zeros.
_MOMENT = _DAY + rb"[ T](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6}0*+)?)?"
_ZONE = rb"(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)"


class Kind(NamedTuple):
    """A type that values of CSV may have."""

    sql: str
    pattern: bytes
    is_right: Callable[[str], bool] = lambda _: True
    """A test of what the pattern cannot tell; for the sample alone: the server refuses the rest."""

    @property
    def told(self) -> str:
        """Its name in messages."""
        return self.sql.removeprefix("pg_catalog.")

    def fits(self, cells: Iterable[bytes]) -> bool:
        """Whether values, perhaps in quotes, print back as they are written."""
        matches = self.cell.fullmatch
        return all(map(matches, cells)) and all(
            self.is_right(cell.strip(b'"').decode()) for cell in cells
        )

    @property
    def cell(self) -> re.Pattern[bytes]:
        """The pattern of a cell."""
        return re.compile(rb'%b|"%b"' % (self.pattern, self.pattern))


def _is_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


_KINDS = (
    Kind("bigint", _INTEGER + rb"(?<!-0)", lambda text: int(text[:21]) in _INT8),
    Kind("numeric", _DECIMAL),
    # As a text of the server, and as its COPY prints it; a column has one of the two.
    Kind("boolean", rb"(?:true|false)"),
    Kind("boolean", rb"[tf]"),
    Kind("pg_catalog.date", _DAY, _is_day),
    Kind("time without time zone", _CLOCK),
    Kind("timestamp without time zone", _MOMENT, _is_day),
    Kind("timestamp with time zone", _MOMENT + _ZONE, _is_day),
)


class Layout:
    """The cells and rows of CSV, as the server splits them."""

    def __init__(self, delimiter: str, null: str) -> None:
        self._delimiter = re.escape(delimiter.encode())
        self._null = null.encode()
        self._text = rb'(?:[^"%b\r\n]++|"(?:[^"]++|"")*+")*+' % self._delimiter
        # Of a carriage return at the end, the line feed may be in the next chunk.
        self._end = rb"(?:\n|\r\n|\r(?!\n|\Z))"
        self._cells = re.compile(rb"(%b)(%b|%b)|[\s\S]+" % (self._text, self._delimiter, self._end))

    def rows(self, text: bytes) -> Iterator[list[bytes]]:
        """The rows, each with its cells as they are written; without an unfinished last one."""
        row: list[bytes] = []
        for found in self._cells.finditer(text):
            cell, end = found.groups()
            if cell is None:
                return
            row.append(cell)
            if end[:1] in b"\r\n":
                yield row
                row = []

    def kinds(self, sample: bytes, width: int) -> list[Kind | None]:
        """Guess the type of each column from its values after the header; None for text."""
        rows = self.rows(sample)
        next(rows, None)
        columns: list[set[bytes]] = [set() for _ in range(width)]
        for row in rows:
            # The server refuses a row with more or fewer values.
            if len(row) == width:
                for column, cell in zip(columns, row, strict=True):
                    column.add(cell)
        for column in columns:
            column.discard(self._null)
        return [
            next((kind for kind in _KINDS if column and kind.fits(column)), None)
            for column in columns
        ]

    def any_row(self) -> re.Pattern[bytes]:
        """The pattern of a whole row."""
        return re.compile(rb"%b(?:%b%b)*+%b" % (self._text, self._delimiter, self._text, self._end))

    def rows_of(self, kinds: Sequence[Kind | None]) -> re.Pattern[bytes]:
        """The pattern of as many rows as there are whose values have these types."""
        null = re.escape(self._null)
        cells = (
            self._text if kind is None else rb"(?:%b|%b)" % (kind.cell.pattern, null)
            for kind in kinds
        )
        return re.compile(rb"(?:%b%b)*+" % (self._delimiter.join(cells), self._end))

    def is_kept(self, kind: Kind | None, cell: bytes) -> bool:
        """Whether the table gives a value back as it is written."""
        return kind is None or cell == self._null or kind.cell.fullmatch(cell) is not None


class Held:
    """Holds the rows of a file to the types that were guessed, before they are sent."""

    def __init__(
        self,
        name: str,
        layout: Layout,
        columns: Sequence[str],
        kinds: Sequence[Kind | None],
        *,
        has_header: bool,
    ) -> None:
        self._name = name
        self._layout = layout
        self._columns = columns
        self._kinds = kinds
        self._any_row = layout.any_row()
        self._rows = layout.rows_of(kinds)
        self._has_header = has_header
        self._text = b""
        self._line = 1
        self._enough = 0
        self._is_over = False

    def __call__(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Pass the chunks of a file on; raises CommandError for a row that breaks a guess."""
        for chunk in chunks:
            self._text += chunk
            # A long value in quotes is not read again with each chunk.
            if len(self._text) >= self._enough and not self._is_over:
                self._check()
                self._enough = 2 * len(self._text)
            yield chunk
        if self._text and not self._is_over:
            self._text += b"" if self._text.endswith(b"\n") else b"\n"
            self._check()

    def _check(self) -> None:
        place = 0
        if self._has_header:
            header = self._any_row.match(self._text)
            if header is None:
                return
            self._has_header, place = False, header.end()
        while True:
            found = self._rows.match(self._text, place)
            place = place if found is None else found.end()
            row = self._any_row.match(self._text, place)
            if row is None or self._is_over:
                break
            self._refuse(row[0], self._line + self._text.count(b"\n", 0, place))
            place = row.end()
        self._line += self._text.count(b"\n", 0, place)
        self._text = b"" if self._is_over else self._text[place:]

    def _refuse(self, row: bytes, line: int) -> None:
        """Raise for the value that its type would change."""
        (cells,) = self._layout.rows(row + b"\n" if row.endswith(b"\r") else row)
        if len(cells) != len(self._kinds):
            # The server refuses this row, and nothing after it is read.
            self._is_over = True
            return
        for column, kind, cell in zip(self._columns, self._kinds, cells, strict=True):
            if kind is not None and not self._layout.is_kept(kind, cell):
                raise CommandError(
                    f'{self._name}, line {line}, column "{column}": '
                    f"{shown(cell.decode('utf-8', 'replace'))} would not come back from "
                    f"{kind.told} as it is written, and the first rows had this type",
                    f'--type "{column}=text" keeps every value as it is, '
                    f'--type "{column}={kind.told}" takes what the server makes of it',
                )

"""CSV as PostgreSQL's COPY writes it: nothing for NULL, a pair of quotes for an empty text.

Every value is the server's text, which COPY reads back. pyarrow's writer refuses lists, structs,
intervals and bytes that are not UTF-8, and prints moments and floats in forms of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.formats.lines import Lines, LinesWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Attribute, Columns
    from colonnade.formats.format import Settings, Sink


class CsvEncoding:
    """A result in CSV, of columns that were fetched as text."""

    def __init__(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        self._line = settings.csv.line
        names = (attribute.name for attribute in attributes)
        self._head = self._line(names) if settings.csv.header else b""

    def unit(self, batch: Columns) -> Lines:
        """The rows of a batch."""
        columns = batch.to_pydict().values()
        return Lines([self._line(row) for row in zip(*columns, strict=True)])

    def writer(self, sink: Sink, first: Lines) -> LinesWriter:
        """The writer of a file, which begins with the columns' names."""
        del first
        return LinesWriter(sink, self._head)


def split_rows(chunk: bytes) -> Lines:
    """Whole rows of the server's, told apart: a line break within quotes ends none."""
    if b'"' not in chunk:
        # Nor is there a carriage return, which would be within quotes.
        return Lines(chunk.splitlines(keepends=True), chunk)
    lines = chunk.split(b"\n")
    # Nothing follows the last line break.
    lines.pop()
    rows: list[bytes] = []
    open_row: list[bytes] = []
    for line in lines:
        is_inside = bool(open_row)
        if line.count(b'"') % 2:
            is_inside = not is_inside
        open_row.append(line)
        if not is_inside:
            rows.append(b"\n".join(open_row) + b"\n")
            open_row = []
    return Lines(rows, chunk)

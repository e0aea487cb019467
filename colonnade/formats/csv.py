"""CSV as PostgreSQL's COPY writes it: NULL is an empty field, an empty string a pair of quotes.

Every value is the server's text, which COPY can read back. pyarrow's CSV writer refuses lists,
structs, intervals and bytes that are not UTF-8, and formats dates, times and floats differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.formats.lines import Lines, LinesWriter, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Attribute, Columns
    from colonnade.formats.format import Settings, Sink


class CsvEncoding:
    """Encodes a result, whose columns were fetched as text, as CSV."""

    def __init__(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        self._line = settings.csv.line
        names = (attribute.name for attribute in attributes)
        self._head = self._line(names) if settings.csv.header else b""

    def unit(self, batch: Columns) -> Lines:
        """Return the rows of a batch."""
        return Lines([self._line(row) for row in zip(*texts(batch), strict=True)])

    def writer(self, sink: Sink, first: Lines) -> LinesWriter:
        """Return the writer of one file, which begins with the header if it is asked for."""
        del first
        return LinesWriter(sink, self._head)


def split_rows(chunk: bytes) -> Lines:
    """Split the server's CSV into rows; a line break within quotes does not end a row."""
    if b'"' not in chunk:
        # Without quotes there is no carriage return either, so splitlines() splits at \n only.
        return Lines(chunk.splitlines(keepends=True), chunk)
    lines = chunk.split(b"\n")
    # The chunk ends with a line break, so the last piece is empty.
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

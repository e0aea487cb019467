"""CSV as PostgreSQL's COPY writes it: NULL is nothing, an empty text is a pair of quotes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from colonnade.cli.formats.text import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class CsvOptions:
    """How values are told from each other."""

    delimiter: str = ","
    header: bool = True
    null: str = ""

    def line(self, values: Iterable[str | None]) -> bytes:
        """One row."""
        return self.delimiter.join(map(self._cell, values)).encode() + b"\n"

    def _cell(self, text: str | None) -> str:
        if text is None:
            return self.null
        special = (self.delimiter, '"', "\r", "\n")
        needs_quotes = text in {self.null, "\\."} or any(one in text for one in special)
        if not needs_quotes:
            return text
        doubled = text.replace('"', '""')
        return f'"{doubled}"'


def split_rows(chunk: bytes) -> Lines:
    """Whole rows of the server's, told apart: a line break within quotes ends none."""
    if b'"' not in chunk:
        # Nor is there a carriage return, which would be within quotes.
        return Lines(chunk.splitlines(keepends=True), chunk)
    lines = chunk.split(b"\n")
    # What stands behind the last line break is nothing.
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

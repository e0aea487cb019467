"""Rows as lines of text, and the writer of text files."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Columns
    from colonnade.formats.format import Sink

#: The UTF-8 byte order mark, with which some programs begin a file.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def texts(columns: Columns) -> list[list[str | None]]:
    """Return each column as a list of texts; NULL is None. All were fetched as text.

    `to_pydict` would make objects of an inet, a bit string and others, and needs unique names.
    """
    batch = columns._batch  # noqa: SLF001 - the one way to texts as they were fetched
    return [batch.column(index).stored_pylist() for index in range(batch.num_columns)]


class Lines:
    """Rows as text. Each row ends with a line break, and may contain others."""

    def __init__(self, rows: Sequence[bytes], text: bytes | None = None) -> None:
        self.rows = rows
        self._text = text

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.rows[rows])

    @property
    def text(self) -> bytes:
        """All rows, joined."""
        return b"".join(self.rows) if self._text is None else self._text

    def fitting(self, bytes_max: int) -> int:
        """Return how many rows, from the first on, fit into `bytes_max`."""
        ends = accumulate(map(len, self.rows))
        return next((row for row, end in enumerate(ends) if end > bytes_max), len(self))


class LinesWriter:
    """Writes lines to a file, after an optional header."""

    def __init__(self, sink: Sink, head: bytes = b"") -> None:
        self._sink = sink
        self._sink.write(head)

    def write(self, unit: Lines) -> None:
        """Write the rows."""
        self._sink.write(unit.text)

    def fitting(self, unit: Lines, bytes_max: int) -> int:
        """Return how many of these rows fit before the file has `bytes_max` bytes."""
        return unit.fitting(bytes_max - self._sink.tell())

    def finish(self) -> None:
        """Do nothing: a text file has no footer."""

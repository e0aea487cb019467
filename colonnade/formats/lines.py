"""Rows as lines of text, and files of them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.formats.format import Sink

#: The first bytes of a UTF-8 file that some programs write.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines:
    """Some rows as text; each of them ends in a line break, and may have more within."""

    def __init__(self, rows: Sequence[bytes], text: bytes | None = None) -> None:
        self.rows = rows
        self._text = text

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.rows[rows])

    @property
    def text(self) -> bytes:
        """All of them."""
        return b"".join(self.rows) if self._text is None else self._text

    def fitting(self, bytes_max: int) -> int:
        """How many rows from the first on take no more bytes than that."""
        ends = accumulate(map(len, self.rows))
        return next((row for row, end in enumerate(ends) if end > bytes_max), len(self))


class LinesWriter:
    """Writes lines to a file, below a head."""

    def __init__(self, sink: Sink, head: bytes = b"") -> None:
        self._sink = sink
        self._sink.write(head)

    def write(self, unit: Lines) -> None:
        """Write these rows."""
        self._sink.write(unit.text)

    def fitting(self, unit: Lines, bytes_max: int) -> int:
        """How many of these rows the file can take until it has so many bytes."""
        return unit.fitting(bytes_max - self._sink.tell())

    def finish(self) -> None:
        """Nothing stands at the end of such a file."""

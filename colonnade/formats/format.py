"""A format: the row that it has in the table, and the parts that a row consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from colonnade._shown import shown
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from colonnade import Attribute, Columns


class Sink(Protocol):
    """Where bytes go: any binary file."""

    def write(self, data: Any, /) -> Any:
        """Take all of the bytes."""

    def tell(self) -> int:
        """How many bytes were taken so far."""
        raise NotImplementedError


class Writer(Protocol):
    """Writes the rows of one file. Rows come in units that have a length and slices."""

    def write(self, unit: Any) -> None:
        """Write these rows."""

    def fitting(self, unit: Any, bytes_max: int) -> int:
        """How many of these rows the file can take until it has about so many bytes."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write the end of the file."""


class Encoding(Protocol):
    """One result on its way into a format."""

    def unit(self, batch: Columns) -> Any:
        """The rows of a batch, as the writer takes them."""

    def writer(self, sink: Sink, first: Any) -> Writer:
        """The writer of one file, whose first unit is known."""
        raise NotImplementedError


@dataclass(frozen=True)
class CsvOptions:
    """The characters between values, and the text of NULL."""

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


@dataclass(frozen=True)
class Settings:
    """Choices within a format."""

    codec: str = "none"
    """The compression."""
    csv: CsvOptions = field(default_factory=CsvOptions)
    file_bytes: int | None = None
    """The size at which the caller begins another file; None for one file of any size."""


class Opened(NamedTuple):
    """A file that is being read."""

    schema: Any
    """A `pyarrow.Schema`."""
    batches: Iterator[Any]
    """Of `pyarrow.RecordBatch`."""
    row_count: int | None
    """None where the file does not tell."""


@dataclass(frozen=True)
class Format:
    """One row of the table."""

    name: str
    title: str
    endings: tuple[str, ...]
    """The ends of the names of its files, the usual one first."""
    media_type: str
    encode: Callable[[Sequence[Attribute], Settings], Encoding]
    open: Callable[[Path], AbstractContextManager[Opened]] | None = None
    """None where PostgreSQL itself parses the file."""
    codecs: tuple[str, ...] = ("none",)
    """Its compressions, the usual one first."""
    library: str | None = None
    """The package without which it can be neither written nor read."""
    is_binary: bool = False
    takes_text: bool = False
    """Whether the columns are fetched as the server's text."""
    parts_as_json: bool = False
    """Whether arrays and composites are fetched as JSON that the server makes of them."""

    def __str__(self) -> str:
        return self.name

    def codec(self, asked: str | None) -> str:
        """The compression of this name; the usual one for None.

        Raises InterfaceError where the format has none of this name.
        """
        if asked is None:
            return self.codecs[0]
        if asked not in self.codecs:
            known = ", ".join(self.codecs)
            raise InterfaceError(f"{self} has no compression {shown(asked)}; it has {known}")
        return asked

"""`Format`, and the protocols of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from colonnade._words.arguments import check_text
from colonnade._words.shown import shown
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from colonnade import Attribute, Columns


class UnknownFormatError(InterfaceError, ValueError):
    """There is no format, dialect or compression of this name."""


class UnsuitableFormatError(InterfaceError, ValueError):
    """A format has no type or text for a column of the table, or no place for its name."""


class Sink(Protocol):
    """A binary file to write to."""

    def write(self, data: Any, /) -> Any:
        """Write all of the bytes."""

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        raise NotImplementedError


class Writer(Protocol):
    """Writes one file. Its rows come in units, which support `len()` (rows) and slicing."""

    def write(self, unit: Any) -> None:
        """Write the rows of a unit."""

    def fitting(self, unit: Any, bytes_max: int) -> int:
        """Return how many of these rows fit before the file has about `bytes_max` bytes."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write the end of the file."""


class Encoding(Protocol):
    """Encodes one result in a format."""

    def unit(self, batch: Columns) -> Any:
        """Convert a batch to the unit that the writer writes."""

    def writer(self, sink: Sink, first: Any) -> Writer:
        """Return the writer of one file; `first` is the file's first unit."""
        raise NotImplementedError


@dataclass(frozen=True)
class CsvOptions:
    """Options of CSV: the delimiter, whether there is a header line, and the text of NULL.

    Raises ValueError for a text of NULL that no reader could tell from the values around it.
    """

    delimiter: str = ","
    header: bool = True
    null: str = ""

    def __post_init__(self) -> None:
        if any(character in self.null for character in (self.delimiter, *'"\r\n')):
            msg = "null must not contain the delimiter, a quote or a line break, in CSV"
            raise ValueError(f"{msg}: {shown(self.null)}")


@dataclass(frozen=True)
class Settings:
    """Options of an export."""

    codec: str = "none"
    """The compression codec."""
    csv: CsvOptions = field(default_factory=CsvOptions)
    file_bytes: int | None = None
    """The size in bytes at which the caller begins another file; None for a single file."""


class Opened(NamedTuple):
    """An open file."""

    schema: Any
    """A `pyarrow.Schema`."""
    batches: Iterator[Any]
    """Yields `pyarrow.RecordBatch`."""
    row_count: int | None
    """None if the file does not store it."""


@dataclass(frozen=True)
class Format:
    """A file format."""

    name: str
    title: str
    endings: tuple[str, ...]
    """The endings of file names, the usual one first."""
    media_type: str
    encode: Callable[[Sequence[Attribute], Settings], Encoding]
    open: Callable[[Path], AbstractContextManager[Opened]] | None = None
    """Opens a file for reading; None if PostgreSQL's COPY parses the format itself."""
    codecs: tuple[str, ...] = ("none",)
    """The compression codecs, the default first."""
    library: str | None = None
    """The package that the format requires."""
    is_binary: bool = False
    fetched: Literal["arrow", "text", "json"] = "arrow"
    """The form in which the columns are fetched: Arrow's types, the server's text, or the latter
    with arrays and composites that the server has converted to JSON."""

    def __str__(self) -> str:
        return self.name

    def codec(self, asked: str | None) -> str:
        """Return the codec `asked`, or the default for None.

        Raises UnknownFormatError if the format does not support it.
        """
        if asked is None:
            return self.codecs[0]
        check_text("compression", asked)
        if asked not in self.codecs:
            known = ", ".join(self.codecs)
            msg = f"{self} has no compression {shown(asked)}; choose from {known}"
            raise UnknownFormatError(msg)
        return asked

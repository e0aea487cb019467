"""CSV and NDJSON in files. The core writes them, from columns of the server's text.

So every value is what PostgreSQL prints, and reads back. No other writer does this: pyarrow's CSV
refuses lists, structs and intervals, and formats times and floats differently; Polars writes NaN in
JSON as null and decimals as strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._core.formats import Encoder
from colonnade.formats.dialects import OF_FILES
from colonnade.formats.format import UnsuitableFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Attribute, Columns
    from colonnade._core.formats import Lines
    from colonnade.formats.format import Settings, Sink

#: The UTF-8 byte order mark, with which some programs begin a file.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def csv_encoder(
    dialect: str, *, header: bool = True, delimiter: str = ",", null: str = ""
) -> Encoder:
    """Return the writer of a dialect of CSV; only COPY's has other delimiters and texts of NULL."""
    if dialect == "copy":
        return Encoder.copy_csv(header, delimiter, null)
    return Encoder.csv(header)


def csv_encoding(attributes: Sequence[Attribute], settings: Settings) -> LinesEncoding:
    """Encode a result, whose columns were fetched as text, as CSV."""
    del attributes
    csv = settings.csv
    return LinesEncoding(
        csv_encoder(OF_FILES.csv, header=csv.header, delimiter=csv.delimiter, null=csv.null)
    )


def ndjson_encoding(attributes: Sequence[Attribute], settings: Settings) -> LinesEncoding:
    """Encode a result, whose columns were fetched as text, as lines of JSON."""
    del attributes, settings
    return LinesEncoding(Encoder.ndjson(OF_FILES.numbers, end_mark=False))


class LinesEncoding:
    """Encodes a result as lines of text."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def unit(self, batch: Columns) -> Lines:
        """Return the rows of a batch."""
        try:
            return self._encoder.lines(batch._batch)  # noqa: SLF001 - its memory leaves
        except ValueError as error:
            raise UnsuitableFormatError(str(error)) from None

    def writer(self, sink: Sink, first: Lines) -> LinesWriter:
        """Return the writer of one file, which begins with the header if it is asked for."""
        del first
        return LinesWriter(sink, self._encoder.head())


class LinesWriter:
    """Puts lines into a file, after an optional header."""

    def __init__(self, sink: Sink, head: bytes) -> None:
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


def texts(columns: Columns) -> list[list[str | None]]:
    """Return each column as a list of texts; NULL is None. All were fetched as text.

    `to_pydict` would make objects of an inet, a bit string and others, and needs unique names.
    """
    batch = columns._batch  # noqa: SLF001 - the one way to texts as they were fetched
    return [batch.column(index).stored_pylist() for index in range(batch.num_columns)]

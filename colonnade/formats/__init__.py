"""The file formats of exports and imports, one `Format` each, listed in `FORMATS`.

Nothing here depends on a command line, a web server or a connection. Writers write to any binary
file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from colonnade._words.arguments import check_text
from colonnade._words.shown import shown
from colonnade.formats.arrow import FileEncoding, StreamEncoding, open_arrow
from colonnade.formats.format import (
    CsvOptions,
    Encoding,
    Format,
    Opened,
    Settings,
    Sink,
    UnknownFormatError,
    Writer,
)
from colonnade.formats.parquet import ParquetEncoding, open_parquet
from colonnade.formats.text import csv_encoding, ndjson_encoding

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "CSV",
    "FORMATS",
    "NDJSON",
    "CsvOptions",
    "Encoding",
    "Format",
    "Opened",
    "Settings",
    "Sink",
    "UnknownFormatError",
    "Writer",
    "by_file_name",
    "by_name",
    "described",
    "named",
]


class Named(Protocol):
    """A format of files or of HTTP."""

    @property
    def name(self) -> str:
        """The name that users call it by."""
        raise NotImplementedError


F = TypeVar("F", bound=Named)

CSV = Format("csv", "CSV", (".csv",), "text/csv", csv_encoding, fetched="text")
NDJSON = Format(
    "ndjson",
    "newline-delimited JSON",
    (".ndjson", ".jsonl"),
    "application/x-ndjson",
    ndjson_encoding,
    fetched="json",
)

FORMATS: list[Format] = [
    CSV,
    NDJSON,
    Format(
        "arrow",
        "Arrow's stream format",
        (".arrows",),
        "application/vnd.apache.arrow.stream",
        StreamEncoding,
        open_arrow,
        codecs=("none", "zstd", "lz4"),
        library="pyarrow",
        is_binary=True,
    ),
    Format(
        "feather",
        "Arrow's file format",
        (".arrow", ".feather"),
        "application/vnd.apache.arrow.file",
        FileEncoding,
        open_arrow,
        codecs=("none", "zstd", "lz4"),
        library="pyarrow",
        is_binary=True,
    ),
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        "application/vnd.apache.parquet",
        ParquetEncoding,
        open_parquet,
        codecs=("zstd", "snappy", "gzip", "brotli", "lz4", "none"),
        library="pyarrow",
        is_binary=True,
    ),
]


def by_name(name: str) -> Format:
    """Return the format of this name. Raises UnknownFormatError if there is none."""
    return named(name, FORMATS)


def named(name: str, formats: Sequence[F]) -> F:
    """Return the one of these formats that has this name.

    Raises UnknownFormatError if there is none.
    """
    check_text("the name of a format", name)
    for form in formats:
        if form.name == name:
            return form
    known = ", ".join(form.name for form in formats)
    raise UnknownFormatError(f"there is no format {shown(name)}: use one of {known}")


def by_file_name(path: Path) -> Format:
    """Return the format of a file by its name's ending.

    Raises UnknownFormatError if it is unknown.
    """
    ending = path.suffix.lower()
    for form in FORMATS:
        if ending in form.endings:
            return form
    known = ", ".join(ending for form in FORMATS for ending in form.endings)
    raise UnknownFormatError(
        f'the name "{path.name}" does not end with that of a format',
        hint=f"use one of the endings {known}",
    )


def described() -> str:
    """Return all endings with the titles of their formats, for a help text."""
    return ", ".join(f"{', '.join(form.endings)} ({form.title})" for form in FORMATS)

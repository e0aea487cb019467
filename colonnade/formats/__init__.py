"""The file formats of exports and imports, one `Format` each, listed in `FORMATS`.

Nothing here depends on a command line, a web server or a connection. Writers write to any binary
file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._words.shown import shown
from colonnade.errors import InterfaceError
from colonnade.formats.arrow import FileEncoding, StreamEncoding, open_arrow
from colonnade.formats.csv import CsvEncoding
from colonnade.formats.format import (
    CsvOptions,
    Encoding,
    Format,
    Opened,
    Settings,
    Sink,
    Writer,
)
from colonnade.formats.ndjson import NdjsonEncoding
from colonnade.formats.parquet import ParquetEncoding, open_parquet

if TYPE_CHECKING:
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
    "Writer",
    "by_file_name",
    "by_name",
    "described",
]

CSV = Format("csv", "CSV", (".csv",), "text/csv", CsvEncoding, takes_text=True)
NDJSON = Format(
    "ndjson",
    "newline-delimited JSON",
    (".ndjson", ".jsonl"),
    "application/x-ndjson",
    NdjsonEncoding,
    takes_text=True,
    parts_as_json=True,
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
    """Return the format of this name. Raises InterfaceError for an unknown name."""
    for form in FORMATS:
        if form.name == name:
            return form
    raise InterfaceError(
        f"there is no format {shown(name)}: use one of {', '.join(map(str, FORMATS))}"
    )


def by_file_name(path: Path) -> Format:
    """Return the format of a file by its name's ending. Raises InterfaceError if it is unknown."""
    ending = path.suffix.lower()
    for form in FORMATS:
        if ending in form.endings:
            return form
    known = ", ".join(ending for form in FORMATS for ending in form.endings)
    raise InterfaceError(
        f'the name "{path.name}" does not end with that of a format',
        hint=f"use one of the endings {known}",
    )


def described() -> str:
    """Return all endings with the titles of their formats, for a help text."""
    return ", ".join(f"{', '.join(form.endings)} ({form.title})" for form in FORMATS)

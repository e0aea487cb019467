"""The formats that results are written in, and how they are chosen."""

from __future__ import annotations

import enum
from pathlib import Path

import click


class Format(enum.StrEnum):
    """The word of --format."""

    TABLE = "table"
    CSV = "csv"
    NDJSON = "ndjson"
    ARROW = "arrow"
    FEATHER = "feather"
    PARQUET = "parquet"

    @property
    def is_binary(self) -> bool:
        """Whether a terminal could not show it."""
        return self in {Format.ARROW, Format.FEATHER, Format.PARQUET}


#: What the end of a file's name means.
ENDINGS = {
    ".csv": Format.CSV,
    ".ndjson": Format.NDJSON,
    ".jsonl": Format.NDJSON,
    ".arrows": Format.ARROW,
    ".arrow": Format.FEATHER,
    ".feather": Format.FEATHER,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
}


def format_of(path: Path) -> Format:
    """The format that a file's name asks for; a name that asks for none is misuse."""
    found = ENDINGS.get(path.suffix.lower())
    if found is None:
        known = ", ".join(ENDINGS)
        raise click.UsageError(
            f'the name "{path.name}" says no format: say --format, or let it end in one of {known}'
        )
    return found

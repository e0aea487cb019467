"""Finds the line or row and the column that an error of COPY names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from colonnade.cli.failures import CommandError, of_server

if TYPE_CHECKING:
    import colonnade

_COPY = re.compile(
    # The context of a JSON error may come before COPY's.
    r"(?:^|\n)COPY .*?, line (?P<line>\d+)(?:, column (?P<column>.*?))?(?:: .*)?\Z",
    re.DOTALL,
)


class CopyPlace(NamedTuple):
    """The line of a text COPY, or the row of a binary one, counted from 1; None if unknown."""

    line: int | None = None
    column: str | None = None


def copy_place(error: colonnade.PostgresError) -> CopyPlace:
    """Return the place that the server names in an error of COPY."""
    found = _COPY.search(error.context or "")
    return CopyPlace() if found is None else CopyPlace(int(found["line"]), found["column"])


def refused(
    error: colonnade.PostgresError, where: str, column: str | None = None, hint: str | None = None
) -> CommandError:
    """Put the place and the column in front of the server's error."""
    told = of_server(error, None)
    if column:
        where += f', column "{column}"'
    return CommandError(f"{where}: {told.message}", told.hint or hint)

"""Where in a file the server found something wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from colonnade.cli.failures import CommandError, of_server

if TYPE_CHECKING:
    import colonnade

_COPY = re.compile(
    # In front of it may stand where in a value of JSON the fault is.
    r"(?:^|\n)COPY .*?, line (?P<line>\d+)(?:, column (?P<column>.*?))?(?:: .*)?\Z",
    re.DOTALL,
)


class CopyPlace(NamedTuple):
    """What COPY complains about: a line of a text, or a row of binary data, counted from 1."""

    line: int | None = None
    column: str | None = None


def copy_place(error: colonnade.PostgresError) -> CopyPlace:
    """The place that the server names in an error of COPY."""
    found = _COPY.search(error.context or "")
    return CopyPlace() if found is None else CopyPlace(int(found["line"]), found["column"])


def refused(
    error: colonnade.PostgresError, where: str, column: str | None = None, hint: str | None = None
) -> CommandError:
    """The server's error with the place and the column in front."""
    told = of_server(error, None)
    if column:
        where += f', column "{column}"'
    return CommandError(f"{where}: {told.message}", told.hint or hint)

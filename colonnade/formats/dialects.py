"""The dialects of NDJSON and of CSV, and the defaults, which are stated here alone."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias, get_args

from colonnade._words.arguments import check_text
from colonnade._words.shown import shown
from colonnade.formats.format import UnknownFormatError

Numbers: TypeAlias = Literal["exact", "javascript"]
Csv: TypeAlias = Literal["copy", "rfc4180"]


@dataclass(frozen=True)
class Dialects:
    """A dialect of each text format.

    Raises UnknownFormatError for a name that no dialect has.
    """

    numbers: Numbers
    """NDJSON's numbers. "exact": with all digits, and the other values as PostgreSQL's `to_json`
    writes them. "javascript": a number that a double may round is a string."""
    csv: Csv
    """CSV as PostgreSQL's COPY writes and reads it, or that of RFC 4180."""

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            check_text(option.name, value)
            if value not in KNOWN[option.name]:
                known = " or ".join(f'"{name}"' for name in KNOWN[option.name])
                raise UnknownFormatError(f"{option.name} must be {known}, not {shown(value)}")


#: The names of each format's dialects.
KNOWN: Final[dict[str, tuple[str, ...]]] = {"numbers": get_args(Numbers), "csv": get_args(Csv)}

#: The dialects of files and pipes: PostgreSQL reads each value back.
OF_FILES: Final = Dialects(numbers="exact", csv="copy")
#: Those of HTTP unless the server or the client asks for others: browsers round nothing.
OF_HTTP: Final = Dialects(numbers="javascript", csv="rfc4180")

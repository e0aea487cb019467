"""Hints for files with another delimiter, or in another encoding."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from colonnade.cli.failures import CommandError
from colonnade.errors import BadCopyFileFormatError, CharacterNotInRepertoireError

if TYPE_CHECKING:
    import colonnade

_OTHER_DELIMITERS = ";\t|"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FIRST_LINE = re.compile(rb"[^\r\n]*")
_REPLACEMENT = "\ufffd"


def check_encoding(file: str, names: list[str], beginning: bytes) -> None:
    """Raise CommandError if the names of a header are not UTF-8; the rows are the server's."""
    decoded = "".join(names)
    is_replaced = _REPLACEMENT in decoded and _REPLACEMENT.encode() not in beginning
    if beginning.startswith(_UTF_16_MARKS) or is_replaced:
        raise CommandError(f"{file} is not UTF-8", _converted(file, beginning, "csv"))


def check_delimiter(file: str, names: list[str], beginning: bytes) -> None:
    """Raise CommandError if the only name of a header looks like several; none was chosen."""
    if len(names) == 1 and (found := _other_delimiter(beginning)) is not None:
        raise CommandError(
            f'{file}: the header is one name, "{names[0]}"',
            f"the delimiter seems to be another: {found}; a name that is so: --delimiter ,",
        )


def hint_for(
    error: colonnade.PostgresError, file: str, beginning: bytes, *, is_chosen: bool
) -> str | None:
    """The option or the program that reads the file, if that is what the server's error is about.

    `is_chosen` says whether the delimiter was given.
    """
    if isinstance(error, BadCopyFileFormatError) and not is_chosen:
        found = _other_delimiter(beginning)
        return None if found is None else f"if the delimiter is another: {found}"
    return hint_for_encoding(error, file, beginning, "csv")


def hint_for_encoding(
    error: colonnade.PostgresError, file: str, beginning: bytes, form: str
) -> str | None:
    """The program that converts the file, if the server says that it is not UTF-8."""
    is_nul = "0x00" in str(error)
    if is_nul or not isinstance(error, CharacterNotInRepertoireError):
        return None
    return _converted(file, beginning, form)


def _converted(file: str, beginning: bytes, form: str) -> str:
    name = "UTF-16" if beginning.startswith(_UTF_16_MARKS) else "LATIN1"
    return (
        f"convert it, if it is {name}: iconv -f {name} -t UTF-8 {shlex.quote(file)} | "
        f"colonnade import - TABLE --format {form}"
    )


def _other_delimiter(beginning: bytes) -> str | None:
    """The option for the delimiter that the first line has most of, if it is no comma."""
    line = _FIRST_LINE.match(beginning)[0].decode("latin-1")  # type: ignore[index]
    most = max(f",{_OTHER_DELIMITERS}", key=line.count)
    if most == ",":
        return None
    return f"--delimiter {shlex.quote(most)}" if most != "\t" else r"--delimiter '\t'"

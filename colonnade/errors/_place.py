"""Where in a query's text the server has found an error, for the person who wrote the text."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade.errors._base import PostgresError

# Columns of a line that are shown: with its number in front it fits a terminal of 80.
_WINDOW = 68
# Of them, those before the place, where the line is longer.
_BEFORE = 44
_LINE_ENDS = re.compile("\r\n|\r|\n")
_SYNTAX_ERROR = "42601"
_UNDEFINED_COLUMN = "42703"
_UNDEFINED_FUNCTION = "42883"

_PERCENT_PLACEHOLDERS = (
    (re.compile(r"%\(\w+\)s"), "%(name)s"),
    (re.compile(r"%s"), "%s"),
)
# What makes one operator with a `%` behind it, as in `=%`.
_BEFORE_PERCENT = re.compile(r"[-+*/<>=~!@#^&|`]+(?=%)")
_OTHER_PLACEHOLDERS = (
    (re.compile(r":[^\W\d]\w*"), ":name"),
    (re.compile(r"\?"), "?"),
)
_PSQL_COMMAND = re.compile(r"\s*\\[a-zA-Z?!]")
_TAKEN = (
    "parameters are $1, $2, ... in the queries of a Connection or Pool; "
    "%s and %(name)s are of colonnade.dbapi, :name is of read_sql and Named"
)


class ComposedSql(str):
    """A statement that the driver has made: the caller has not seen its text."""

    __slots__ = ()


def place_in(sql: str, position: int) -> str | None:
    """The line of a text that has the character number `position`, with a caret below it.

    None where the text is shorter than that. A long line is cut to a window around the place.
    """
    if not 1 <= position <= len(sql) + 1:
        return None
    starts = [0, *(end.end() for end in _LINE_ENDS.finditer(sql))]
    number = sum(start < position for start in starts)
    start = starts[number - 1]
    line = _LINE_ENDS.split(sql[start:], maxsplit=1)[0].replace("\t", " ")
    offset = min(position - 1 - start, len(line))
    line, offset = _window(line, offset)
    head = f"LINE {number}: "
    return f"{head}{line}\n{' ' * (len(head) + _width(line[:offset]))}^"


def _window(line: str, offset: int) -> tuple[str, int]:
    """The part of a line around a place that is shown, and the place in it."""
    if _width(line) <= _WINDOW:
        return line, offset
    first = offset
    while first > 0 and _width(line[first - 1 : offset]) <= _BEFORE:
        first -= 1
    # The first of the shown is not one that stands on the letter before.
    while first < offset and unicodedata.combining(line[first]):
        first += 1
    last = offset
    while last < len(line) and _width(line[first : last + 1]) <= _WINDOW:
        last += 1
    before, after = "..." if first else "", "..." if last < len(line) else ""
    return f"{before}{line[first:last]}{after}", len(before) + offset - first


def _width(text: str) -> int:
    """How many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def note_place(error: PostgresError, query: str) -> None:
    """Add notes to an error of a query: where it is, and how its parameters are to be written."""
    if error.internal_query is not None and error.internal_position is not None:
        _add(error, place_in(error.internal_query, int(error.internal_position)))
    if error.position is None or isinstance(query, ComposedSql):
        return
    position = int(error.position)
    _add(error, place_in(query, position))
    if error.sqlstate == _SYNTAX_ERROR:
        _add(error, _placeholder_hint(query, position))
    elif error.sqlstate in {_UNDEFINED_COLUMN, _UNDEFINED_FUNCTION}:
        # `id=%s` is valid SQL: an operator `=%` and a column.
        _add(error, _percent_hint(query, position - 1))


def _add(error: PostgresError, note: str | None) -> None:
    if note is not None:
        error.add_note(note)


def _placeholder_hint(query: str, position: int) -> str | None:
    """What to write in place of what stands where the server stumbled, if it is known."""
    if _PSQL_COMMAND.match(query):
        return "HINT: a backslash command is psql's, not SQL: the catalogs have what it shows"
    at = position - 1
    # `?` is an operator: the server stumbles on what follows it.
    before = query[:at].rstrip()
    if before.endswith("?"):
        at = len(before) - 1
    for pattern, written in _OTHER_PLACEHOLDERS:
        if pattern.match(query, at):
            return _no_placeholder(written)
    return _percent_hint(query, position - 1)


def _percent_hint(query: str, at: int) -> str | None:
    """The hint where a `%s` or `%(name)s` has the place in it, or an operator that it is read with.

    The server stumbles on the operator, or on the name that it has made of the rest.
    """
    if operator := _BEFORE_PERCENT.match(query, at):
        at = operator.end()
    for pattern, written in _PERCENT_PLACEHOLDERS:
        if any(found.start() <= at < found.end() for found in pattern.finditer(query)):
            return _no_placeholder(written)
    return None


def _no_placeholder(written: str) -> str:
    return f"HINT: {written} is no placeholder here: {_TAKEN}"

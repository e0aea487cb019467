"""The position of a server's error in the text of a query, shown with a caret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade.errors._base import PostgresError

# The number of columns shown of a line: with its number in front it fits a terminal of 80.
_WINDOW = 68
# If the line is longer, the number of columns shown before the position.
_BEFORE = 44
_LINE_ENDS = "\r\n|\r|\n"
_SYNTAX_ERROR = "42601"
_UNDEFINED_COLUMN = "42703"
_UNDEFINED_FUNCTION = "42883"

_PERCENT_PLACEHOLDERS = (
    (r"%\(\w+\)s", "%(name)s"),
    (r"%s", "%s"),
)
# Characters that form one operator with a following `%`, as in `=%`.
_BEFORE_PERCENT = r"[-+*/<>=~!@#^&|`]+(?=%)"
_OTHER_PLACEHOLDERS = (
    (r":[^\W\d]\w*", ":name"),
    (r"\?", "?"),
)
# A text has at most a gigabyte: a longer number is no position in it.
_POSITION = "[0-9]{1,10}"
_PSQL_COMMAND = r"\s*\\[a-zA-Z?!]"
_TAKEN = (
    "parameters are $1, $2, ... in the queries of a Connection or Pool; %s and %(name)s in those "
    "of colonnade.dbapi, if parameters are passed; :name in Named, in text(), and in read_sql with "
    "a mapping as params"
)
# The server reports the parameter, or with parentheses the operator, which takes no list.
_LIST_WITHOUT_PARENTHESES = r"(?i)\bin\s*$"
_LIST_IN_PARENTHESES = r"(?i)(?:not\s+)?in\s*\(\s*\$[0-9]+\s*\)"
_ONE_VALUE = (
    "HINT: a parameter is one value, also if it is a list: write = ANY ($1) for IN, <> ALL ($1) "
    "for NOT IN, and pass a list (in colonnade.dbapi %s for $1)"
)


class ComposedSql(str):
    """A statement that the driver wrote: the caller has not seen its text."""

    __slots__ = ()


def character_number(said: str | None) -> int:
    """The position that a server reports; 0 where there is none, or it is not a number."""
    return int(said) if said is not None and re.fullmatch(_POSITION, said) else 0


def place_in(sql: str, position: int) -> str | None:
    """The line of a text that contains the character number `position`, with a caret below it.

    None if the text is shorter. A long line is cut to a window around the position.
    """
    if not 1 <= position <= len(sql) + 1:
        return None
    starts = [0, *(end.end() for end in re.finditer(_LINE_ENDS, sql))]
    number = sum(start < position for start in starts)
    start = starts[number - 1]
    line = re.split(_LINE_ENDS, sql[start:], maxsplit=1)[0].replace("\t", " ")
    offset = min(position - 1 - start, len(line))
    line, offset = _window(line, offset)
    head = f"LINE {number}: "
    return f"{head}{line}\n{' ' * (len(head) + _width(line[:offset]))}^"


def _window(line: str, offset: int) -> tuple[str, int]:
    # Imported here: few programs need it.
    import unicodedata

    if _width(line) <= _WINDOW:
        return line, offset
    # Each character is measured once: any number of them may have no width.
    first, width = offset, 0
    while first > 0 and (width := width + _width(line[first - 1])) <= _BEFORE:
        first -= 1
    # The shown part does not begin with a combining character.
    while first < offset and unicodedata.combining(line[first]):
        first += 1
    last, width = offset, _width(line[first:offset])
    while last < len(line) and (width := width + _width(line[last])) <= _WINDOW:
        last += 1
    before, after = "..." if first else "", "..." if last < len(line) else ""
    return f"{before}{line[first:last]}{after}", len(before) + offset - first


def _width(text: str) -> int:
    # Imported here: few programs need it.
    import unicodedata

    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def note_place(error: PostgresError, query: str) -> None:
    """Add notes to the error of a query: its position, and how to write parameters."""
    if error.internal_query is not None:
        _add(error, place_in(error.internal_query, character_number(error.internal_position)))
    position = character_number(error.position)
    if position == 0 or isinstance(query, ComposedSql):
        return
    _add(error, place_in(query, position))
    if error.sqlstate == _SYNTAX_ERROR:
        _add(error, _placeholder_hint(query, position))
    elif error.sqlstate in {_UNDEFINED_COLUMN, _UNDEFINED_FUNCTION}:
        # `id=%s` is valid SQL: an operator `=%` and a column.
        _add(error, _percent_hint(query, position - 1) or _list_hint(query, position - 1))


def _add(error: PostgresError, note: str | None) -> None:
    if note is not None:
        error.add_note(note)


def _placeholder_hint(query: str, position: int) -> str | None:
    if re.match(_PSQL_COMMAND, query):
        return "HINT: a backslash command is psql's, not SQL: the catalogs have what it shows"
    at = position - 1
    # `?` is an operator: the server reports the token after it.
    before = query[:at].rstrip()
    if before.endswith("?"):
        at = len(before) - 1
    for pattern, written in _OTHER_PLACEHOLDERS:
        if re.match(pattern, query[at:]):
            return _no_placeholder(written)
    return _percent_hint(query, position - 1) or _list_hint(query, position - 1)


def _percent_hint(query: str, at: int) -> str | None:
    """The hint if the position is in a `%s` or `%(name)s`, or in an operator that includes its `%`.

    The server reports the operator, or the rest as a name.
    """
    if operator := re.match(_BEFORE_PERCENT, query[at:]):
        at += operator.end()
    for pattern, written in _PERCENT_PLACEHOLDERS:
        if any(found.start() <= at < found.end() for found in re.finditer(pattern, query)):
            return _no_placeholder(written)
    return None


def _list_hint(query: str, at: int) -> str | None:
    """The hint if a list was meant: the position is in `IN $1`, or in `IN ($1)` of an array."""
    is_alone = query.startswith("$", at) and re.search(_LIST_WITHOUT_PARENTHESES, query[:at])
    return _ONE_VALUE if is_alone or re.match(_LIST_IN_PARENTHESES, query[at:]) else None


def _no_placeholder(written: str) -> str:
    return f"HINT: {written} is not a placeholder here: {_TAKEN}"

"""The words of an SQL text: what is code, and what is quoted or a comment."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What a name begins with, and what it goes on with, as the server reads it: of all characters
# beyond ASCII it knows no more than that they may stand in names. Each class tells the ASCII
# characters that it leaves out: a range up to the last character takes milliseconds to compile.
_INITIAL = r"[^\x00-@\[-^`{-\x7f]"
_LETTER = r"[^\x00-/:-@\[-^`{-\x7f]"
_FRESH = rf"(?<!{_LETTER})(?<!\$)"
# What begins something that is not code. A quote with E before it knows backslashes; a dollar quote
# begins where no name goes on.
_QUOTED = rf"""
    (?P<escape>{_FRESH}[eE]') | (?P<quote>') | (?P<name>")
    | (?P<line>--) | (?P<block>/\*)
    | {_FRESH}(?P<dollar>\$(?:{_INITIAL}{_LETTER}*)?\$)
"""
_NUMBER = rf"{_FRESH}\$(?P<number>[0-9]+)"
# The second colon of a cast begins no name, nor does one right behind what a slice begins with.
_NAME = rf"""(?P<cast>::) | (?<!{_LETTER})(?<![\])"]):(?P<named>{_INITIAL}{_LETTER}*)"""
_QUOTES_ALONE = f"(?x){_QUOTED}"
_NUMBERS = f"(?x){_QUOTED} | {_NUMBER}"
_NAMES = f"(?x){_QUOTED} | {_NUMBER} | {_NAME}"
_ENDS = {
    # A doubled quote stands for itself, and so does what follows a backslash where one counts. It
    # counts, too, in a part that goes on in a later line, with only space and comments between.
    "escape": r"(?sa)(?:[^'\\]|''|\\."
    r"|'(?:[ \t\f\v]|--[^\n\r]*+)*+[\n\r](?:\s|--[^\n\r]*+[\n\r])*+')*+(?:'|\Z)",
    "quote": r"(?:[^']|'')*(?:'|\Z)",
    "name": r'(?:[^"]|"")*(?:"|\Z)',
    "line": r"[^\n\r]*",
}
_WORD = r"[A-Za-z]+"
_BETWEEN = r"\s*+(?:--[^\n\r]*+[\n\r]\s*+)*+(?P<block>/\*)?"
_FROM_STDIN = r"(?i)\bFROM\s+STDIN\b"
_READS = {"SELECT", "SHOW", "TABLE", "VALUES"}
_QUOTES = {*_ENDS, "block", "dollar"}
_BLOCK_MARKS = r"/\*|\*/"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first used: that takes longer than to import the module."""
    return re.compile(pattern)


def operation_name(sql: str) -> str:
    """The command that a text begins with, in capitals."""
    position = 0
    while (found := _compiled(_BETWEEN).match(sql, position)) is not None and found["block"]:
        position = _block_end(sql, found.end())
    word = _compiled(_WORD).match(sql, position if found is None else found.end())
    return word[0].upper() if word else "QUERY"


def is_read(sql: str) -> bool:
    """Whether a text asks for rows, and says nowhere that it changes anything."""
    return operation_name(sql) in _READS


def is_copy_in(sql: str) -> bool:
    """Whether a text is a COPY that takes data from the client."""
    return operation_name(sql) == "COPY" and _compiled(_FROM_STDIN).search(sql) is not None


def replace_parameters(sql: str, replace: Callable[[int], str]) -> str:
    """The text with each parameter `$n` replaced; quoted texts and comments stay as they are."""
    return "".join(_replaced(sql, _compiled(_NUMBERS), lambda found: replace(int(found["number"]))))


def replace_names(sql: str, replace: Callable[[str], str]) -> str:
    """The text with each `:name` and each `$n` replaced, as `replace_parameters` does.

    Casts (`x::int`) stay as they are, and so do slices (`x[1:n]`), but for a colon that stands
    behind a space or a bracket that opens.
    """

    def parameter(found: re.Match[str]) -> str:
        return found[0] if found["cast"] else replace(found["named"] or found[0])

    return "".join(_replaced(sql, _compiled(_NAMES), parameter))


def pieces(sql: str) -> Iterator[tuple[str, str]]:
    """The text cut into code and what is not, each with its kind.

    The kinds are "code", "quote" and "escape" (literals), "name" (an identifier in quotes),
    "dollar", "line" and "block" (comments). Only code may be empty.
    """
    position = 0
    while (found := _compiled(_QUOTES_ALONE).search(sql, position)) is not None:
        yield "code", sql[position : found.start()]
        position = _end(sql, found)
        yield found.lastgroup or "", sql[found.start() : position]
    yield "code", sql[position:]


def _replaced(
    sql: str, beginnings: re.Pattern[str], replace: Callable[[re.Match[str]], str]
) -> Iterator[str]:
    position = 0
    while (found := beginnings.search(sql, position)) is not None:
        yield sql[position : found.start()]
        if found.lastgroup in _QUOTES:
            position = _end(sql, found)
            yield sql[found.start() : position]
        else:
            yield replace(found)
            position = found.end()
    yield sql[position:]


def _end(sql: str, found: re.Match[str]) -> int:
    """Behind the last character of what the match begins; the end of the text where it is open."""
    kind = found.lastgroup or ""
    if kind == "dollar":
        end = sql.find(found["dollar"], found.end())
        return len(sql) if end < 0 else end + len(found["dollar"])
    if kind == "block":
        return _block_end(sql, found.end())
    match = _compiled(_ENDS[kind]).match(sql, found.end())
    return len(sql) if match is None else match.end()


def _block_end(sql: str, position: int) -> int:
    """Comments of this kind stand within one another."""
    depth = 1
    for mark in _compiled(_BLOCK_MARKS).finditer(sql, position):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(sql)

"""A scanner of SQL that tells code from quoted text and comments."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The first and the later characters of an identifier. Like the server, they allow all characters
# beyond ASCII. Each class lists the ASCII characters that it excludes, because a range up to the
# last code point takes milliseconds to compile.
_INITIAL = r"[^\x00-@\[-^`{-\x7f]"
_LETTER = r"[^\x00-/:-@\[-^`{-\x7f]"
_FRESH = rf"(?<!{_LETTER})(?<!\$)"
# The beginnings of text that is not code. A quote after E allows backslash escapes; a dollar quote
# cannot begin within an identifier.
_QUOTED = rf"""
    (?P<escape>{_FRESH}[eE]') | (?P<quote>') | (?P<name>")
    | (?P<line>--) | (?P<block>/\*)
    | {_FRESH}(?P<dollar>\$(?:{_INITIAL}{_LETTER}*)?\$)
"""
_NUMBER = rf"{_FRESH}\$(?P<number>[0-9]+)"
# A named parameter does not begin at the second colon of a cast, nor directly after an operand,
# where the colon is that of a slice.
_NAME = rf"""(?P<cast>::) | (?<!{_LETTER})(?<![\])"]):(?P<named>{_INITIAL}{_LETTER}*)"""
_CAST = r"\s*::"
_QUOTES_ALONE = f"(?x){_QUOTED}"
_NUMBERS = f"(?x){_QUOTED} | {_NUMBER}"
_NAMES = f"(?x){_QUOTED} | {_NUMBER} | {_NAME}"
_ENDS = {
    # A doubled quote is literal; so is a character after a backslash in an escape string. A string
    # continues in a quote on a later line if only space and comments are between.
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
    """Compile a pattern at first use, because compiling takes longer than importing the module."""
    return re.compile(pattern)


def operation_name(sql: str) -> str:
    """Return the first word of a statement in upper case, or QUERY if there is none."""
    position = 0
    while (found := _compiled(_BETWEEN).match(sql, position)) is not None and found["block"]:
        position = _block_end(sql, found.end())
    word = _compiled(_WORD).match(sql, position if found is None else found.end())
    return word[0].upper() if word else "QUERY"


def is_read(sql: str) -> bool:
    """Return whether a statement begins with a command that only reads."""
    return operation_name(sql) in _READS


def is_copy_in(sql: str) -> bool:
    """Return whether a statement is a COPY ... FROM STDIN."""
    return operation_name(sql) == "COPY" and _compiled(_FROM_STDIN).search(sql) is not None


def replace_parameters(sql: str, replace: Callable[[int], str]) -> str:
    """Replace each parameter `$n`; quoted text and comments are left unchanged."""
    return "".join(_replaced(sql, _compiled(_NUMBERS), lambda found: replace(int(found["number"]))))


def uncast_parameters(sql: str) -> tuple[int, ...]:
    """Return the numbers of the parameters `$n` that occur without a cast directly behind them."""
    numbers: set[int] = set()

    def note(found: re.Match[str]) -> str:
        if _compiled(_CAST).match(sql, found.end()) is None:
            numbers.add(int(found["number"]))
        return found[0]

    for _piece in _replaced(sql, _compiled(_NUMBERS), note):
        pass
    return tuple(sorted(numbers))


def replace_names(sql: str, replace: Callable[[str], str]) -> str:
    """Replace each `:name` and each `$n`; quoted text and comments are left unchanged.

    Casts (`x::int`) and slices (`x[1:n]`) are left unchanged, too. But a colon after a space or an
    opening bracket begins a name even in a slice.
    """

    def parameter(found: re.Match[str]) -> str:
        return found[0] if found["cast"] else replace(found["named"] or found[0])

    return "".join(_replaced(sql, _compiled(_NAMES), parameter))


def pieces(sql: str) -> Iterator[tuple[str, str]]:
    """Split the text; yield the kind of each piece and the piece.

    The kinds are "code", "quote" and "escape" (literals), "name" (a quoted identifier), "dollar"
    (a dollar-quoted literal), "line" and "block" (comments). Only code may be empty.
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
    """Return the end of the quoted text or comment that the match begins."""
    kind = found.lastgroup or ""
    if kind == "dollar":
        end = sql.find(found["dollar"], found.end())
        return len(sql) if end < 0 else end + len(found["dollar"])
    if kind == "block":
        return _block_end(sql, found.end())
    match = _compiled(_ENDS[kind]).match(sql, found.end())
    return len(sql) if match is None else match.end()


def _block_end(sql: str, position: int) -> int:
    """Return the end of a block comment; block comments nest."""
    depth = 1
    for mark in _compiled(_BLOCK_MARKS).finditer(sql, position):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(sql)

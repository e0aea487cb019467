"""A statement's summary: its operations and tables, as OpenTelemetry's `db.query.summary`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from colonnade._driver.sql.sql_text import operation_name, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHER = "other"
"""The summary of statements beyond the limit."""

# Texts are kept as keys of the cache, so long ones are not; in a long one, only this part is read.
_READ_CHARACTERS = 4096
_WORDS_MAX = 12
_LENGTH_MAX = 255

_TOKEN = re.compile(r"(?P<word>[^\W\d][\w$]*)|(?P<mark>\S)")
_VERBS = {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"}
# These make a verb a part of a clause: FOR UPDATE, ON CONFLICT DO UPDATE, WHEN MATCHED THEN UPDATE.
_BEFORE_NO_VERB = {"FOR", "KEY", "DO", "ON", "THEN", "BEFORE", "AFTER", "OF", "OR"}
# Names after these are tables; of some, a list of tables.
_BEFORE_LISTS = {"FROM", "TABLE", "TRUNCATE", "USING"}
_BEFORE_TABLES = {*_BEFORE_LISTS, "JOIN", "INTO", "UPDATE", "COPY"}
# Words between such a word and the table, and words in place of a table.
_FILLERS = {"ONLY", "LATERAL", "IF", "NOT", "EXISTS", "TABLE"}
_NO_TABLES = {"STDIN", "PROGRAM", "ROWS", "UNNEST", "SET"}
_ENDS_OF_LISTS = {
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "RETURNING",
    "UNION",
    "WINDOW",
    "SET",
}
# Elsewhere FROM is about something else: FETCH FROM a cursor, REVOKE FROM a role.
_WITH_TABLES = {
    *_VERBS,
    *("ALTER", "COPY", "CREATE", "DECLARE", "DROP", "EXPLAIN", "TABLE", "TRUNCATE", "WITH"),
}


class Summaries:
    """Summarizes statements: gives out at most `limit` summaries, and `OTHER` after them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: set[str] = set()

    def of(self, text: str) -> str:
        """The summary of a statement."""
        summary = summary_of(text)
        if summary not in self._seen:
            if len(self._seen) >= self._limit:
                return OTHER
            self._seen.add(summary)
        return summary


def summary_of(text: str) -> str:
    """The operations and tables of a statement in their order; no value of the text is in it."""
    return _cached(text) if len(text) <= _READ_CHARACTERS else _read(text[:_READ_CHARACTERS])


def _read(text: str) -> str:
    # The server gets no text with a lone surrogate, and a file in UTF-8 cannot hold one.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    first = operation_name(text)
    words = [first[:_LENGTH_MAX]]
    if first in _WITH_TABLES:
        for word in _Reader(first, list(_tokens(text))).words():
            if word != words[-1]:
                words.append(word)
    while len(words) > _WORDS_MAX or len(" ".join(words)) > _LENGTH_MAX:
        words.pop()
    return " ".join(words)


_cached = lru_cache(1024)(_read)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """The kind of each token and the token: words, quoted names, other marks."""
    for kind, piece in pieces(text):
        if kind == "code":
            for found in _TOKEN.finditer(piece):
                yield found.lastgroup or "", found[0]
        elif kind == "name":
            yield "name", piece[1:-1]
        elif kind not in {"line", "block"}:
            yield "mark", "'"


class _Reader:
    """Finds the verbs and the tables among the tokens of a statement."""

    def __init__(self, first: str, tokens: list[tuple[str, str]]) -> None:
        self._first = first
        self._tokens = tokens
        self._at = 0
        # For each open parenthesis, whether it has a statement: EXTRACT(year FROM day) has none.
        self._is_statement = [True]
        # The same for lists of tables, in which a comma is followed by another table.
        self._is_list = [False]
        self._is_expected = False
        # The names of WITH queries are no tables.
        self._common: set[str] = set()

    def words(self) -> Iterator[str]:
        """The verbs and the tables, in the order of the text."""
        before = ""
        while self._at < len(self._tokens):
            kind, token = self._tokens[self._at]
            upper = token.upper() if kind == "word" else ""
            self._at += 1
            if kind == "mark":
                self._read_mark(token)
            elif upper in _VERBS and before not in _BEFORE_NO_VERB:
                self._is_statement[-1] = True
                self._is_list[-1] = False
                self._is_expected = upper == "UPDATE"
                yield upper
            elif upper in _BEFORE_TABLES:
                self._read_introduction(upper, before)
            elif upper in _ENDS_OF_LISTS:
                self._is_list[-1] = self._is_expected = False
            elif upper in _FILLERS:
                pass
            elif self._is_expected and upper not in _NO_TABLES:
                self._is_expected = False
                name = self._whole_name(kind, token)
                if name not in self._common:
                    yield name
            elif self._begins_common(before):
                self._common.add(token.lower() if kind == "word" else token)
            before = upper

    def _read_mark(self, mark: str) -> None:
        self._is_expected = mark == "," and self._is_list[-1]
        if mark == "(":
            self._is_statement.append(False)
            self._is_list.append(False)
        elif mark == ")" and len(self._is_list) > 1:
            self._is_statement.pop()
            self._is_list.pop()

    def _read_introduction(self, upper: str, before: str) -> None:
        if upper == "USING" and self._first not in {"DELETE", "MERGE"}:
            return
        if upper == "JOIN":
            self._is_expected = True
            return
        is_clause = self._is_statement[-1] and (upper != "COPY" or self._first == "COPY")
        self._is_expected = is_clause and before not in {*_BEFORE_NO_VERB, "DISTINCT"}
        self._is_list[-1] = self._is_expected and upper in _BEFORE_LISTS

    def _whole_name(self, kind: str, token: str) -> str:
        """The name that begins with this token, with its schema."""
        parts = [token.lower() if kind == "word" else token]
        while self._tokens[self._at : self._at + 1] == [("mark", ".")]:
            kind, token = next(iter(self._tokens[self._at + 1 : self._at + 2]), ("mark", ""))
            if kind == "mark":
                break
            parts.append(token.lower() if kind == "word" else token)
            self._at += 2
        return ".".join(parts)

    def _begins_common(self, before: str) -> bool:
        if self._first != "WITH":
            return False
        following = [token.upper() for _, token in self._tokens[self._at : self._at + 2]]
        return before in {"WITH", "RECURSIVE"} or (
            following[:1] == ["AS"] and following[1:] in (["("], ["MATERIALIZED"], ["NOT"])
        )

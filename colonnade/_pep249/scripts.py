"""Several statements in one text."""

from __future__ import annotations

import functools
import re

from colonnade._sql_text import pieces

__all__ = ["is_script", "with_rows"]

# Texts of which it is known whether they are scripts: as many as a program has queries.
_KEPT_TEXTS = 1024

# A statement that begins with these words may give rows, as one with RETURNING may.
_GIVES_ROWS = re.compile(
    r"\s*(?:SELECT|WITH|VALUES|TABLE|SHOW|EXPLAIN|FETCH|EXECUTE|CALL)\b", re.IGNORECASE
)
_RETURNS = re.compile(r"\bRETURNING\b", re.IGNORECASE)
# These have a say about the transaction, or semicolons of their own: the server takes them apart.
_WHOLE = re.compile(
    r"\bATOMIC\b|(?:\A|;)\s*(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|PREPARE"
    r"|COPY|VACUUM|DO)\b",
    re.IGNORECASE,
)


def with_rows(script: str) -> list[str] | None:
    """The statements one by one, where one of them may give rows; None where none does.

    None, too, where they cannot be sent one by one.
    """
    code: list[str] = []
    statements = [""]
    for kind, text in pieces(script):
        if kind in {"line", "block"}:
            # A comment separates tokens.
            statements[-1] += " "
            continue
        if kind != "code":
            code.append("q")
            statements[-1] += text
            continue
        code.append(text)
        first, *others = text.split(";")
        statements[-1] += first
        statements += others
    if _WHOLE.search("".join(code)):
        return None
    statements = [statement.strip() for statement in statements if statement.strip()]
    may_give = any(_GIVES_ROWS.match(each) or _RETURNS.search(each) for each in statements)
    return statements if may_give else None


@functools.lru_cache(_KEPT_TEXTS)
def is_script(query: str) -> bool:
    """Whether a text may hold more than one statement."""
    if ";" not in query:
        return False
    code = "".join(text if kind == "code" else "q" for kind, text in _without_comments(query))
    return ";" in code.rstrip("; \t\r\n\f\v")


def _without_comments(query: str) -> list[tuple[str, str]]:
    return [piece for piece in pieces(query) if piece[0] not in {"line", "block"}]

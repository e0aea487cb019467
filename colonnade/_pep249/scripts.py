"""Scripts: texts of several statements."""

from __future__ import annotations

import functools
import re

from colonnade._driver.sql.sql_text import pieces

__all__ = ["is_script", "with_rows"]

# How many answers of `is_script` are cached: more than most programs have queries.
_KEPT_TEXTS = 1024

# A statement that begins with one of these words may return rows; so may one with RETURNING.
_GIVES_ROWS = re.compile(
    r"\s*(?:SELECT|WITH|VALUES|TABLE|SHOW|EXPLAIN|FETCH|EXECUTE|CALL)\b", re.IGNORECASE
)
_RETURNS = re.compile(r"\bRETURNING\b", re.IGNORECASE)
# Statements that control transactions, need to run outside of one, or contain semicolons. A script
# with one of them is sent whole, and the server splits it.
_WHOLE = re.compile(
    r"\bATOMIC\b|(?:\A|;)\s*(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|PREPARE"
    r"|COPY|VACUUM|DO)\b",
    re.IGNORECASE,
)


def with_rows(script: str) -> list[str] | None:
    """Split a script into statements that can be sent one by one.

    Returns None if they cannot, or if none of them may return rows.
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
    """Return whether a text may hold more than one statement."""
    if ";" not in query:
        return False
    code = "".join(text if kind == "code" else "q" for kind, text in _without_comments(query))
    return ";" in code.rstrip("; \t\r\n\f\v")


def _without_comments(query: str) -> list[tuple[str, str]]:
    return [piece for piece in pieces(query) if piece[0] not in {"line", "block"}]

"""Several statements in one text."""

from __future__ import annotations

import re

from colonnade._sql_text import pieces

# A statement that begins so may give rows; so does one that returns what it has changed.
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
            # A comment separates what it stands between.
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

"""Names of tables and columns in SQL."""

from __future__ import annotations

import re

_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_TABLE = re.compile(rf"\s*{_NAME}(?:\s*\.\s*{_NAME})?\s*\Z")


def is_table(text: str) -> bool:
    """Whether a text is the name of a table, with or without schema, and not a query."""
    return _TABLE.match(text) is not None

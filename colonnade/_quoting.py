"""Names and strings as SQL text: the one place where they are quoted."""

from __future__ import annotations


def quote_identifier(name: str) -> str:
    """A name as SQL text; it may hold any character but NUL, which no statement can hold.

    The server cuts names off after 63 bytes, quoted or not.
    """
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quote_literal(text: str) -> str:
    """A string as SQL text, whatever `standard_conforming_strings` is.

    It may hold any character but NUL. No letter may stand directly in front of it.
    """
    escaped = text.replace("'", "''")
    if "\\" in escaped:
        doubled = escaped.replace("\\", "\\\\")
        return f"E'{doubled}'"
    return f"'{escaped}'"

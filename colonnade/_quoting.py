"""Quoting of SQL identifiers and literals; no other module does it."""

from __future__ import annotations


def quote_identifier(name: str) -> str:
    """Quote an identifier, which may contain any character except NUL.

    The server truncates identifiers to 63 bytes, quoted or not.
    """
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quote_literal(text: str) -> str:
    """Quote a string literal, for any setting of `standard_conforming_strings`.

    The string may contain any character except NUL. In the statement, no letter may directly
    precede the literal.
    """
    escaped = text.replace("'", "''")
    if "\\" in escaped:
        doubled = escaped.replace("\\", "\\\\")
        return f"E'{doubled}'"
    return f"'{escaped}'"

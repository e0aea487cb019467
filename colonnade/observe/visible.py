"""Texts of strangers, made safe for a terminal, a file or a picture."""

from __future__ import annotations

TEXT_MOST = 300


def visible(text: str, most: int = TEXT_MOST) -> str:
    """Escape every character that does not show, and cut the text."""
    shown = "".join(
        character if character.isprintable() else ascii(character)[1:-1]
        for character in text[:most]
    )
    return shown if len(text) <= most else f"{shown}..."

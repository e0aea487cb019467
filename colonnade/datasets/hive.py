"""Values of columns as names of folders: `day=2026-01-01`, as Hive has them."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import TYPE_CHECKING

from colonnade._words.shown import shown
from colonnade.errors import InterfaceError, InterfaceValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

NULL = "__HIVE_DEFAULT_PARTITION__"
# All other characters are percent-encoded: readers decode them, and file systems and shells give
# some of them a meaning.
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
# File systems have names of at most 255 bytes.
_NAME_BYTES_MAX = 255


def check_key_name(name: str) -> None:
    """Raise InterfaceValueError for a column whose folders readers would skip."""
    if name.startswith(("_", ".")):
        raise InterfaceValueError(
            f'partition_by names the column "{name}", and readers skip folders that begin with '
            f"{name[0]}",
            hint="select it under another name, and take that",
        )


def folder_of(names: Sequence[str], values: Sequence[object]) -> str:
    """Return the path of a partition's folder below the dataset's, with slashes.

    Raises InterfaceError for a value that no reader would get back.
    """
    pairs = zip(names, values, strict=True)
    return "/".join(f"{escaped(name)}={_segment(name, value)}" for name, value in pairs)


def _segment(name: str, value: object) -> str:
    if value is None:
        return NULL
    text = text_of(value)
    if text in {"", NULL}:
        raise InterfaceError(
            f'the column "{name}" has the value {shown(text)}, which readers of partitions take '
            "for NULL",
            hint=f"select another value for it, such as nullif(\"{name}\", '')",
        )
    segment = escaped(text)
    if len(segment) + len(escaped(name)) >= _NAME_BYTES_MAX:
        raise InterfaceError(
            f'the column "{name}" has a value that is too long for the name of a folder: '
            f"{shown(text)}"
        )
    return segment


def escaped(text: str) -> str:
    """Return a text with all characters percent-encoded that are not letters, digits, - and _."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8"))


def text_of(value: object) -> str:
    """Return a key's value as a text that the server and every reader of partitions understand."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, int | str | uuid.UUID):
        return str(value)
    raise TypeError(f"a key cannot be {shown(value)}")

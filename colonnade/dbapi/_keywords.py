"""libpq's connection parameters (keywords) among the arguments of `connect`."""

from __future__ import annotations

import inspect
import os
from typing import Any
from urllib.parse import quote

from colonnade import sync
from colonnade._words.shown import class_name
from colonnade.errors import ConfigurationTypeError

_ARGUMENTS = frozenset(inspect.signature(sync.connect).parameters) - {"dsn"}
# libpq's keyword -> the driver's argument of another name.
_RENAMED = {"dbname": "database"}


def split_words(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split into arguments of the driver's `connect` and keywords that go into the DSN."""
    arguments: dict[str, Any] = {}
    words: dict[str, str] = {}
    for name, value in options.items():
        renamed = _RENAMED.get(name, name)
        if renamed in _ARGUMENTS:
            arguments[renamed] = value
        elif value is not None:
            if not isinstance(value, str | int | float | os.PathLike):
                msg = f"{name} must be a str, not {class_name(value)}"
                raise ConfigurationTypeError(msg)
            words[name] = os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)
    return arguments, words


def with_words(dsn: str | None, words: dict[str, str]) -> str | None:
    """Add keywords to the DSN, in the notation that it uses (URL or keyword=value)."""
    if not words:
        return dsn
    dsn = dsn and dsn.strip()
    if dsn and dsn.startswith(("postgresql://", "postgres://")):
        query = "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in words.items())
        return f"{dsn}{'&' if '?' in dsn else '?'}{query}"
    return " ".join([dsn or "", *(f"{name}={_quoted(value)}" for name, value in words.items())])


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

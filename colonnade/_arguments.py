"""Arguments of a wrong class or size, refused by the names of their options."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from colonnade._shown import class_name, shown


def check_count(option: str, value: object) -> None:
    """Refuse whatever is no whole number from 1 on, or more than can be counted."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        msg = f"{option} must be a whole number, not {shown(value)}"
        raise TypeError(msg)
    if value < 1:  # type: ignore[operator]
        msg = f"{option} must be 1 or more, not {shown(value)}"
        raise ValueError(msg)
    if value > sys.maxsize:  # type: ignore[operator]
        msg = f"{option} must be less than 2^63, not {shown(value)}"
        raise ValueError(msg)


def check_name(option: str, value: object) -> None:
    """Refuse a name that is no text."""
    if not isinstance(value, str):
        msg = f"{option} must be a str, not {class_name(value)}"
        raise TypeError(msg)


def check_names(option: str, value: object) -> None:
    """Refuse what is neither None nor names of columns."""
    if value is not None and not isinstance(value, Iterable):
        msg = f"{option} must be names of columns, not {class_name(value)}"
        raise TypeError(msg)


def check_callable(option: str, value: object) -> None:
    """Refuse what is neither None nor a function."""
    if value is not None and not callable(value):
        msg = f"{option} must be a function, not {class_name(value)}"
        raise TypeError(msg)

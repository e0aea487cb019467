"""Arguments of a wrong class or size, refused by the names of their options."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping

from colonnade._shown import class_name, shown

# A longer time is no limit: operating systems count what they wait for in 31 bits of milliseconds.
LONGEST_WAIT_S = 2_000_000


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


def check_number(option: str, value: object) -> None:
    """Refuse what is no number; its size is for the caller to judge."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"{option} must be a number, not {class_name(value)}"
        raise TypeError(msg)


def check_switch(option: str, value: object) -> None:
    """Refuse what says neither yes nor no; a container's emptiness and a text do not."""
    if not hasattr(type(value), "__bool__"):
        msg = f"{option} must be True or False, not {class_name(value)}"
        raise TypeError(msg)


def check_name(option: str, value: object) -> None:
    """Refuse a name that is no text."""
    if not isinstance(value, str):
        msg = f"{option} must be a str, not {class_name(value)}"
        raise TypeError(msg)


def column_error(error: KeyError, column: object) -> Exception:
    """Why a record has nothing for a `column`: what was given may be no name at all."""
    if isinstance(column, str | int):
        return error
    return TypeError(f"column must be a column's name or its place, not {class_name(column)}")


def check_names(option: str, value: object) -> None:
    """Refuse what is neither None nor names of columns."""
    if value is not None and not isinstance(value, Iterable):
        msg = f"{option} must be names of columns, not {class_name(value)}"
        raise TypeError(msg)


def check_values(option: str, value: object) -> None:
    """Refuse what is no sequence of values."""
    if not isinstance(value, Iterable):
        msg = f"{option} must be a sequence, not {class_name(value)}"
        raise TypeError(msg)


def check_mapping(option: str, value: object) -> None:
    """Refuse what is neither None nor a mapping."""
    if value is not None and not isinstance(value, Mapping):
        msg = f"{option} must be a mapping, not {class_name(value)}"
        raise TypeError(msg)


def check_callable(option: str, value: object) -> None:
    """Refuse what is neither None nor a function."""
    if value is not None and not callable(value):
        msg = f"{option} must be a function, not {class_name(value)}"
        raise TypeError(msg)


def checked_timeout(timeout: float | None) -> float | None:
    """The timeout in seconds, or an error that says what a timeout can be."""
    if timeout is None:
        return None
    if not _is_time(timeout):
        msg = f"invalid timeout value: expected a number of seconds or None, got {shown(timeout)}"
        raise ValueError(msg)
    return None if timeout > LONGEST_WAIT_S else float(timeout)


def _is_time(value: object) -> bool:
    # NaN is not even below infinity.
    return not isinstance(value, bool) and isinstance(value, int | float) and value <= math.inf

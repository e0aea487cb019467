"""Checks of arguments; each error names the option and what it accepts."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterable, Mapping
from typing import SupportsIndex

from colonnade._words.shown import class_name, shown

# A longer timeout means no limit: operating systems store waits as 31-bit milliseconds.
LONGEST_WAIT_S = 2_000_000
# Python has them of bytes that are not UTF-8, decoded with errors="surrogateescape", as of paths.
HALF = "half of a surrogate pair, which is not valid UTF-8: PostgreSQL cannot hold it"
NUL = "a NUL character, which PostgreSQL cannot hold"


def check_count(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an integer, ValueError unless it is from 1 to 2^63 - 1."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        msg = f"{option} must be a whole number, not {shown(value)}"
        raise TypeError(msg)
    if value < 1:  # type: ignore[operator]
        msg = f"{option} must be 1 or more, not {shown(value)}"
        raise ValueError(msg)
    if value > sys.maxsize:  # type: ignore[operator]
        msg = f"{option} must be less than 2^63, not {shown(value)}"
        raise ValueError(msg)


def check_whole(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an int; the caller checks its range."""
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"{option} must be a whole number, not {shown(value)}"
        raise TypeError(msg)


def whole(option: str, value: SupportsIndex) -> int:
    """Return an integer of any kind, such as NumPy's, as an int; raise TypeError for others."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        msg = f"{option} must be a whole number, not {shown(value)}"
        raise TypeError(msg)
    return operator.index(value)


def check_number(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an int or a float; the caller checks its range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"{option} must be a number, not {class_name(value)}"
        raise TypeError(msg)


def check_switch(option: str, value: object) -> None:
    """Raise TypeError for an object without `__bool__`, such as a str or a list."""
    if not hasattr(type(value), "__bool__"):
        msg = f"{option} must be True or False, not {class_name(value)}"
        raise TypeError(msg)


def check_text(option: str, value: object) -> None:
    """Raise TypeError unless `value` is a str."""
    if not isinstance(value, str):
        msg = f"{option} must be a str, not {class_name(value)}"
        raise TypeError(msg)


def check_name(option: str, value: object) -> None:
    """Raise TypeError unless `value` is a str, ValueError for one that PostgreSQL cannot get."""
    check_text(option, value)
    if (fault := fault_of(str(value))) is not None:
        raise ValueError(f"{option} has {fault}")


def fault_of(text: str) -> str | None:
    """The part of a text that PostgreSQL cannot get, in words."""
    if not is_whole(text):
        return HALF
    return NUL if "\0" in text else None


def is_whole(text: str) -> bool:
    """Whether a text has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def column_error(error: KeyError, column: object) -> Exception:
    """Return the error to raise for `column` of a record: TypeError if it cannot name a column."""
    if isinstance(column, str | int):
        return error
    return TypeError(f"column must be a column's name or position, not {class_name(column)}")


def check_names(option: str, value: object) -> None:
    """Raise TypeError unless `value` is None or an iterable."""
    if value is not None and not isinstance(value, Iterable):
        msg = f"{option} must be names of columns, not {class_name(value)}"
        raise TypeError(msg)


def check_values(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an iterable."""
    if not isinstance(value, Iterable):
        msg = f"{option} must be a sequence, not {class_name(value)}"
        raise TypeError(msg)


def check_mapping(option: str, value: object) -> None:
    """Raise TypeError unless `value` is None or a mapping."""
    if value is not None and not isinstance(value, Mapping):
        msg = f"{option} must be a mapping, not {class_name(value)}"
        raise TypeError(msg)


def check_callable(option: str, value: object) -> None:
    """Raise TypeError unless `value` is None or callable."""
    if value is not None and not callable(value):
        msg = f"{option} must be a function, not {class_name(value)}"
        raise TypeError(msg)


def checked_timeout(timeout: float | None, option: str = "timeout") -> float | None:
    """Return the timeout in seconds, None for no limit. Raises ValueError for any other object."""
    if timeout is None:
        return None
    if not _is_time(timeout):
        msg = f"invalid {option} value: expected a number of seconds or None, got {shown(timeout)}"
        raise ValueError(msg)
    return None if timeout > LONGEST_WAIT_S else float(timeout)


def _is_time(value: object) -> bool:
    # The comparison is false for NaN.
    return not isinstance(value, bool) and isinstance(value, int | float) and value <= math.inf

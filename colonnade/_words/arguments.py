"""Checks of arguments, and the rule for their errors.

- An argument of the wrong type is a TypeError; one of the right type with a wrong value, or that
  another argument rules out, is a ValueError.
- A call in the wrong state (closed, in use, not started) is an InterfaceError, and so is one that
  does not fit what the server has, such as a table without the column.
- `connect` refuses each option by a ClientConfigurationError, which is a ValueError; of the wrong
  type it is a ConfigurationTypeError, also a TypeError.

asyncpg, or version 0.1, raises InterfaceError or ValueError for some of these: then the error is
of both classes (InterfaceTypeError, InterfaceValueError, ArgumentTypeError), and keeps the words
that asyncpg's tests look for. `dbapi` and the dialect of SQLAlchemy raise the classes of PEP 249
where it names one. Each message names the argument, says what it must be, and shows the given one
in the manner of `shown.py`. An argument is refused before anything is sent.
"""

from __future__ import annotations

import contextlib
import math
import operator
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import SupportsIndex

from colonnade._words.shown import class_name, shown

# A longer timeout means no limit: operating systems store waits as 31-bit milliseconds.
LONGEST_WAIT_S = 2_000_000
# Longer times than thirty years are mistakes, or meant as none.
_SECONDS_MOST = 10**9
# Python has them of bytes that are not UTF-8, decoded with errors="surrogateescape", as of paths.
HALF = "half of a surrogate pair, which is not valid UTF-8: PostgreSQL cannot hold it"
NUL = "a NUL character, which PostgreSQL cannot hold"


class ArgumentTypeError(TypeError, ValueError):
    """An argument of the wrong type, for which asyncpg raises ValueError, such as a timeout."""


def check_count(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an integer, ValueError unless it is from 1 to 2^63 - 1."""
    count = whole(option, value)
    if count < 1:
        msg = f"{option} must be 1 or more, not {shown(value)}"
        raise ValueError(msg)
    if count > sys.maxsize:
        msg = f"{option} must be less than 2^63, not {shown(value)}"
        raise ValueError(msg)


def check_size(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an int, ValueError if it is negative."""
    check_whole(option, value)
    if value < 0:  # type: ignore[operator]
        msg = f"{option} must be 0 or more, not {shown(value)}"
        raise ValueError(msg)


def check_whole(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an int; the caller checks its range."""
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"{option} must be a whole number, not {shown(value)}"
        raise TypeError(msg)


def whole(option: str, value: SupportsIndex | object) -> int:
    """Return an integer of any kind, such as NumPy's, as an int; raise TypeError for others."""
    if not isinstance(value, bool):
        # Arrays have the method, and raise TypeError.
        with contextlib.suppress(TypeError):
            return operator.index(value)  # type: ignore[arg-type]
    msg = f"{option} must be a whole number, not {shown(value)}"
    raise TypeError(msg)


def check_number(option: str, value: object) -> None:
    """Raise TypeError unless `value` is an int or a float; the caller checks its range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"{option} must be a number, not {class_name(value)}"
        raise TypeError(msg)


def check_between(option: str, value: object, least: float, most: float, unit: str = "") -> None:
    """Raise TypeError unless `value` is a number, ValueError unless it is within the limits."""
    check_number(option, value)
    # The comparison is false for NaN.
    if not least <= value <= most:  # type: ignore[operator]
        limits = f"from {_digits(least)} to {_digits(most)}"
        msg = f"{option} must be {limits}{unit and ' '}{unit}, not {shown(value)}"
        raise ValueError(msg)


def check_seconds(option: str, value: object) -> None:
    """Raise TypeError or ValueError unless `value` is a positive, finite number of seconds."""
    check_number(option, value)
    if not 0 < value <= _SECONDS_MOST:  # type: ignore[operator]
        msg = f"{option} must be more than 0 seconds, and at most 10^9, not {shown(value)}"
        raise ValueError(msg)


def check_pause(option: str, value: object) -> None:
    """Raise TypeError or ValueError unless `value` is a finite number of seconds, or 0."""
    check_between(option, value, 0, _SECONDS_MOST, "seconds")


def check_lifetime(option: str, value: object) -> None:
    """Raise TypeError or ValueError unless `value` is 0 seconds or more; infinity never ends."""
    check_number(option, value)
    if not value >= 0:  # type: ignore[operator]
        msg = f"{option} must be 0 seconds or more, not {shown(value)}"
        raise ValueError(msg)


def _digits(limit: float) -> str:
    return "10^9" if limit == _SECONDS_MOST else f"{limit:g}" if limit % 1 else f"{limit:.0f}"


def check_choice(option: str, value: object, choices: Collection[str]) -> None:
    """Raise TypeError unless `value` is a str, ValueError unless it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        known = f"{', '.join(others)} or {last}" if others else last
        msg = f"{option} must be {known}, not {shown(value)}"
        raise ValueError(msg) if isinstance(value, str) else TypeError(msg)


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


def check_class(option: str, value: object, base: type) -> None:
    """Raise TypeError unless `value` is a class that inherits from one of Colonnade's."""
    if not isinstance(value, type) or not issubclass(value, base):
        wanted = f"{option} is expected to be a subclass of colonnade.{base.__name__}"
        raise TypeError(f"{wanted}, got {shown(value)}")


def check_callable(option: str, value: object) -> None:
    """Raise TypeError unless `value` is None or callable."""
    if value is not None and not callable(value):
        msg = f"{option} must be a function, not {class_name(value)}"
        raise TypeError(msg)


def checked_timeout(timeout: float | None, option: str = "timeout") -> float | None:
    """Return the timeout in seconds, None for no limit, which infinity is, too.

    Raises ArgumentTypeError for an object of another class, ValueError for NaN.
    """
    if timeout is None:
        return None
    given: object = timeout
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    # The comparison is false for NaN.
    if not is_number or not timeout <= math.inf:
        wanted = f"invalid {option} value: expected a number of seconds or None"
        refusal = ValueError if is_number else ArgumentTypeError
        raise refusal(f"{wanted}, got {shown(timeout)}")
    return None if timeout > LONGEST_WAIT_S else float(timeout)

"""The output of this folder's programs: a line for each answer, without the driver's name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

#: "usual" is the library's usual driver, "colonnade" ours.
DRIVER, DSN = sys.argv[1:3]


def stand_in_for_asyncpg() -> None:
    """Make `import asyncpg` give Colonnade if this run uses it."""
    if DRIVER == "colonnade":
        import colonnade

        colonnade.install_as_asyncpg()


def engine_url(usual: str, ours: str = "postgresql+colonnade") -> Any:
    """The URL of an SQLAlchemy engine on this run's driver."""
    import sqlalchemy as sa

    return sa.make_url(DSN).set(drivername=usual if DRIVER == "usual" else ours)


def answer(name: str, value: object) -> None:
    """Print a value under a name."""
    print(json.dumps([name, told(value)]), flush=True)  # noqa: T201


def answer_error(name: str, call: Callable[[], object]) -> None:
    """Print the error of a call."""
    try:
        value = call()
    except Exception as error:  # noqa: BLE001
        answer(name, error)
    else:
        answer(name, ["no error", value])


def told(value: Any) -> Any:
    """A value as JSON, with the class of each part."""
    if isinstance(value, BaseException):
        return _error(value)
    if isinstance(value, Mapping) or hasattr(value, "keys"):
        return {str(key): told(value[key]) for key in value.keys()}  # noqa: SIM118 - a Record
    if isinstance(value, list | tuple):
        return [told(part) for part in value]
    if isinstance(value, str):
        return value
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [f"{value.dtype}", told(value.tolist())]
    return f"{type(value).__name__} {value!r}"


def _error(error: BaseException) -> list[Any]:
    """The error's class, and the SQLSTATE and class of the driver's error that caused it."""
    below: BaseException = getattr(error, "orig", None) or error
    below = getattr(below, "__cause__", None) or below
    return [type(error).__name__, getattr(below, "sqlstate", None)]

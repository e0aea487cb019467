"""The arguments of `add`: the names of its table, and the options beside the payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from colonnade._words.arguments import (
    check_between,
    check_choice,
    check_pause,
    check_seconds,
    check_whole,
)
from colonnade._words.shown import class_name, shown

if TYPE_CHECKING:
    from colonnade.jobs.definition import Definition

OnConflict: TypeAlias = Literal["ignore", "replace", "again"]
ON_CONFLICT = ("ignore", "replace", "again")
ARRAYS_TABLE = "colonnade_jobs_beside"
_PRIORITY_MOST = 32_767
_SECONDS_MOST = 10**9
# Calls with more jobs use temporary tables.
_SMALL_MOST = 10_000
TYPES = {
    "key": "pg_catalog.text",
    "delay": "pg_catalog.float8",
    "priority": "smallint",
    "ttl": "pg_catalog.float8",
}
# The server looks at arrays, as `Beside` does at single values. The error has the name and the row.
LIMITS = {
    "delay": (
        ' CONSTRAINT "delay must be from 0 to 10^9 seconds" CHECK (job_delay'
        " OPERATOR(pg_catalog.>=) 0 AND job_delay OPERATOR(pg_catalog.<=) 1000000000)"
    ),
    "ttl": (
        ' CONSTRAINT "ttl must be more than 0 and at most 10^9 seconds" CHECK (job_ttl'
        " OPERATOR(pg_catalog.>) 0 AND job_ttl OPERATOR(pg_catalog.<=) 1000000000)"
    ),
}


def evident_names(source: Any) -> list[str] | None:
    """Return the names of a source's columns if it shows them; None if it must be read first."""
    if isinstance(source, Mapping):
        return [str(name) for name in source]
    for names in (
        getattr(source, "names", None),
        getattr(source, "columns", None),
        getattr(source, "column_names", None),
        getattr(getattr(source, "schema", None), "names", None),
        getattr(getattr(source, "dtype", None), "names", None),
    ):
        if isinstance(names, list | tuple) or type(names).__name__ == "Index":
            return [name for name in names if isinstance(name, str)]  # type: ignore[union-attr]
    return None


def records_of(source: Any) -> Sequence[Any] | None:
    """Return the source if it is a list of records (tuples, in the payload's order)."""
    if isinstance(source, list) and source and isinstance(source[0], tuple):
        return source
    return None


def size_of(source: Any) -> int | None:
    """Return the number of a source's rows, if it has it at hand."""
    if isinstance(source, Mapping):
        source = next(iter(source.values()), ())
    return len(source) if hasattr(source, "__len__") else None


class AddOptions:
    """The options of `add`: values for all jobs, or arrays with one value for each job."""

    def __init__(
        self,
        definition: Definition,
        table: Any,
        *,
        delay: Any,
        priority: Any,
        ttl: Any,
        key: Any,
        trace: Any,
        on_conflict: str,
    ) -> None:
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        self.replaces = on_conflict == "replace"
        self.is_again = on_conflict == "again"
        self.has_key = key is not None
        if on_conflict != "ignore" and not self.has_key:
            msg = f'on_conflict="{on_conflict}" needs a key: nothing else tells jobs apart'
            raise ValueError(msg)
        self.key_column: str | None = key if isinstance(key, str) else None
        if self.key_column is not None and self.key_column not in definition.payload:
            names = ", ".join(f'"{name}"' for name in definition.payload)
            msg = f"key names the column {shown(key)}, but the payload has {names}"
            raise ValueError(msg)
        if trace is not None and not isinstance(trace, str):
            msg = f"trace must be a str, such as a traceparent, not {class_name(trace)}"
            raise TypeError(msg)
        self.trace: str | None = trace
        self.arrays: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        if self.has_key and self.key_column is None:
            self.arrays["key"] = _texts(key)
        for option, value, check in (
            ("delay", delay, check_pause),
            ("priority", priority, _check_priority),
            ("ttl", ttl, check_seconds),
        ):
            if value is None:
                continue
            if isinstance(value, int | float | str) or not hasattr(value, "__len__"):
                check(option, value)
                self.constants[option] = value
            else:
                self.arrays[option] = value
        lists = _lists(self.arrays)
        self.is_large = lists is None or (size_of(table) or 0) > _SMALL_MOST
        """Whether it takes temporary tables, into which arrays are copied, too."""
        if not self.is_large and lists is not None:
            self.arrays = lists

    @property
    def is_plain(self) -> bool:
        """Whether each column beside the payload has its default."""
        return not (self.arrays or self.constants or self.has_key or self.trace is not None)


def _texts(keys: Any) -> list[str | None]:
    """Keys are text, for any type of the array; None is no key."""
    if not hasattr(keys, "__iter__"):
        msg = f"key must be a column of the payload or an array of keys, not {class_name(keys)}"
        raise TypeError(msg)
    given = keys.tolist() if hasattr(keys, "tolist") else list(keys)
    return [None if _is_missing(value) else str(value) for value in given]


def _lists(arrays: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Short arrays of plain numbers as lists. COPY takes odd values, and names their row."""
    lists: dict[str, list[Any]] = {}
    for option, values in arrays.items():
        if len(values) > _SMALL_MOST:
            return None
        given = values.tolist() if hasattr(values, "tolist") else list(values)
        if option != "key" and not all(one is None or _is_fit(option, one) for one in given):
            return None
        lists[option] = given
    return lists


def _is_fit(option: str, value: object) -> bool:
    if option == "priority":
        return type(value) is int and -_PRIORITY_MOST <= value <= _PRIORITY_MOST
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return (value > 0 or (option == "delay" and value == 0)) and value <= _SECONDS_MOST


def _is_missing(value: object) -> bool:
    """Whether it is None, NaN or NaT, which do not equal themselves, or NA, which cannot tell."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - see above
    except TypeError:
        return True


def _check_priority(option: str, value: object) -> None:
    check_whole(option, value)
    check_between(option, value, -_PRIORITY_MOST, _PRIORITY_MOST)

"""Rows in other shapes than `Record`: tuples, dictionaries, named tuples, objects, single values.

A row factory is a function that gets the names of a result's columns, once, and returns the
function that makes each row of its values:

    users = await conn.fetch("SELECT * FROM users", row_factory=class_row(User))

`shaped` does the same with records that are there already, wherever they come from. psycopg's
factories have the same names; they get a cursor where these get the names.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "RowFactory",
    "RowMaker",
    "args_row",
    "class_row",
    "dict_row",
    "kwargs_row",
    "namedtuple_row",
    "scalar_row",
    "shaped",
    "tuple_row",
]

Row = TypeVar("Row")

RowMaker = Callable[[Sequence[Any]], Row]
"""Makes a row of the values of its columns."""

RowFactory = Callable[[tuple[str, ...]], RowMaker[Row]]
"""Gets the names of the columns, and returns the function that makes the rows."""

# Named tuples whose classes are kept: as many as a program has shapes of results.
_KEPT_CLASSES = 512


def shaped(records: Iterable[Any], factory: RowFactory[Row]) -> list[Row]:
    """Make a row of each record of one result; all of them have the same columns."""
    records = records if isinstance(records, list) else list(records)
    if not records:
        return []
    make = factory(tuple(records[0].keys()))
    return list(map(make, records))


def tuple_row(names: tuple[str, ...]) -> RowMaker[tuple[Any, ...]]:
    """A plain tuple of the values."""
    del names
    return tuple


def dict_row(names: tuple[str, ...]) -> RowMaker[dict[str, Any]]:
    """A dictionary; of columns of the same name the last one stays, as in `Record`."""
    return lambda values: dict(zip(names, values, strict=True))


def namedtuple_row(names: tuple[str, ...]) -> RowMaker[Any]:
    """A named tuple; a name that Python does not allow becomes its place, such as `_1`."""
    make: RowMaker[Any] = _namedtuple(names)._make
    return make


@functools.lru_cache(_KEPT_CLASSES)
def _namedtuple(names: tuple[str, ...]) -> Any:
    make: Any = collections.namedtuple  # noqa: PYI024 - of names that nobody can declare
    return make("Row", names, rename=True)


def scalar_row(names: tuple[str, ...]) -> RowMaker[Any]:
    """The value of the first column. Raises InterfaceError for a result without columns."""
    if not names:
        msg = "a row without columns has no value"
        raise InterfaceError(msg)
    return itemgetter(0)


def class_row(kind: type[Row]) -> RowFactory[Row]:
    """An object of a class that takes the columns as keyword arguments.

    Dataclasses are such classes, and those of attrs and Pydantic.
    """
    return kwargs_row(kind)


def kwargs_row(function: Callable[..., Row]) -> RowFactory[Row]:
    """The results of a function that takes the columns as keyword arguments."""

    def factory(names: tuple[str, ...]) -> RowMaker[Row]:
        return lambda values: function(**dict(zip(names, values, strict=True)))

    return factory


def args_row(function: Callable[..., Row]) -> RowFactory[Row]:
    """The results of a function that takes the values in their order."""

    def factory(names: tuple[str, ...]) -> RowMaker[Row]:
        del names
        return lambda values: function(*values)

    return factory

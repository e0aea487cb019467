"""Row factories: rows as tuples, dictionaries, named tuples, objects or single values.

A row factory is a function that takes the column names of a result, once, and returns a function
that makes each row from its values:

    users = await conn.fetch("SELECT * FROM users", row_factory=class_row(User))

`shaped` converts records that were already fetched. psycopg's factories have the same names, but
take a cursor instead of the column names.
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
"""Makes a row from the values of its columns; NULL is None."""

RowFactory = Callable[[tuple[str, ...]], RowMaker[Row]]
"""Takes the names of the columns, and returns the function that makes the rows."""

# How many classes of named tuples are cached: more than most programs have kinds of results.
_KEPT_CLASSES = 512


def shaped(records: Iterable[Any], factory: RowFactory[Row]) -> list[Row]:
    """Convert the records of one result, which all have the same columns, by a row factory."""
    records = records if isinstance(records, list) else list(records)
    if not records:
        return []
    make = factory(tuple(records[0].keys()))
    return list(map(make, records))


def tuple_row(names: tuple[str, ...]) -> RowMaker[tuple[Any, ...]]:
    """Make each row a plain tuple of the values."""
    del names
    return tuple


def dict_row(names: tuple[str, ...]) -> RowMaker[dict[str, Any]]:
    """Make each row a dict; if several columns have the same name, the last one wins."""
    return lambda values: dict(zip(names, values, strict=True))


def namedtuple_row(names: tuple[str, ...]) -> RowMaker[Any]:
    """Make each row a named tuple; a name that Python does not allow becomes `_` and its index."""
    make: RowMaker[Any] = _namedtuple(names)._make
    return make


@functools.lru_cache(_KEPT_CLASSES)
def _namedtuple(names: tuple[str, ...]) -> Any:
    make: Any = collections.namedtuple  # noqa: PYI024 - the names are known at run time only
    return make("Row", names, rename=True)


def scalar_row(names: tuple[str, ...]) -> RowMaker[Any]:
    """Make each row the value of its first column.

    Raises InterfaceError for a result without columns.
    """
    if not names:
        msg = "a row without columns has no value"
        raise InterfaceError(msg)
    return itemgetter(0)


def class_row(kind: type[Row]) -> RowFactory[Row]:
    """Return a factory that makes each row an object of `kind`, with the columns as keywords.

    `kind` may be a dataclass, or a class of attrs or Pydantic.
    """
    return kwargs_row(kind)


def kwargs_row(function: Callable[..., Row]) -> RowFactory[Row]:
    """Return a factory that calls `function` for each row, with the columns as keywords."""

    def factory(names: tuple[str, ...]) -> RowMaker[Row]:
        return lambda values: function(**dict(zip(names, values, strict=True)))

    return factory


def args_row(function: Callable[..., Row]) -> RowFactory[Row]:
    """Return a factory that calls `function` for each row, with the values in their order."""

    def factory(names: tuple[str, ...]) -> RowMaker[Row]:
        del names
        return lambda values: function(*values)

    return factory

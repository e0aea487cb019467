"""Columns by their names or positions."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex

from colonnade._words.shown import class_name, shown

if TYPE_CHECKING:
    from colonnade._core import Batch


def position(batch: Batch, key: str | SupportsIndex) -> int:
    """The position of the column that a key names.

    Raises KeyError for a name that no column or several columns have, IndexError for a position out
    of range, and TypeError for another key.
    """
    if isinstance(key, str):
        found = batch.places.get(key, [])
        if len(found) != 1:
            raise KeyError(_not_one(batch, key, found))
        return found[0]
    try:
        index = operator.index(key)
    except TypeError:
        raise TypeError(
            f"a column's key must be its name or position, not {class_name(key)}"
        ) from None
    count = batch.num_columns
    if not -count <= index < count:
        raise IndexError(f"there is no column {index}: there are {count}")
    return index % count


def _not_one(batch: Batch, name: str, found: list[int]) -> str:
    import difflib

    if found:
        places = ", ".join(f"cols[{index}]" for index in found)
        return f'several columns are named "{name}": use {places}'
    names = [field.name for field in batch.fields]
    known = ", ".join(f'"{known}"' for known in names) or "none"
    close = difflib.get_close_matches(name, names, 1)
    hint = f' did you mean "{close[0]}"?' if close else ""
    return f'no column "{name}":{hint} there are {known}'


def selected(batch: Batch, keys: tuple[str | SupportsIndex, ...]) -> list[int]:
    """The positions of the columns that are chosen, each once. Raises ValueError otherwise."""
    indices = [position(batch, key) for key in keys]
    for index, count in Counter(indices).items():
        if count > 1:
            name = batch.fields[index].name
            raise ValueError(f'column "{name}" is chosen {count} times')
    return indices


def renamed(batch: Batch, names: Mapping[str, str]) -> list[str]:
    """The names of all columns after some got others.

    Raises KeyError for an unknown name, TypeError for a name that is no str, and ValueError for two
    columns that would have the same name.
    """
    result = [field.name for field in batch.fields]
    for old, new in names.items():
        for name in (old, new):
            _check_name(name)
        result[position(batch, old)] = new
    counts = Counter(result)
    for new in names.values():
        if counts[new] > 1:
            raise ValueError(f'{counts[new]} columns would have the name "{new}"')
    return result


def of_mapping(columns: object, named: dict[str, Any]) -> dict[str, Any]:
    """New columns by name, from a mapping and from arguments.

    Raises TypeError for another object and for a name that is no str, and ValueError for a name
    that is given twice.
    """
    if columns is None:
        return named
    if not isinstance(columns, Mapping):
        raise TypeError(f"new columns must be a mapping of names to arrays, not {shown(columns)}")
    for name in columns:
        _check_name(name)
        if name in named:
            raise ValueError(f'column "{name}" is given twice')
    return {**columns, **named}


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a column must be a str, not {class_name(name)}")

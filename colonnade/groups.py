"""Groups of rows with equal keys: of `Columns`, and of a stream of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._columns.grouped import Nulls, Result, check_keys, unknown, wanted_of
from colonnade._core.groups import RunningGroups
from colonnade._words.shown import class_name
from colonnade.columns import Columns, Groups
from colonnade.errors import SchemaError

if TYPE_CHECKING:
    from colonnade import _core

__all__ = ["Groups", "Nulls", "PartialGroups", "Result"]


class PartialGroups:
    """Groups and aggregates of a stream of `Columns`, in little memory.

    ``PartialGroups("city", total=("price", "sum"), orders="size")`` names the keys, and the results
    as ``Groups.aggregate`` does. `add` takes each batch, and `result` returns what
    ``group_by(...).aggregate(...)`` would return for all rows so far. The object does not read by
    itself, so that it serves asynchronous and blocking streams alike.

    Memory is taken by the keys and results of each group, and by up to 65,536 rows, or as many rows
    as there are groups, that wait to be grouped together. ``nunique`` also keeps each different
    pair of a group and a value.

    Safe to use in several threads. After an error in `add`, the object is of no further use.
    """

    __slots__ = ("_class", "_forms", "_groups", "_keys", "_used")

    def __init__(
        self, *names: str, sort: bool = False, nulls: Nulls = "group", **results: Result
    ) -> None:
        check_keys(names, sort, nulls)
        wanted = wanted_of(names, results)
        self._groups = RunningGroups(names, wanted, bool(sort), nulls == "drop")
        self._keys = names
        self._used = {*names, *(column for _, column, _ in wanted if column is not None)}
        # The PostgreSQL type and the Arrow type of each used column.
        self._forms: dict[str, tuple[str, str]] = {}
        self._class: type[Columns] | None = None

    def add(self, columns: Columns) -> None:
        """Add the rows of `columns`, which must have the named columns with always the same types.

        Raises KeyError for a name that not exactly one column has, TypeError for a type that cannot
        be a key or lacks an aggregate, SchemaError if a type differs from that of earlier batches,
        and OverflowError for a sum beyond its type; the latter may come with a later batch.
        """
        batch = getattr(columns, "_batch", None)
        if batch is None:
            msg = f"PartialGroups.add takes Columns, not {class_name(columns)}"
            raise TypeError(msg)
        forms = {field.name: _form(field) for field in batch.fields if field.name in self._used}
        for name, (kind, form) in forms.items():
            before = self._forms.get(name)
            if before is not None and before[0] == kind and before[1] != form:
                msg = f'the column "{name}" is {form}, and was {before[1]} in the batches before'
                raise SchemaError(msg)
        try:
            self._groups.add(batch)
        except KeyError as error:
            raise unknown(batch, error) from None
        except ValueError as error:
            raise SchemaError(str(error)) from None
        self._forms = forms
        self._class = columns.__class__

    def result(self) -> Columns:
        """Return the keys and results of all rows so far; more rows may be added afterwards.

        Raises ValueError before the first batch, which has the types, and OverflowError for a sum
        beyond its type.
        """
        batch = self._groups.result()
        if batch is None or self._class is None:
            raise ValueError("there is no result before a batch was added")
        return self._class(batch)

    def __repr__(self) -> str:
        names = ", ".join(f'"{name}"' for name in self._keys)
        rows, groups, pending = self._groups.counts()
        return (
            f"<PartialGroups by {names}: {groups:,} groups of {rows - pending:,} of {rows:,} rows>"
        )


def _form(field: _core.Field) -> tuple[str, str]:
    """Return the PostgreSQL type and the Arrow type; decimals may differ in their digits."""
    form = field.arrow_type
    return field.type_name, "decimal" if form.startswith("decimal") else form

"""Columns as a structured NumPy array: row by row in memory, with every value checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._columns.conversion.field_fill import FILLS, Target
from colonnade._columns.conversion.kinds import Kind, column_type, require_unique_names
from colonnade._columns.conversion.numpy import array_of
from colonnade._words.extras import needed_by
from colonnade._words.shown import shown
from colonnade.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from colonnade._core import Batch, Column

_USER = "Columns.to_structured()"
# Default dtypes that differ from the column's own; object if a fixed width would lose something.
_NATURAL = {Kind.DATE: "M8[D]", Kind.UUID: "O"}


def structured_array(batch: Batch, dtype: Any, null: Mapping[str, Any] | None) -> NDArray[np.void]:
    """Return the batch as one structured array; a field of `dtype` takes the column of its name."""
    with needed_by(_USER, "numpy"):
        import numpy as np
    require_unique_names(batch, _USER)
    row = np.dtype(_natural_fields(batch)) if dtype is None else _dtype(dtype)
    if row.names is None:
        raise SchemaError(
            f"{_USER} needs a structured dtype, not {row}",
            hint='Name the columns: np.dtype([("price", "f8"), ("name", "U20")]).',
        )
    positions = {field.name: index for index, field in enumerate(batch.fields)}
    replacements = dict(null or {})
    _refuse_unknown("dtype", row.names, positions)
    _refuse_unknown("null", replacements, row.names)
    targets = [_target(batch, positions[name], row[name], replacements, name) for name in row.names]
    # Zeroed, so that the padding of an aligned dtype does not leak old memory. Filling field by
    # field is as fast as native code that goes row by row: new pages cost more than the copies.
    array = np.zeros(batch.num_rows, dtype=row)
    for target in targets:
        array[target.name][...] = target.values()
    return array


def _dtype(given: Any) -> np.dtype[Any]:
    import numpy as np

    try:
        made: np.dtype[Any] = np.dtype(given)
    except (TypeError, ValueError) as error:
        msg = f"dtype must be a dtype of NumPy, not {shown(given)}"
        raise TypeError(msg) from error
    return made


def _natural_fields(batch: Batch) -> list[tuple[str, Any]]:
    fields: list[tuple[str, Any]] = []
    for index, field in enumerate(batch.fields):
        column = column_type(field.arrow_type)
        natural: Any = f"m8[{column.unit}]" if column.kind is Kind.TIME else column.values
        if column.kind is Kind.FIXED_LIST:
            natural = _fixed_list_dtype(batch.column(index))
        fields.append((field.name, _NATURAL.get(column.kind, natural or "O")))
    return fields


def _fixed_list_dtype(column: Column) -> np.dtype[Any] | None:
    """Return a subarray dtype; None if the elements are not floats."""
    import numpy as np

    array = array_of(column)
    return np.dtype((array.dtype, array.shape[1:])) if array.dtype.kind == "f" else None


def _refuse_unknown(argument: str, names: Iterable[str], known: Collection[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SchemaError(
            f'{argument} has "{unknown[0]}", which is not a column',
            hint="The columns are: " + ", ".join(f'"{name}"' for name in known) + ".",
        )


def _target(
    batch: Batch, index: int, dtype: np.dtype[Any], replacements: dict[str, Any], name: str
) -> Target:
    field = batch.fields[index]
    column = column_type(field.arrow_type)
    fills = FILLS[column.kind]
    # Only a list of a fixed length can be a subarray, and only one of the same length.
    size = (column.size,) if column.kind is Kind.FIXED_LIST and dtype.base.kind == "f" else ()
    if dtype.base.kind not in fills or dtype.shape != size or dtype.names is not None:
        possible = ", ".join(_DTYPE_WORDS[letter] for letter in fills)
        if column.kind is Kind.FIXED_LIST:
            possible += f", the former as an array of {column.size}"
        raise SchemaError(
            f'column "{name}" ({field.type_name}) cannot become {dtype}',
            hint=f"Possible: {possible}.",
        )
    target = Target(batch, index, name, dtype, fills[dtype.base.kind])
    if name in replacements:
        target.replace_null_by(replacements[name])
    return target


_DTYPE_WORDS = {
    "b": "bool",
    "i": "signed integers",
    "u": "unsigned integers",
    "f": "floats",
    "M": "datetime64 with a unit",
    "m": "timedelta64 with a unit",
    "U": "U (text of a fixed width)",
    "S": "S (bytes of a fixed width)",
    "V": "V (raw bytes of exactly that width)",
    "O": "object",
}

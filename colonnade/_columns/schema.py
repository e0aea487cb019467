"""Translation of ``schema=`` to the core's type names.

A schema may have types of NumPy, pandas, pyarrow and Polars. None of these libraries is imported
here: the module names of the objects' classes tell where they come from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from colonnade._words.shown import class_name, package_name, shown
from colonnade.errors import InterfaceTypeError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    import pyarrow as pa

    from colonnade._core import Batch, Inexact

    ColumnReader: TypeAlias = Callable[[Batch, int], Batch]

    Schema: TypeAlias = Mapping[str, object] | np.dtype[Any] | pa.Schema

# Other spellings of types -> the core's.
_NAMES = {
    "string": "utf8",
    "str": "utf8",
    "large_string": "large_utf8",
    "string_view": "utf8_view",
    "double": "float64",
    "float": "float32",
    "boolean": "bool",
    "date32[day]": "date32",
    "uuid": "fixed_size_binary[16]",
    "category": "dictionary<int32, utf8>",
    "dictionary": "dictionary<int32, utf8>",
    "dictionary<utf8>": "dictionary<int32, utf8>",
    "dictionary<values=string, indices=int32, ordered=0>": "dictionary<int32, utf8>",
    "dictionary<values=utf8, indices=int32, ordered=0>": "dictionary<int32, utf8>",
    "extension<arrow.uuid>": "fixed_size_binary[16]",
    "extension<arrow.json>": "utf8",
    # pandas' nullable dtypes, and Arrow's names as error messages show them.
    "Int16": "int16",
    "Int32": "int32",
    "Int64": "int64",
    "UInt16": "uint16",
    "UInt32": "uint32",
    "UInt64": "uint64",
    "Float32": "float32",
    "Float64": "float64",
    "Utf8": "utf8",
    "LargeUtf8": "large_utf8",
    "Utf8View": "utf8_view",
}
_CLASSES = {bool: "bool", int: "int64", float: "float64", str: "utf8", bytes: "binary"}
# NumPy's type codes; for those with a unit or a width, see `_numpy_name`.
_NUMBERS = {
    "?": "bool",
    "b1": "bool",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "V16": "fixed_size_binary[16]",
}
_NUMPY_TIME = r"(M8|datetime64|m8|timedelta64)\[(\w+)\]"
_CELLS = r"[US]\d+"
_UNITS = {"s", "ms", "us", "ns"}
_POLARS = {
    "Boolean": "bool",
    "Int16": "int16",
    "Int32": "int32",
    "Int64": "int64",
    "UInt16": "uint16",
    "UInt32": "uint32",
    "UInt64": "uint64",
    "Float32": "float32",
    "Float64": "float64",
    "String": "utf8",
    "Utf8": "utf8",
    "Binary": "binary",
    "Categorical": "dictionary<int32, utf8>",
    "Date": "date32",
    "Time": "time64[us]",
    "Datetime": "timestamp[us]",
    "Duration": "duration[us]",
}
_POLARS_TIME = r"(Datetime|Duration)\(time_unit='(\w\w)'(?:, time_zone=(?:None|'([^']*)'))?\)"
_POLARS_DECIMAL = r"Decimal\(precision=(\d+), scale=(\d+)\)"


class WithFloats(NamedTuple):
    """A schema that also asks for float64 for every numeric column that it does not name."""

    schema: Schema | None
    inexact: Inexact
    """Records the values that float64 cannot hold exactly."""


def asked_types(
    schema: Schema | WithFloats | None,
) -> dict[str, str] | dict[str | None, str | Inexact] | None:
    """Return the requested types by column name; None without a schema. Raises SchemaError."""
    if isinstance(schema, WithFloats):
        asked: dict[str | None, str | Inexact] = {None: schema.inexact}
        asked.update(_named_types(schema.schema))
        return asked
    return None if schema is None else _named_types(schema)


def _named_types(schema: Schema | None) -> dict[str, str]:
    if schema is None:
        return {}
    if isinstance(schema, Mapping):
        return {_column(name): _asked(name, wanted) for name, wanted in schema.items()}
    if row_dtype(schema) is not None:
        return dict(_structured(schema))
    if _module(schema) == "pyarrow" and hasattr(schema, "names") and hasattr(schema, "types"):
        return _arrow_schema(schema)
    raise InterfaceTypeError(
        f"schema cannot be of the class {class_name(schema)}",
        hint='Give a mapping as {"price": "float64"}, a structured dtype or a pyarrow.Schema.',
    )


class Asked(NamedTuple):
    """The facts about a schema that `Columns` keep."""

    row: Any
    """The schema if it is a structured NumPy dtype; else None."""
    names: frozenset[str]
    """The columns whose types the schema decides."""
    readers: tuple[tuple[str, ColumnReader], ...] = ()
    """The columns that are read as a whole, such as structs in bytea."""

    def read(self, batch: Batch) -> Batch:
        """Return the batch with these columns read, unless they are already."""
        for name, reader in self.readers:
            for index, field in enumerate(batch.fields):
                if field.name == name and not field.arrow_type.startswith("struct"):
                    batch = reader(batch, index)
        return batch


def asked_of(schema: Schema | WithFloats | None) -> Asked | None:
    """Return the facts that `Columns` keep of a schema; None without one.

    Call it after `asked_types` has accepted the schema.
    """
    if isinstance(schema, WithFloats):
        return asked_of(schema.schema)
    if schema is None:
        return None
    row = row_dtype(schema)
    if row is not None:
        return Asked(row, frozenset(name for name, _ in _structured(row)))
    if isinstance(schema, Mapping):
        readers = tuple(
            (name, reader)
            for name, wanted in schema.items()
            if (reader := column_reader(wanted)) is not None
        )
        return Asked(None, frozenset(schema), readers)
    names: Iterable[str] = getattr(schema, "names", ())
    return Asked(None, frozenset(names))


def column_reader(wanted: Any) -> ColumnReader | None:
    """Return the reader of a whole column, if the type has one; see `colonnade.structs`."""
    return getattr(wanted, "__colonnade_column__", None)


def row_dtype(schema: Any) -> Any:
    """Return the schema if it is a structured NumPy dtype; else None."""
    is_dtype = _module(schema) == "numpy" and hasattr(schema, "itemsize")
    return schema if is_dtype and getattr(schema, "names", None) else None


def _column(name: Any) -> str:
    if not isinstance(name, str):
        raise InterfaceTypeError(f"schema must name columns by str, not {shown(name)}")
    return name


def _structured(row: Any) -> Iterable[tuple[str, str]]:
    for name in row.names:
        dtype = row[name]
        # `to_structured` converts to any byte order; an object field requests no type.
        if dtype.kind != "O":
            yield name, _dtype_name(name, dtype.newbyteorder("="))


def _arrow_schema(schema: Any) -> dict[str, str]:
    asked: dict[str, str] = {}
    for name, kind in zip(schema.names, schema.types, strict=True):
        text = str(kind)
        # An opaque type holds the bytes of a type that only PostgreSQL knows: request none.
        if text.startswith("extension<arrow.opaque"):
            continue
        wanted = _arrow_name(text)
        if asked.setdefault(name, wanted) != wanted:
            raise SchemaError(
                f'schema has two types for columns "{name}": rename one in the query with AS'
            )
    return asked


def _asked(name: str, wanted: Any) -> str:
    """Translate one entry to the core's spelling; the core refuses names that it does not know."""
    if isinstance(wanted, str):
        return _spelled(name, wanted)
    if isinstance(wanted, type) and wanted in _CLASSES:
        return _CLASSES[wanted]
    if column_reader(wanted) is not None:
        return "binary"
    library = _module(wanted)
    if library == "numpy":
        return _dtype_name(name, _as_dtype(name, wanted))
    if library == "pandas" and _is_type_of(wanted, "ExtensionDtype"):
        return _spelled(name, str(wanted))
    if library == "pyarrow" and _is_type_of(wanted, "DataType"):
        return _arrow_name(str(wanted))
    if library != "polars" or not (isinstance(wanted, type) or _is_type_of(wanted, "DataType")):
        _refuse(name, wanted, "give a name, or a type of NumPy, pandas, pyarrow or Polars")
    return _polars_name(name, wanted)


def _is_type_of(wanted: Any, name: str) -> bool:
    """Return whether `wanted` is an instance of its library's class `name`."""
    library = _module(wanted)
    known = sys.modules.get(library) if library in {"numpy", "pyarrow", "polars"} else None
    if library == "pandas":
        known = sys.modules.get("pandas.api.extensions")
    return isinstance(wanted, getattr(known, name, ()))


def _module(wanted: Any) -> str:
    """Return the library of a type, or of an object's class."""
    kind = wanted if isinstance(wanted, type) else type(wanted)
    return package_name(kind)


def _as_dtype(name: str, wanted: Any) -> Any:
    if not isinstance(wanted, type):
        if hasattr(wanted, "kind") and hasattr(wanted, "itemsize"):
            return wanted
        _refuse(name, wanted, "it is not a dtype")
    import numpy as np

    try:
        return np.dtype(wanted)
    except TypeError:
        _refuse(name, wanted, "it is not a dtype")


def _spelled(name: str, text: str) -> str:
    if text in {"O", "object"}:
        _refuse(name, text, "leave the column out to get its own type")
    # An unknown name goes to the core, whose error lists the known names.
    return _NAMES.get(text) or _numpy_name(name, text) or _arrow_name(text)


def _numpy_name(name: str, text: str) -> str | None:
    """Return the Arrow type of a dtype in NumPy's spelling; None for another text."""
    if text.startswith(">"):
        _refuse(name, text, "columns are little-endian")
    plain = text.lstrip("<=|")
    if re.fullmatch(_CELLS, plain):
        return plain
    if found := re.fullmatch(_NUMPY_TIME, plain):
        return _time_name(name, text, found[1], found[2])
    return _NUMBERS.get(plain)


def _dtype_name(name: str, dtype: Any) -> str:
    if dtype.kind == "T":
        return "utf8"
    if dtype.subdtype is not None or dtype.names is not None:
        _refuse(name, dtype, "a column has one value per row")
    if dtype.kind in "US" and dtype.itemsize == 0:
        _refuse(name, dtype, 'the width is missing, as in "U20"')
    if dtype.kind == "O":
        _refuse(name, dtype, "leave the column out to get its own type")
    known = _numpy_name(name, dtype.str)
    if known is None:
        _refuse(name, dtype, "no column can have this type")
    return known


def _time_name(name: str, given: Any, kind: str, unit: str) -> str:
    is_timestamp = kind in {"M8", "datetime64"}
    if is_timestamp and unit == "D":
        return "date32"
    if unit not in _UNITS:
        _refuse(name, given, "the units of columns are s, ms, us and ns, and D for dates")
    return f"{'timestamp' if is_timestamp else 'duration'}[{unit}]"


def _arrow_name(text: str) -> str:
    """Translate pyarrow's spelling of a type."""
    return _NAMES.get(text) or text.replace(", tz=", ", ")


def _polars_name(name: str, wanted: Any) -> str:
    text = wanted.__name__ if isinstance(wanted, type) else str(wanted)
    if found := re.fullmatch(_POLARS_TIME, text):
        kind, unit, zone = found.groups()
        word = "timestamp" if kind == "Datetime" else "duration"
        return f"{word}[{unit}, {zone}]" if zone else f"{word}[{unit}]"
    if decimal := re.fullmatch(_POLARS_DECIMAL, text):
        return f"decimal128({decimal[1]}, {decimal[2]})"
    known = _POLARS.get("Categorical" if text.startswith("Categorical") else text)
    if known is None:
        _refuse(name, wanted, "no column can have this type; use cast() after to_polars()")
    return known


def _refuse(name: str, wanted: Any, reason: str) -> NoReturn:
    is_dtype = any(_is_type_of(wanted, kind) for kind in ("dtype", "DataType"))
    text = str(wanted) if is_dtype else shown(wanted)
    raise SchemaError(f'schema["{name}"]: {text} is not possible: {reason}')

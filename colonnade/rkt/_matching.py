"""Matches NumPy dtypes with PostgreSQL types before the first row arrives."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from colonnade import _core
from colonnade.errors import DTypeError
from colonnade.rkt import _reading as reading
from colonnade.rkt._fields import Field

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from colonnade._core import PgType
    from colonnade.rkt._fields import Read


class _Family(NamedTuple):
    """PostgreSQL types that match the same dtypes."""

    word: str
    """The types' name in messages."""
    kinds: str
    """The NumPy kind letters that match, besides object."""
    read: Read
    size: int | None = None
    """The required itemsize in bytes; None allows any."""
    schema: Callable[[np.dtype[Any]], str | None] = lambda _dtype: None
    """Returns the Arrow type to request for the column, given the dtype; None is the default."""
    storage: str = ""
    """The NumPy kind letter in which the field is written; empty means the field's own dtype."""


def _text_schema(dtype: np.dtype[Any]) -> str:
    return f"U{dtype.itemsize // 4}" if dtype.kind == "U" else "binary"


def _binary(_dtype: np.dtype[Any]) -> str:
    return "binary"


_BYTES = _Family("bytea", "S", reading.byte_cells, schema=_binary)
_TEXT = _Family("text", "US", reading.text_cells, schema=_text_schema)
_INTEGERS = {"int2": ("smallint", 2), "int4": ("int", 4), "int8": ("bigint", 8)}
_UNSIGNED = {
    "oid": ("int", 4),
    "xid": ("int", 4),
    "cid": ("int", 4),
    "xid8": ("bigint", 8),
    "pg_lsn": ("bigint", 8),
}
_FIGURES = {"point": 2, "line": 3, "circle": 3, "lseg": 4, "box": 4}

_BY_NAME: dict[str, _Family] = {
    "bool": _Family("bool", "b", reading.stored, 1, storage="u"),
    **{
        name: _Family(word, "iu", reading.stored, size, storage="i")
        for name, (word, size) in _INTEGERS.items()
    },
    **{
        name: _Family(word, "iu", reading.stored, size, storage="u")
        for name, (word, size) in _UNSIGNED.items()
    },
    "float4": _Family("float4", "f", reading.stored, 4),
    "float8": _Family("float8", "f", reading.stored, 8),
    "date": _Family("timestamp", "M", reading.dates, 8, storage="i"),
    "timestamp": _Family("timestamp", "M", reading.timestamps, 8, storage="i"),
    "timestamptz": _Family("timestamp", "M", reading.timestamps, 8, storage="i"),
    # PostgreSQL's 24:00:00 fits a duration, but not Arrow's time of day.
    "time": _Family(
        "time", "m", reading.times, 8, schema=lambda _dtype: "duration[us]", storage="i"
    ),
    "timetz": _Family("time", "m", reading.times_with_zone, 8, storage="i"),
    "interval": _Family("time", "m", reading.intervals, 8, storage="i"),
    "uuid": _Family("bytea", "S", reading.uuids),
    "bit": _Family("bytea", "S", reading.bits),
    "varbit": _Family("bytea", "S", reading.bits),
    "tid": _Family("tid", "V", reading.tids, 6, storage="V"),
    **{
        name: _Family(f"{floats} of float8", "V", reading.figures, floats * 8, storage="V")
        for name, floats in _FIGURES.items()
    },
    **dict.fromkeys(
        ["bytea", "char", "pg_mcv_list", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary"],
        _BYTES,
    ),
    **dict.fromkeys(
        [
            "text",
            "varchar",
            "bpchar",
            "name",
            "xml",
            "cstring",
            "unknown",
            "refcursor",
            "aclitem",
            "pg_node_tree",
            "tsvector",
            "tsquery",
            "gtsvector",
            "money",
            "pg_ndistinct",
            "pg_dependencies",
            "regproc",
            "regprocedure",
            "regoper",
            "regoperator",
            "regclass",
            "regtype",
            "regconfig",
            "regdictionary",
            "regnamespace",
            "regrole",
            "regcollation",
        ],
        _TEXT,
    ),
}
_BY_OID = {line.oid: (line.name, _BY_NAME.get(line.name)) for line in _core.TYPES}
# Extension types that are text, such as citext.
_TEXTS_OF_EXTENSIONS = {line.name for line in _core.EXTENSION_TYPES if line.arrow == "utf8"}
_UUID_BYTES = 16
_UNITS = {"M": "Y M W D h m s ms us ns generic", "m": "W D h m s ms us ns generic"}


class _ColumnType(NamedTuple):
    """The properties of a column's type that decide the match."""

    oid: int
    name: str
    kind: str
    has_codecs: bool


def matched_fields(
    dtype: np.dtype[Any], columns: list[tuple[str, PgType, int]]
) -> tuple[Field, ...]:
    """Pair the fields with the columns in order.

    Raises DTypeError if the counts differ or a dtype does not match its column.
    """
    names = tuple(name for name, _, _ in columns)
    types = tuple(_ColumnType(t.oid, t.name, t.kind, t.has_codecs) for _, t, _ in columns)
    return _matched_fields(dtype, names, types)


@functools.lru_cache(maxsize=256)
def _matched_fields(
    dtype: np.dtype[Any], names: tuple[str, ...], types: tuple[_ColumnType, ...]
) -> tuple[Field, ...]:
    count = len(dtype.names or ())
    if count != len(names):
        shown = ", ".join(f'"{name}"' for name in names)
        raise DTypeError(
            f"the dtype has {count} fields, and the result {len(names)} columns: {shown}"
        )
    columns = enumerate(zip(names, types, strict=True))
    return tuple(_matched(place, dtype[place], name, kind) for place, (name, kind) in columns)


def _matched(place: int, dtype: np.dtype[Any], column: str, column_type: _ColumnType) -> Field:
    name, family = _family(column_type)
    if dtype.kind == "O":
        schema, read = _object_reading(name)
        return Field(place, column, column_type.name, dtype, schema, dtype, None, "object", read)
    if family is None:
        _Refused(place, dtype, "object", column, column_type.name).because("")
    _check(_Refused(place, dtype, family.word, column, column_type.name), name, dtype, family)
    storage = _storage(dtype, family.storage)
    return Field(
        place,
        column,
        column_type.name,
        dtype,
        family.schema(dtype),
        storage,
        _surrogate(dtype, storage),
        family.word,
        family.read,
    )


def _check(refused: _Refused, name: str, dtype: np.dtype[Any], family: _Family) -> None:
    """Raise DTypeError for a dtype that does not match the family."""
    import numpy as np

    if dtype.subdtype is not None or dtype.kind not in family.kinds:
        refused.because("")
    if family.size is not None and (dtype.itemsize != family.size or dtype.hasobject):
        refused.because(f" of size {family.size}")
    if dtype.itemsize == 0:
        refused.because(": the width is missing")
    if name == "uuid" and dtype.itemsize < _UUID_BYTES:
        refused.because(f" of size {_UUID_BYTES}")
    if dtype.kind in _UNITS and np.datetime_data(dtype)[0] not in _UNITS[dtype.kind].split():
        refused.because(f": the units are {_UNITS[dtype.kind]}")


class _Refused(NamedTuple):
    place: int
    dtype: np.dtype[Any]
    word: str
    column: str
    type_name: str

    def because(self, reason: str) -> NoReturn:
        raise DTypeError(
            f"dtype[{self.place}] = {self.dtype} does not match PostgreSQL {self.word}{reason}: "
            f'column "{self.column}" ({self.type_name})'
        )


def _family(column_type: _ColumnType) -> tuple[str, _Family | None]:
    """Return the name of a built-in type (else ""), and the type's family."""
    if column_type.has_codecs:
        return "", None
    if column_type.kind == "enum":
        return "", _TEXT
    is_text = column_type.kind == "scalar" and column_type.name in _TEXTS_OF_EXTENSIONS
    return _BY_OID.get(column_type.oid, ("", _TEXT if is_text else None))


def _object_reading(name: str) -> tuple[str | None, Read]:
    if name == "numeric":
        # Text keeps each value's own scale, and NaN; an Arrow decimal column keeps neither.
        return "utf8", reading.decimals
    return ("binary" if name == "char" else None), reading.object_values


def _storage(dtype: np.dtype[Any], letter: str) -> np.dtype[Any]:
    """Return the dtype in which the field's bits are written, in the field's byte order."""
    import numpy as np

    if not letter:
        return dtype
    if letter == "V":
        return np.dtype((np.void, dtype.itemsize))
    return np.dtype(f"{letter}{dtype.itemsize}").newbyteorder(dtype.byteorder)


def _surrogate(dtype: np.dtype[Any], storage: np.dtype[Any]) -> Any:
    """Return the value that asyncpg-rkt writes for NULL."""
    import numpy as np

    if dtype.kind == "b":
        return 0x80
    if dtype.kind in "iumM":
        bits = storage.itemsize * 8
        return 1 << (bits - 1) if storage.kind == "u" else -(1 << (bits - 1))
    if dtype.kind == "f":
        return np.nan
    if dtype.kind == "S":
        return b"\xff" * dtype.itemsize
    if dtype.kind == "U":
        return ""
    floats, rest = divmod(dtype.itemsize, 8)
    pattern = np.full(floats, np.nan, "<f8").tobytes() if not rest else b"\x80" * dtype.itemsize
    return np.void(pattern)

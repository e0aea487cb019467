"""The annotations of fields, and the types that they stand for."""

from __future__ import annotations

import datetime as dt
import re
import sys
import types
from typing import (
    Annotated,
    Any,
    ClassVar as _ClassVar,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin as _origin,
)

from colonnade._words.shown import shown
from colonnade.structs import _times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Spec: TypeAlias = Any

T = TypeVar("T")


class _ExtraMark:
    def __repr__(self) -> str:
        return "extra"


_EXTRA = _ExtraMark()

Extra = Annotated[T, _EXTRA]
"""An attribute that can be changed and is not stored: ``score: Extra[float | None] = None``."""


class Fixed:
    """The width of a fixed-length text or bytes: ``Annotated[str, Fixed(12)]``.

    Text takes four bytes for each character, as NumPy's ``U12``; bytes take one, as ``S12``.
    """

    def __init__(self, width: int) -> None:
        self.width = width


class Ascii(Fixed):
    """The width of an ASCII text, of one byte a character: ``Annotated[str, Ascii(2)]``."""


class FieldType(NamedTuple):
    """The meaning of an annotation."""

    spec: Spec
    """The type for the core: see ``_core.structs``."""
    optional: bool
    is_extra: bool = False


_DTYPES = re.compile(
    r"bool|u?int(?:8|16|32|64)|float(?:16|32|64)|complex(?:64|128)|[US][0-9]+|ascii\[[0-9]+\]"
)
_TIMES = re.compile(r"(datetime64|timedelta64)\[(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
# The name of a type, which may be followed by `| None`.
_NAMED = re.compile(rf"(?:{_DTYPES.pattern}|{_TIMES.pattern})(?:\s*\|\s*None)?")
_PYTHON: dict[Any, Spec] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    complex: "complex128",
    str: "str",
    bytes: "bytes",
    dt.timedelta: ("made", "timedelta64[us]", _times.take_timedelta, _times.make_timedelta),
}
_PYTHON_TIMES: dict[Any, tuple[str, Any]] = {
    dt.datetime: ("datetime64[us]", _times.datetime_functions),
    dt.date: ("datetime64[D]", _times.date_functions),
}
# A name that stands for itself would have no end.
_NAMES_MOST = 100
_EXAMPLES = 'int, str, "datetime64[s]", "int32", list[str], float | None'


def field_type(owner: str, name: str, annotation: Any, scope: Mapping[str, Any]) -> FieldType:
    """Return the meaning of a field's annotation. Raises TypeError for one that no field has."""
    place = f"{owner}.{name}"
    annotation = _evaluated(place, annotation, scope)
    if _origin(annotation) is Annotated and _EXTRA in annotation.__metadata__:
        return FieldType(None, optional=True, is_extra=True)
    annotation, optional = _without_none(place, annotation, scope)
    return FieldType(_spec(place, annotation, scope), optional)


def is_class_variable(annotation: Any) -> bool:
    """Return whether an annotation is no field's."""
    if isinstance(annotation, str):
        return re.match(r"(?:\w+\.)*ClassVar\b", annotation.strip()) is not None
    return annotation is _ClassVar or _origin(annotation) is _ClassVar


def _evaluated(place: str, annotation: Any, scope: Mapping[str, Any]) -> Any:
    """Return the object that a text or an alias names, unless a text is the name of a type."""
    for _ in range(_NAMES_MOST):
        if _is_alias(annotation):
            annotation = annotation.__value__
            continue
        if _is_alias(_origin(annotation)):
            annotation = _origin(annotation).__value__[get_args(annotation)]
            continue
        if not isinstance(annotation, str):
            return annotation
        text = annotation.strip()
        if _NAMED.fullmatch(text):
            return text
        try:
            annotation = eval(text, dict(scope))  # noqa: S307 - the class's own source
        except (NameError, SyntaxError, TypeError, AttributeError) as error:
            raise TypeError(
                f"{place}: {shown(text)} is no type of a field ({error}): use one such as "
                f"{_EXAMPLES}"
            ) from error
    raise TypeError(
        f"{place}: its type is a name that stands for itself: use one such as {_EXAMPLES}"
    )


def _is_alias(annotation: Any) -> bool:
    """Return whether it is an alias with a value of its own, as NDArray is since NumPy 2.5.

    The class has the same name in `typing`, from Python 3.12 on, and in `typing_extensions`.
    """
    return type(annotation).__name__ == "TypeAliasType"


def _without_none(place: str, annotation: Any, scope: Mapping[str, Any]) -> tuple[Any, bool]:
    if isinstance(annotation, str):
        name, mark, _ = annotation.partition("|")
        return name.strip(), bool(mark)
    if _origin(annotation) not in {Union, types.UnionType}:
        return annotation, False
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if len(kinds) != 1:
        raise TypeError(f"{place}: a field has one type, and None: not {shown(str(annotation))}")
    forward = getattr(kinds[0], "__forward_arg__", kinds[0])
    return _evaluated(place, forward, scope), True


def _spec(place: str, annotation: Any, scope: Mapping[str, Any]) -> Spec:
    annotation = _evaluated(place, annotation, scope)
    if isinstance(annotation, str):
        return _named(place, annotation)
    origin, arguments = _origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(place, arguments, scope)
    if origin is list and len(arguments) == 1:
        element, optional = _without_none(place, _evaluated(place, arguments[0], scope), scope)
        return ("list", _spec(place, element, scope), optional)
    definition = getattr(annotation, "__struct_definition__", None)
    if definition is not None:
        return definition
    if isinstance(annotation, type):
        if annotation in _PYTHON:
            return _PYTHON[annotation]
        if annotation in _PYTHON_TIMES:
            name, functions = _PYTHON_TIMES[annotation]
            return ("made", name, *functions(place))
    return _of_numpy(place, annotation, origin, arguments)


def _annotated(place: str, arguments: tuple[Any, ...], scope: Mapping[str, Any]) -> Spec:
    kind, *marks = arguments
    kind = _evaluated(place, kind, scope)
    for mark in marks:
        if isinstance(mark, Fixed) and kind in {str, bytes}:
            letter = "S" if kind is bytes else "U"
            is_ascii = isinstance(mark, Ascii) and kind is str
            return _named(place, f"ascii[{mark.width}]" if is_ascii else f"{letter}{mark.width}")
        if isinstance(mark, str):
            name = getattr(kind, "__name__", "")
            with_unit = f"{name}[{mark}]"
            return _named(place, with_unit if _TIMES.fullmatch(with_unit) else mark)
    return _spec(place, kind, scope)


def _named(place: str, name: str) -> Spec:
    if name in {"str", "bytes"}:
        return name
    if found := _TIMES.fullmatch(name):
        functions = (
            _times.moment_functions if found[1] == "datetime64" else (_times.duration_functions)
        )
        return ("made", name, *functions(found[2]))
    if not _DTYPES.fullmatch(name):
        raise TypeError(
            f"{place}: {shown(name)} is no type of a field: use one such as {_EXAMPLES}"
        )
    return name


def _of_numpy(place: str, annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Spec:
    np: Any = sys.modules.get("numpy")
    if np is not None:
        if origin is np.ndarray:
            element = next(iter(get_args(arguments[-1])), None)
            if isinstance(element, type) and issubclass(element, np.generic):
                return _array(place, np.dtype(element))
        if isinstance(annotation, type) and issubclass(annotation, np.generic):
            if issubclass(annotation, np.datetime64 | np.timedelta64):
                raise TypeError(
                    f'{place}: a time needs its unit: Annotated[np.datetime64, "s"] or '
                    '"datetime64[s]"'
                )
            name = np.dtype(annotation).name
            if _DTYPES.fullmatch(name):
                return ("made", name, _identity, annotation)
    raise TypeError(
        f"{place}: {shown(annotation)} is no type of a field: use one such as {_EXAMPLES}"
    )


def _identity(value: Any) -> Any:
    return value


def _array(place: str, dtype: Any) -> Spec:
    import numpy as np

    if not _DTYPES.fullmatch(dtype.name):
        raise TypeError(f"{place}: an array of {dtype} is no type of a field")
    stored = dtype.newbyteorder("<")

    def take(values: Any) -> bytes:
        if np.ma.is_masked(values):
            raise ValueError("an element of the array is masked, and its elements are not optional")
        array = np.asarray(values)
        if array.ndim != 1:
            raise TypeError(f"takes an array of one dimension, not of {array.ndim}")
        are_whole = array.dtype.kind in "iu" and dtype.kind in "iu"
        if array.size and not are_whole and not np.can_cast(array.dtype, stored, "same_kind"):
            raise TypeError(f"takes an array of {dtype}, not of {array.dtype}")
        with np.errstate(over="ignore", under="ignore"):
            cast = array.astype(stored)
        if not _is_same(array, cast):
            raise ValueError(f"{dtype} cannot hold a value of the array")
        return cast.tobytes()

    def make(data: bytes, offset: int, length: int) -> Any:
        return np.frombuffer(data, stored, length // stored.itemsize, offset)

    return ("array", dtype.name, take, make)


def _is_same(array: Any, cast: Any) -> bool:
    """Return whether a cast has kept whole numbers as they are; others stay finite, and not 0."""
    import numpy as np

    if not array.size or array.dtype.kind == "b":
        return True
    if array.dtype.kind in "fc":
        parts = ((array.real, cast.real), (array.imag, cast.imag))
        return all(
            np.array_equal(np.isinf(old), np.isinf(new)) and np.array_equal(old == 0, new == 0)
            for old, new in parts
        )
    if cast.dtype.kind in "fc":
        floats, limits = cast.real.astype("float64"), np.iinfo(array.dtype)
        is_within = (floats >= float(limits.min)) & (floats < float(limits.max) + 1)
        return bool(is_within.all()) and np.array_equal(floats.astype(array.dtype), array)
    return np.array_equal(cast, array)

"""The caller's objects in error messages.

`repr` and `str` of foreign objects run foreign code, which may be slow, return very long texts,
raise, or crash on invalid data. So a message shows the values of Python's built-in classes,
truncated, and only the class of any other object, with its length if `len` runs no foreign code.
`crates/python/src/shown.rs` does the same for the core.
"""

from __future__ import annotations

import enum
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_CHARACTERS_MOST = 80
# A larger int is not printed, because conversion to decimal takes quadratic time.
_BITS_MOST = 256
_PLAIN = {type(None), bool, float, complex}
# By module and name, because importing these modules takes longer than making the message.
_PLAIN_LATER = {
    *(("datetime", "date"), ("datetime", "timedelta")),
    *(("decimal", "Decimal"), ("uuid", "UUID")),
}
_TIMES = {("datetime", "datetime"), ("datetime", "time")}
_ZONES = {("datetime", "timezone"), ("zoneinfo", "ZoneInfo")}
_SIZED = {list, tuple, dict, set, frozenset, bytearray}
# Libraries whose `len` is trusted.
_LIBRARIES = {"numpy", "pandas", "polars", "pyarrow"}
# These read the real names of a class; a metaclass could fake its attributes.
_NAME = type.__dict__["__name__"].__get__
_QUALIFIED_NAME = type.__dict__["__qualname__"].__get__
_MODULE = type.__dict__["__module__"].__get__


def shown(value: object) -> str:
    """Describe an object in few characters. It never raises, and runs no code of the class."""
    kind = type(value)
    if kind in _PLAIN or _is_one_of(kind, _PLAIN_LATER):
        return _cut(repr(value))
    if kind is str or kind is bytes:
        return _cut(repr(value[:_CHARACTERS_MOST]))  # type: ignore[index]
    if kind is int:
        bits = value.bit_length()  # type: ignore[attr-defined]
        return repr(value) if bits <= _BITS_MOST else f"an int of {bits} bits"
    if _is_one_of(kind, _TIMES):
        zone = value.tzinfo  # type: ignore[attr-defined]
        is_plain = zone is None or _is_one_of(type(zone), _ZONES)
        return _cut(repr(value)) if is_plain else _described(value)
    # Not isinstance, which reads the object's `__class__`.
    if issubclass(kind, enum.Enum):
        return f"{full_name(kind)}.{value._name_}"  # type: ignore[attr-defined]
    if issubclass(kind, type):
        return f"the class {full_name(value)}"  # type: ignore[arg-type]
    if kind is types.FunctionType or kind is types.BuiltinFunctionType:
        return f"the function {_cut(value.__qualname__)}"  # type: ignore[attr-defined]
    return _described(value)


def shown_path(path: Path) -> str:
    """The name of a file for an error, unless it is a bare word, which may be a secret."""
    return repr(str(path)) if len(path.parts) > 1 else "(not shown: it may hold a secret)"


def _is_one_of(kind: type, places: set[tuple[str, str]]) -> bool:
    """Return whether the class really is one of these standard classes, not only named like it."""
    module, name = place = module_name(kind), _NAME(kind)
    return place in places and getattr(sys.modules.get(module), name, None) is kind


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS_MOST else f"{text[: _CHARACTERS_MOST - 3]}..."


def _described(value: object) -> str:
    """Return the class and, if possible, the length."""
    kind = type(value)
    length = _length(value)
    name = full_name(kind)
    return f"an object of {name}" if length is None else f"a {name} of length {length}"


def class_name(value: object) -> str:
    """Return the name of an object's class, without its module. It runs no code of the class."""
    return _cut(_NAME(type(value)))


def module_name(kind: type) -> str:
    """Return the module of a class, "" if there is none. It runs no code of the class."""
    try:
        module = _MODULE(kind)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def package_name(kind: type) -> str:
    """Return the top-level package of a class."""
    return module_name(kind).partition(".")[0]


def full_name(kind: type) -> str:
    """Return the name of a class with its module. It runs no code of the class."""
    module, name = module_name(kind), _QUALIFIED_NAME(kind)
    return _cut(name if module in {"", "builtins"} else f"{module}.{name}")


def _length(value: object) -> int | None:
    kind = type(value)
    if kind in _SIZED or package_name(kind) in _LIBRARIES:
        try:
            return len(value)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - an error message must not raise
            return None
    return None

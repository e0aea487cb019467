"""A caller's object in an error's message.

`repr` and `str` of an object that is not Python's own run code that is not Python's own: it may
take long, write books, raise, or read memory that faulty data points to. So the values of Python's
plain classes are shown, cut to a length, and of everything else the class, with the length where
asking for it runs none of the object's code. `crates/python/src/shown.rs` is the same for the core.
"""

from __future__ import annotations

import enum
import sys
import types

_CHARACTERS_MOST = 80
# An int of more bits takes long to write: its decimal form takes quadratic time.
_BITS_MOST = 256
_PLAIN = {type(None), bool, float, complex}
# By module and name: to import these modules takes longer than all the rest of a message.
_PLAIN_LATER = {
    *(("datetime", "date"), ("datetime", "timedelta")),
    *(("decimal", "Decimal"), ("uuid", "UUID")),
}
_MOMENTS = {("datetime", "datetime"), ("datetime", "time")}
_ZONES = {("datetime", "timezone"), ("zoneinfo", "ZoneInfo")}
_SIZED = {list, tuple, dict, set, frozenset, bytearray}
# Libraries whose containers know their length.
_LIBRARIES = {"numpy", "pandas", "polars", "pyarrow"}
# What a class is really called: asked by its attributes, a metaclass may answer what it likes.
_NAME = type.__dict__["__name__"].__get__
_QUALIFIED_NAME = type.__dict__["__qualname__"].__get__
_MODULE = type.__dict__["__module__"].__get__


def shown(value: object) -> str:
    """The object in few characters. It never fails, and runs no code of the object's class."""
    kind = type(value)
    if kind in _PLAIN or _is_one_of(kind, _PLAIN_LATER):
        return _cut(repr(value))
    if kind is str or kind is bytes:
        return _cut(repr(value[:_CHARACTERS_MOST]))  # type: ignore[index]
    if kind is int:
        bits = value.bit_length()  # type: ignore[attr-defined]
        return repr(value) if bits <= _BITS_MOST else f"an int of {bits} bits"
    if _is_one_of(kind, _MOMENTS):
        zone = value.tzinfo  # type: ignore[attr-defined]
        is_plain = zone is None or _is_one_of(type(zone), _ZONES)
        return _cut(repr(value)) if is_plain else _described(value)
    # Not isinstance, which asks the object for its class.
    if issubclass(kind, enum.Enum):
        return f"{full_name(kind)}.{value._name_}"  # type: ignore[attr-defined]
    if issubclass(kind, type):
        return f"the class {full_name(value)}"  # type: ignore[arg-type]
    if kind is types.FunctionType or kind is types.BuiltinFunctionType:
        return f"the function {_cut(value.__qualname__)}"  # type: ignore[attr-defined]
    return _described(value)


def _is_one_of(kind: type, places: set[tuple[str, str]]) -> bool:
    """Whether the class is one of the standard library's at these places, not one that says so."""
    module, name = place = module_name(kind), _NAME(kind)
    return place in places and getattr(sys.modules.get(module), name, None) is kind


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS_MOST else f"{text[: _CHARACTERS_MOST - 3]}..."


def _described(value: object) -> str:
    """The class, and the length."""
    kind = type(value)
    length = _length(value)
    name = full_name(kind)
    return f"an object of {name}" if length is None else f"a {name} of length {length}"


def class_name(value: object) -> str:
    """The name of an object's class, without its module. It runs no code of the class."""
    return _cut(_NAME(type(value)))


def module_name(kind: type) -> str:
    """The module of a class; nothing where it says none. It runs no code of the class."""
    try:
        module = _MODULE(kind)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def package_name(kind: type) -> str:
    """The outermost package of a class."""
    return module_name(kind).partition(".")[0]


def full_name(kind: type) -> str:
    """The name of a class with its module. It runs no code of the class."""
    module, name = module_name(kind), _QUALIFIED_NAME(kind)
    return _cut(name if module in {"", "builtins"} else f"{module}.{name}")


def _length(value: object) -> int | None:
    kind = type(value)
    if kind in _SIZED or package_name(kind) in _LIBRARIES:
        try:
            return len(value)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - a message is made, whatever the object is
            return None
    return None

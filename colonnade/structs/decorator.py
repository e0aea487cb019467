"""`@struct`: a class with annotations as a class of structs."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from colonnade._core.structs import Definition, FieldDescriptor, Opener
from colonnade._words.shown import class_name, shown
from colonnade.structs.annotations import field_type, is_class_variable
from colonnade.structs.base import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

_REFUSED = {
    "__new__": "the core makes instances",
    "__init__": "the constructor takes the fields; write a classmethod for other arguments",
    "__init_subclass__": "there are no subclasses",
    "__class_getitem__": "it chooses fields",
    "__slots__": "the fields are in the bytes; annotate an attribute as Extra[...]",
    "__eq__": "structs with equal bytes are equal",
    "__hash__": "the hash is that of the bytes",
    "__reduce__": "a struct is pickled as its bytes",
    "__getattribute__": "fields are read from the bytes",
    "__setattr__": "fields do not change",
}
_MISSING = object()


@dataclass_transform(eq_default=True, order_default=False, kw_only_default=False)
def struct(kind: type[T]) -> type[T]:
    """Make a class of structs of a class with annotations; for use as ``@struct``.

    Each annotation is a field, in order: `colonnade docs structs` lists the types. ``X | None`` is
    optional. A default stands for an argument that is not given, and for the field in older bytes
    without it. Fields without a default come first, as in a dataclass. ``Extra[...]`` is an
    attribute that can be changed and is not stored. Methods and properties stay.

    Let the class inherit from `Struct`, so that type checkers know its methods; without it they are
    there too. A class of structs has no subclasses: bytes do not tell their class.

    Raises TypeError for a class that cannot become one, and StructError for a default that its
    field does not take.
    """
    _check_class(kind)
    caller = sys._getframe(1)  # noqa: SLF001 - the names that annotations of a local class use
    module = sys.modules.get(kind.__module__)
    scope = {**getattr(module, "__dict__", {}), **caller.f_globals, **caller.f_locals}
    fields, extras = _fields(kind, scope)
    definition = Definition(kind.__name__, fields, list(extras))
    namespace: dict[str, Any] = {
        name: value
        for name, value in vars(kind).items()
        if name not in {"__dict__", "__weakref__", *extras}
    }
    for index, (name, *_) in enumerate(fields):
        namespace[name] = FieldDescriptor(definition, index)
    namespace["__slots__"] = tuple(extras)
    namespace["__struct_definition__"] = definition
    namespace["__match_args__"] = tuple(name for name, *_ in fields)
    namespace["__signature__"] = _signature(fields, extras)
    namespace["from_bytes"] = Opener(definition)
    if extras:
        namespace["__init__"] = _init(extras)
    made: Any = type(kind.__name__, (Struct,), namespace)
    for name, default in extras.items():
        setattr(made, name, _ExtraAttribute(name, vars(made)[name], default))
    definition.complete(made)
    return made  # type: ignore[no-any-return]


def _check_class(kind: object) -> None:
    if not isinstance(kind, type):
        raise TypeError(f"@struct stands before a class, not before {shown(kind)}")
    name = kind.__name__
    if hasattr(kind, "__struct_definition__"):
        raise TypeError(f"{name} is a class of structs already, or inherits from one")
    if type(kind) is not type or kind.__bases__ not in {(object,), (Struct,)}:
        raise TypeError(
            f"{name} inherits from other classes than Struct: bytes do not tell of which class they"
            " are; make the other struct a field"
        )
    for refused, reason in _REFUSED.items():
        if refused in vars(kind):
            raise TypeError(f"{name} cannot define {refused}: {reason}")


def _fields(
    kind: type, scope: Mapping[str, Any]
) -> tuple[list[tuple[str, Any, bool, bool, Any]], dict[str, Any]]:
    """Return the fields as the core takes them, and the defaults of the extras."""
    fields: list[tuple[str, Any, bool, bool, Any]] = []
    extras: dict[str, Any] = {}
    with_default = None
    for name, annotation in inspect.get_annotations(kind).items():
        if is_class_variable(annotation):
            continue
        if name.startswith("__") or hasattr(Struct, name):
            raise TypeError(f"{kind.__name__}.{name}: a method of structs has this name")
        default = vars(kind).get(name, _MISSING)
        found = field_type(kind.__name__, name, annotation, scope)
        if found.is_extra:
            if type(default).__hash__ is None:
                raise TypeError(
                    f"{kind.__name__}.{name}: all instances would share its default, a "
                    f"{class_name(default)}: make it None, and set the attribute"
                )
            extras[name] = None if default is _MISSING else default
            continue
        has_default = default is not _MISSING
        if with_default is not None and not has_default:
            raise TypeError(
                f"{kind.__name__}.{name} has no default, and stands after {with_default}, which has"
                " one: arguments may be given by position"
            )
        with_default = name if has_default else None
        value = default if has_default else None
        fields.append((name, found.spec, found.optional, has_default, value))
    if not fields:
        raise TypeError(f"{kind.__name__} has no fields: annotate them, as in `number: int`")
    return fields, extras


def _signature(
    fields: list[tuple[str, Any, bool, bool, Any]], extras: Mapping[str, Any]
) -> inspect.Signature:
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    empty = inspect.Parameter.empty
    parameters = [
        inspect.Parameter(name, either, default=default if has_default else empty)
        for name, _, _, has_default, default in fields
    ]
    by_name = inspect.Parameter.KEYWORD_ONLY
    parameters += [
        inspect.Parameter(name, by_name, default=default) for name, default in extras.items()
    ]
    return inspect.Signature(parameters)


def _init(extras: Mapping[str, Any]) -> Any:
    """Return an `__init__` that sets the extras among the arguments; the core takes the fields."""

    def __init__(self: Struct, *_arguments: object, **keywords: object) -> None:  # noqa: N807
        for name in extras:
            if name in keywords:
                setattr(self, name, keywords[name])

    return __init__


class _ExtraAttribute:
    """An attribute that is not stored: it has its default until it is set."""

    def __init__(self, name: str, slot: Any, default: Any) -> None:
        self._name = name
        self._slot = slot
        self._default = default

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            return self._slot.__get__(instance, owner)
        except AttributeError:
            return self._default

    def __set__(self, instance: Any, value: Any) -> None:
        self._slot.__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        self._slot.__delete__(instance)

    def __repr__(self) -> str:
        return f"<extra {self._name} of {class_name(self._slot)}>"

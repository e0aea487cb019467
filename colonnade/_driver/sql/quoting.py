"""Quoting of SQL identifiers and literals; no other module does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from colonnade._words.arguments import fault_of
from colonnade._words.shown import shown
from colonnade.errors import InterfaceValueError

if TYPE_CHECKING:
    from collections.abc import Iterable

# `max_identifier_length` of every server that is not built otherwise, and none reports it unasked.
# The server cuts longer names, quoted or not, and two names become one. It counts the bytes of its
# own encoding, which is UTF-8 nearly everywhere. A server may be built to take longer ones: where a
# connection is at hand, it is asked, about such a name only.
NAME_BYTES_MAX = 63
LIMIT_SQL = "SELECT pg_catalog.current_setting('max_identifier_length')::pg_catalog.int4"


class WholeName(str):
    """A longer name that the server at hand takes whole."""

    __slots__ = ()


def is_name(text: str, bytes_max: int = NAME_BYTES_MAX) -> bool:
    """Whether the server takes a text as a name, and takes all of it."""
    return 1 <= _size(text) <= bytes_max and "\0" not in text


def is_long(name: str) -> bool:
    """Whether a server would cut the name, unless it has said otherwise."""
    return _size(name) > NAME_BYTES_MAX and not isinstance(name, WholeName)


def check_length(name: str, bytes_max: int = NAME_BYTES_MAX) -> None:
    """Raise InterfaceValueError for a name that the server would cut, or cannot get."""
    if (fault := fault_of(name)) is not None:
        raise InterfaceValueError(f"the name {shown(name)} has {fault}")
    if _size(name) > bytes_max and not isinstance(name, WholeName):
        raise InterfaceValueError(
            f"the name {shown(str(name))} has {_size(name)} bytes, and the server would cut it to "
            f"{bytes_max}: choose a shorter one"
        )


def has_long(arguments: Iterable[object]) -> bool:
    """Whether an argument is a long name, or a list with one."""
    return any(is_long(name) for argument in arguments for name in _names(argument))


def whole(argument: Any, bytes_max: int) -> Any:
    """The argument with each long name marked as one that the server takes.

    Raises InterfaceValueError for a name that is too long for it.
    """
    if isinstance(argument, str):
        return _marked(argument, bytes_max)
    if isinstance(argument, list | tuple):
        return [whole(value, bytes_max) for value in argument]
    return argument


class Asked(Protocol):
    """A blocking connection."""

    def fetch_plain(self, query: str, /) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        ...


def whole_on(connection: Asked, *arguments: Any) -> list[Any]:
    """The arguments as `whole`, by a blocking connection."""
    if not has_long(arguments):
        return list(arguments)
    ((bytes_max,),) = connection.fetch_plain(LIMIT_SQL)
    return [whole(argument, bytes_max) for argument in arguments]


def reported(name: str) -> str:
    """A name that the server itself has sent."""
    return WholeName(name) if is_long(name) else name


def _names(argument: object) -> list[str]:
    names = argument if isinstance(argument, list | tuple) else [argument]
    return [name for name in names if isinstance(name, str)]


def _marked(name: str, bytes_max: int) -> str:
    if not is_long(name):
        return name
    check_length(name, bytes_max)
    return WholeName(name)


def _size(name: str) -> int:
    return len(name.encode("utf-8", "surrogatepass"))


def quote_identifier(name: str) -> str:
    """Quote an identifier, which may contain any character that the server can get.

    Raises InterfaceValueError for one that the server would cut, or cannot get.
    """
    check_length(name)
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quote_literal(text: str) -> str:
    """Quote a string literal, for any setting of `standard_conforming_strings`.

    In the statement, no letter may directly precede the literal. Raises InterfaceValueError for
    a string that the server cannot get.
    """
    if (fault := fault_of(text)) is not None:
        raise InterfaceValueError(f"the text {shown(text)} has {fault}")
    escaped = text.replace("'", "''")
    if "\\" in escaped:
        doubled = escaped.replace("\\", "\\\\")
        return f"E'{doubled}'"
    return f"'{escaped}'"

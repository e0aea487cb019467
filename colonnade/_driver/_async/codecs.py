"""Codecs: Python functions in place of a type's own conversion."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from colonnade._words.arguments import check_callable, check_name
from colonnade._words.shown import class_name, shown
from colonnade._words.type_facts import TIMES
from colonnade.errors import (
    InterfaceError,
    InterfaceTypeError,
    InterfaceValueError,
    UnsupportedClientFeatureError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver._async.connection_base import ConnectionBase
    from colonnade._driver._async.conversation import Conversation
    from colonnade.columns import Columns

    CodecFormat = Literal["text", "binary", "tuple"]

# The kinds of pg_type whose values are single values or rows.
_SCALARS = {"b", "e", "p"}
_COMPOSITES = {"c"}

_MISSPELT = r"(?i)\btimezone$"

_LOOK_UP = """
    SELECT t.oid, t.typname::pg_catalog.text, t.typtype::pg_catalog.text,
           t.typelem OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
           AND t.typinput OPERATOR(pg_catalog.=) 'pg_catalog.array_in'::pg_catalog.regproc
    FROM pg_catalog.pg_type AS t
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
    WHERE n.nspname OPERATOR(pg_catalog.=) $2::pg_catalog.text
      AND (t.typname OPERATOR(pg_catalog.=) $1::pg_catalog.text
           OR n.nspname OPERATOR(pg_catalog.=) 'pg_catalog'
              AND t.oid OPERATOR(pg_catalog.=) pg_catalog.to_regtype($1::pg_catalog.text)
              AND t.typelem OPERATOR(pg_catalog.=) 0::pg_catalog.oid)
    ORDER BY t.typname OPERATOR(pg_catalog.=) $1::pg_catalog.text DESC
"""


class _Found(NamedTuple):
    oid: int
    name: str
    schema: str
    kind: str
    is_array: bool

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


async def set_type_codec(
    self: ConnectionBase,
    typename: str,
    *,
    schema: str = "public",
    encoder: Callable[[Any], Any],
    decoder: Callable[[Any], Any],
    format: CodecFormat = "text",  # noqa: A002 - asyncpg's name
    column_decoder: Callable[[Columns], Any] | None = None,
) -> None:
    """Make Python functions read and write the values of a type, on this connection.

    `encoder` converts a parameter to the form sent to PostgreSQL, `decoder` converts the form
    received to a row's value; neither is called for NULL. With `format` "text" the form is a `str`,
    with "binary" it is `bytes`, with "tuple" it is the value's parts: (months, days, microseconds)
    of an interval, (days,) of a date and (microseconds,) of a timestamp since 2000-01-01,
    (microseconds,) of a time, (microseconds, seconds west of UTC) of a timetz, the fields of a
    composite.

    Columns keep the received form, as text, as bytes, or with "tuple" as the type's own form, and
    Arrow's readers see that form. NumPy, pandas and Python get an object for each value: `decoder`
    is called when they ask for it. If `column_decoder` is given, it is called instead, once with
    the whole column in the received form, as a `Columns` of that column alone. The array it
    returns, of NumPy or any library that supports Arrow, replaces the column for every reader.

    A codec also applies to the elements of arrays, and to fields of composites and bounds of ranges
    unless it has the text form, which they do not support. It applies to statements that are
    prepared from now on.

    Raises ValueError if the type does not exist, and InterfaceError or
    UnsupportedClientFeatureError if the type cannot have such a codec: arrays, ranges, domains, and
    composites in another format than "tuple".
    """
    _check_format(format, ("text", "binary", "tuple"))
    callables = ("encoder", encoder), ("decoder", decoder), ("column_decoder", column_decoder)
    for option, function in callables:
        check_callable(option, function)
    async with self.conversation.operation(None):
        found = await _found(self.conversation, typename, schema)
        _check_codec(found, format)
        number = self.conversation.session.set_codec(found.oid, format, encoder, decoder)
        if column_decoder is not None:
            self.conversation.column_decoders[number] = column_decoder


async def reset_type_codec(self: ConnectionBase, typename: str, *, schema: str = "public") -> None:
    """Restore a type's own conversion, for statements prepared from now on.

    Raises ValueError if the type does not exist.
    """
    async with self.conversation.operation(None):
        found = await _found(self.conversation, typename, schema)
        self.conversation.session.reset_type(found.oid)


async def set_builtin_type_codec(
    self: ConnectionBase,
    typename: str,
    *,
    schema: str = "public",
    codec_name: str,
    format: Literal["text", "binary"] | None = None,  # noqa: A002 - asyncpg's name
) -> None:
    """Read and write a scalar type as another type that Colonnade knows.

    `codec_name` is a PostgreSQL type such as "int4" or "text", or a type of an extension, such as
    "hstore", optionally prefixed with "pg_contrib.". The types of known extensions do not need this
    call. The type must have the other type's binary form.

    Raises ValueError if the type does not exist, and InterfaceError if the type is not a scalar or
    the codec does not exist.
    """
    if format is not None:
        _check_format(format, ("text", "binary"))
    if not isinstance(codec_name, str):
        raise InterfaceTypeError(f"codec_name must be a str, not {class_name(codec_name)}")
    check_name("codec_name", codec_name)
    async with self.conversation.operation(None):
        found = await _found(self.conversation, typename, schema)
        if found.is_array or found.kind not in {*_SCALARS, "d"}:
            msg = f"cannot alias non-scalar type {found}"
            raise InterfaceError(msg)
        if not self.conversation.session.set_alias(
            found.oid, codec_name.removeprefix("pg_contrib.")
        ):
            msg = f"cannot alias {found.name} to {codec_name}: there is no such codec"
            raise InterfaceValueError(msg)


async def reload_schema_state(self: ConnectionBase) -> None:
    """Forget the database's types, so that they are looked up again.

    This holds for prepared statements, and for all connections of a pool. New types are found
    without this call; an altered type is looked up again after the first error that it causes, and
    after `max_cached_statement_lifetime`.
    """
    async with self.conversation.operation(None):
        self.conversation.session.forget_types()


async def _found(conversation: Conversation, name: str, schema: str) -> _Found:
    check_name("typename", name)
    check_name("schema", schema)
    if schema == "pg_catalog":
        # asyncpg accepts "timestamp with timezone", which is not SQL.
        name = re.sub(_MISSPELT, "time zone", name)
    rows = await conversation.plain_rows(_LOOK_UP, (name, schema))
    if not rows:
        msg = f"unknown type: {schema}.{name}"
        raise ValueError(msg)
    oid, real_name, kind, is_array = rows[0]
    return _Found(oid, real_name, schema, kind, is_array)


def _check_format(given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        *first, last = (f"'{name}'" for name in known)
        wanted = f"{', '.join(first)} or {last}"
        msg = f"invalid `format` argument, expected {wanted}, got {shown(given)}"
        raise InterfaceValueError(msg) if isinstance(given, str) else InterfaceTypeError(msg)


def _check_codec(found: _Found, codec_format: str) -> None:
    if found.kind == "d":
        msg = "custom codecs on domain types are not supported"
        raise UnsupportedClientFeatureError(
            msg,
            hint="Set the codec on the base type.",
            detail=(
                "PostgreSQL does not distinguish domains from their base types in query results "
                "at the protocol level."
            ),
        )
    if found.kind in _COMPOSITES:
        if codec_format == "tuple":
            return
        msg = "only tuple-format codecs can be used on composite types"
        raise UnsupportedClientFeatureError(
            msg, hint="Pass format='tuple': the functions take and return the fields as a tuple."
        )
    if found.is_array or found.kind not in _SCALARS:
        msg = (
            f"cannot use custom codec on type {found}: "
            "it is neither a scalar type nor a composite type"
        )
        raise InterfaceError(msg)
    if codec_format == "tuple" and found.name not in TIMES:
        msg = f"{found.name} type does not support the 'tuple' exchange format"
        raise InterfaceError(msg)

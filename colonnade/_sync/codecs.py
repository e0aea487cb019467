# Generated from colonnade/_async/codecs.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Codecs: Python functions in place of a type's own reading and writing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from colonnade._arguments import check_callable, check_name
from colonnade._shown import shown
from colonnade.errors import InterfaceError, UnsupportedClientFeatureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._sync.conversation import Conversation
    from colonnade._sync.conversing import Conversing
    from colonnade.columns import Columns

    CodecFormat = Literal["text", "binary", "tuple"]

# The kinds of pg_type that hold one value, or a row of them.
_SCALARS = {"b", "e", "p"}
_COMPOSITES = {"c"}
# What can be taken apart, beside composites.
_TUPLES = {"date", "time", "timetz", "timestamp", "timestamptz", "interval"}

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


def set_type_codec(
    self: Conversing,
    typename: str,
    *,
    schema: str = "public",
    encoder: Callable[[Any], Any],
    decoder: Callable[[Any], Any],
    format: CodecFormat = "text",  # noqa: A002 - asyncpg's name
    column_decoder: Callable[[Columns], Any] | None = None,
) -> None:
    """Let Python functions read and write the values of a type, on this connection.

    `encoder` makes of a parameter what PostgreSQL is sent, `decoder` of what PostgreSQL sends
    a row's value; neither sees a NULL. With `format` "text" that is a `str`, with "binary" it
    is `bytes`, with "tuple" it is the value taken apart: (months, days, microseconds) of an
    interval, (days,) of a date and (microseconds,) of a timestamp since 2000-01-01,
    (microseconds,) of a time, (microseconds, seconds west of UTC) of a timetz, the fields of a
    composite.

    In columns the value is kept as it came, as text, as bytes, or with "tuple" in the type's
    own form; so Arrow's readers see it. NumPy, pandas and Python get an object of each value,
    for which `decoder` is called when they are asked for. `column_decoder` is called instead,
    once with the whole column as it came, as `Columns` of it alone. The array it returns, of
    NumPy's or any library that speaks Arrow, takes the column's place for every reader.

    A codec holds for the elements of arrays too, for fields of composites and bounds of ranges
    unless it is of the text form, which is not to be had there. It holds for statements that
    are prepared from now on.

    Raises ValueError for a type that there is not, and InterfaceError or
    UnsupportedClientFeatureError for one that cannot have such a codec: arrays, ranges,
    domains, and composites in another format than "tuple".
    """
    _check_format(format, ("text", "binary", "tuple"))
    callables = ("encoder", encoder), ("decoder", decoder), ("column_decoder", column_decoder)
    for option, function in callables:
        check_callable(option, function)
    with self.conversation.operation(None):
        found = _found(self.conversation, typename, schema)
        _check_codec(found, format)
        number = self.conversation.session.set_codec(found.oid, format, encoder, decoder)
        if column_decoder is not None:
            self.conversation.column_decoders[number] = column_decoder


def reset_type_codec(self: Conversing, typename: str, *, schema: str = "public") -> None:
    """Let a type be read and written as it is, for statements prepared from now on.

    Raises ValueError for a type that there is not.
    """
    with self.conversation.operation(None):
        found = _found(self.conversation, typename, schema)
        self.conversation.session.reset_type(found.oid)


def set_builtin_type_codec(
    self: Conversing,
    typename: str,
    *,
    schema: str = "public",
    codec_name: str,
    format: Literal["text", "binary"] | None = None,  # noqa: A002 - asyncpg's name
) -> None:
    """Let a scalar type be read and written as a type that Colonnade knows.

    `codec_name` is a type of PostgreSQL's such as "int4" or "text", or of an extension, such as
    "hstore", with or without "pg_contrib." before it. The types of known extensions need no
    such call. The type must have the other's binary form.

    Raises ValueError for a type that there is not, InterfaceError for a type that is no scalar
    and for a codec that there is not.
    """
    if format is not None:
        _check_format(format, ("text", "binary"))
    check_name("codec_name", codec_name)
    with self.conversation.operation(None):
        found = _found(self.conversation, typename, schema)
        if found.is_array or found.kind not in {*_SCALARS, "d"}:
            msg = f"cannot alias non-scalar type {found}"
            raise InterfaceError(msg)
        if not self.conversation.session.set_alias(
            found.oid, codec_name.removeprefix("pg_contrib.")
        ):
            msg = f"cannot alias {found.name} to {codec_name}: there is no such codec"
            raise InterfaceError(msg)


def reload_schema_state(self: Conversing) -> None:
    """Forget what is known of the database's types, so that they are looked up anew.

    New types are found without this, and a type that was altered is looked up again after the
    first error that it causes.
    """
    with self.conversation.operation(None):
        self.conversation.session.forget_types()


def _found(conversation: Conversation, name: str, schema: str) -> _Found:
    check_name("schema", schema)
    if schema == "pg_catalog":
        # asyncpg knows "timestamp with timezone", which is not SQL.
        name = re.sub(_MISSPELT, "time zone", name)
    rows = conversation.plain_rows(_LOOK_UP, (name, schema))
    if not rows:
        msg = f"unknown type: {schema}.{name}"
        raise ValueError(msg)
    oid, real_name, kind, is_array = rows[0]
    return _Found(oid, real_name, schema, kind, is_array)


def _check_format(given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        *first, last = (f"'{name}'" for name in known)
        wanted = f"{', '.join(first)} or {last}"
        msg = f"invalid `format` argument, expected {wanted}, got {shown(given)}"
        raise InterfaceError(msg)


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
            msg, hint="Pass format='tuple': the functions get and give the fields as a tuple."
        )
    if found.is_array or found.kind not in _SCALARS:
        msg = (
            f"cannot use custom codec on type {found}: "
            "it is neither a scalar type nor a composite type"
        )
        raise InterfaceError(msg)
    if codec_format == "tuple" and found.name not in _TUPLES:
        msg = f"{found.name} type does not support the 'tuple' exchange format"
        raise InterfaceError(msg)

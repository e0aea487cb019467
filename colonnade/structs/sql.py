"""SQL functions that read the fields of structs on the server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from colonnade._driver.sql.quoting import is_name, quote_identifier, quote_literal
from colonnade._words.shown import shown
from colonnade.structs import _sql_values as values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade._core.structs import Definition

_HEADER_BYTES = 24

# CREATE OR REPLACE keeps the owner, who can change what runs with everybody's rights.
_OWNED = """
DECLARE
    found pg_catalog.text := (
        SELECT pg_catalog.format('%s belongs to %I', p.oid::pg_catalog.regprocedure, r.rolname)
        FROM pg_catalog.pg_proc AS p
        JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) p.proowner
        WHERE p.oid OPERATOR(pg_catalog.=) ANY (ARRAY[{functions}])
        AND r.rolname OPERATOR(pg_catalog.<>) CURRENT_USER AND NOT r.rolsuper
        LIMIT 1
    );
BEGIN
    IF found IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = pg_catalog.format('the function %s, who could change it later', found),
            HINT = 'Drop it, or SET ROLE to that role if it is yours.';
    END IF;
END
"""


class Defined(Protocol):
    """The classes for which the functions are made: structs, which have a definition."""

    __struct_definition__: ClassVar[Definition]


class _Field(NamedTuple):
    """The place of a field: see `Definition.places`."""

    number: int
    name: str
    kind: str
    slot: int
    flag: int | None
    previous_end: int | None


def create_sql(kind: type[Defined], *, schema: str | None = None, prefix: str | None = None) -> str:
    """Return the statements that create a function for each field that SQL can read.

    A function has the name of the class, in lower case and with underscores, and of the field:
    ``facts_created(bytea)``. `prefix` replaces the first part, so that two versions of a struct can
    stand side by side, and `schema` is the functions' schema; without it they are created in the
    first one of the search path. A function of that name is replaced if it is yours or a
    superuser's; the last statement refuses one of another role, so run all of them in one call of
    `execute`, or in a transaction. Functions are immutable and parallel-safe, so an index over one
    can be made and used. Fields without a function are named in comments; `colonnade docs structs`
    tells why.

    A function returns NULL for a NULL field, for the bytes of another struct, for bytes that were
    cut, for a time that the server's type cannot have, and for older bytes without the field,
    unless that has a default.

    Raises ValueError for a name that is longer than the server's 63 bytes.
    """
    definition = kind.__struct_definition__
    start = _underscored(kind.__name__) + "_" if prefix is None else prefix
    return "\n".join(_statements(definition, schema, start)) + "\n"


def _underscored(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _statements(definition: Definition, schema: str | None, start: str) -> Iterator[str]:
    kinds = zip(definition.names, definition.types, definition.places, strict=True)
    created = []
    for index, (name, kind, place) in enumerate(kinds):
        field = _Field(index, name, kind.rstrip("?"), *place)
        body = _body(definition, field)
        if body is None:
            yield f"-- {_comment(name)}: a {kind} has no function"
            continue
        function = start + name
        if not is_name(function):
            raise ValueError(f"the name {shown(function)} is longer than 63 bytes: give a prefix")
        place_name = quote_identifier(function)
        if schema is not None:
            place_name = f"{quote_identifier(schema)}.{place_name}"
        returned, expression = body
        yield (
            f"CREATE OR REPLACE FUNCTION {place_name}(pg_catalog.bytea) RETURNS pg_catalog."
            f"{returned} LANGUAGE sql IMMUTABLE PARALLEL SAFE AS "
            f"{quote_literal('SELECT ' + expression)};"
        )
        signature = quote_literal(f"{place_name}(pg_catalog.bytea)")
        created.append(f"{signature}::pg_catalog.regprocedure::pg_catalog.oid")
    if created:
        yield f"DO LANGUAGE plpgsql {quote_literal(_OWNED.format(functions=', '.join(created)))};"


def _comment(name: str) -> str:
    return name.replace("\n", " ").replace("\r", " ")


def _body(definition: Definition, field: _Field) -> tuple[str, str] | None:
    """Return the type and the expression of a field's function; None if it has none."""
    read = _read(field)
    if read is None:
        return None
    returned, expression = read
    fits = f"{_is_whole(field)} AND {_fits(definition, field.number)}"
    if field.flag is not None:
        byte, bit = divmod(field.flag, 8)
        flag = values.operation(values.byte_at(byte), "&", str(1 << bit))
        fits = f"{fits} AND {values.operation(flag, '<>', '0')}"
    older = ""
    identities = _identities(definition, definition.required, field.number)
    default = definition.default_of(field.number) if identities else None
    if default is not None:
        literal = values.literal(default, returned, field.kind)
        if literal is None:
            return None
        # Damaged bytes of an older version are refused by their length, too.
        is_older = f"{_is_whole(None)} AND {_is_one_of(identities)}"
        older = f" WHEN {is_older} THEN {literal}"
    return returned, f"CASE WHEN {fits} THEN {expression}{older} END"


def _identities(definition: Definition, first: int, last: int) -> list[bytes]:
    """Return the number of fields and the hash of each version with this many fields."""
    counts = range(first, last + 1)
    return [
        count.to_bytes(2, "little") + definition.hash_of(count).to_bytes(8, "little")
        for count in counts
    ]


def _is_one_of(identities: list[bytes]) -> str:
    found = values.part("6", "10")
    tests = [values.operation(found, "=", values.bytea(each)) for each in identities]
    return f"({' OR '.join(tests)})"


def _is_whole(field: _Field | None) -> str:
    """Return the test of the lengths in the header, which any bytes pass without an error.

    The server tests from left to right, and skips all tests after the first false one.
    """
    length = "pg_catalog.octet_length($1)"
    fixed_end, checks = values.word_at(20, 4), values.operation("4", "*", values.byte_at(5))
    read_end = _HEADER_BYTES
    if field is not None:
        size = values.size_of(field.kind)
        read_end = max(read_end, field.slot + size, (field.flag or 0) // 8 + 1)
    return " AND ".join(
        (
            values.operation(length, ">=", str(_HEADER_BYTES)),
            values.operation(values.word_at(16, 4), "=", length),
            values.operation(fixed_end, ">=", str(read_end)),
            values.operation(fixed_end, "<=", values.operation(length, "-", checks)),
        )
    )


def _fits(definition: Definition, index: int) -> str:
    """Return the test of whether bytes are of a version of the struct that has the field."""
    count = len(definition.names)
    mark = values.operation(values.part("0", "5"), "=", values.bytea(definition.template[:5]))
    known = _is_one_of(_identities(definition, max(definition.required, index + 1), count))
    # A later version has a table of checks behind the fixed part, one for each shorter version.
    check = definition.hash_of(count)
    folded = ((check ^ check >> 32) & 0xFFFF_FFFF).to_bytes(4, "little")
    fields = values.word_at(6, 2)
    shortest = values.operation(fields, "-", values.byte_at(5))
    place = values.operation("4", "*", values.operation(str(count), "-", shortest))
    entry = values.part(values.operation(values.word_at(20, 4), "+", place), "4")
    later = (
        f"{values.operation(fields, '>', str(count))}"
        f" AND {values.operation(shortest, '<=', str(count))}"
        f" AND {values.operation(entry, '=', values.bytea(folded))}"
    )
    return f"{mark} AND ({known} OR ({later}))"


def _read(field: _Field) -> tuple[str, str] | None:
    """Return the type of the server that has the field's values, and the expression of one."""
    if field.kind in {"str", "bytes", "struct"}:
        align = 8 if field.kind == "struct" else 1
        before = (
            values.operation(
                values.word_at(20, 4), "+", values.operation("4", "*", values.byte_at(5))
            )
            if field.previous_end is None
            else values.word_at(field.previous_end, 4)
        )
        start = before
        if align > 1:
            blocks = values.operation(
                values.operation(before, "+", str(align - 1)), "/", str(align)
            )
            start = values.operation(blocks, "*", str(align))
        end = values.word_at(field.slot, 4)
        found = values.part(start, values.operation(end, "-", start))
        shown = values.text(found) if field.kind == "str" else found
        is_within = " AND ".join(
            (
                values.operation(before, ">=", "0"),
                values.operation(before, "<=", end),
                values.operation(start, "<=", end),
                values.operation(end, "<=", "pg_catalog.octet_length($1)"),
            )
        )
        returned = "text" if field.kind == "str" else "bytea"
        return returned, f"CASE WHEN {is_within} THEN {shown} END"
    return values.scalar(field.kind, field.slot)

"""The split of a table or query: every row meets exactly one of the conditions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade._words.shown import shown
from colonnade._words.type_facts import MOMENTS, NUMBERS
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import sync

    Cuts = Literal["quantile", "range"]

# For the quantiles of its key, a table with more blocks is sampled; about this many blocks are
# read.
_SAMPLED_BLOCKS = 1000

_BLOCKS = """
WITH RECURSIVE tree (oid) AS (
    SELECT $1::pg_catalog.text::pg_catalog.regclass::pg_catalog.oid
    UNION ALL
    SELECT i.inhrelid FROM pg_catalog.pg_inherits i
    JOIN tree ON i.inhparent OPERATOR(pg_catalog.=) tree.oid
)
SELECT pg_catalog.max(pg_catalog.pg_relation_size(tree.oid))
    OPERATOR(pg_catalog./) pg_catalog.current_setting('block_size')::pg_catalog.int4 AS blocks,
    (SELECT relkind::pg_catalog.text FROM pg_catalog.pg_class c
    WHERE c.oid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.regclass) AS kind
FROM tree
"""
_KEY_TYPE = """
SELECT n.nspname::pg_catalog.text AS schema, t.typname::pg_catalog.text AS name,
    pg_catalog.format_type(t.oid, -1) AS told
FROM pg_catalog.pg_type AS t
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
WHERE t.oid OPERATOR(pg_catalog.=) pg_catalog.pg_typeof((SELECT {key} FROM {relation} LIMIT 0))
"""
# The type of the key and, of a domain, those under it.
_BASE = """
WITH RECURSIVE base (oid) AS (
    SELECT pg_catalog.pg_typeof((SELECT {key} FROM {relation} LIMIT 0))::pg_catalog.oid
    UNION ALL
    SELECT t.typbasetype FROM base
    JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) base.oid
    WHERE t.typbasetype OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
)
"""
# The operators of the type's own operator class, which ORDER BY also uses. Enums, ranges, arrays
# and rows have none: pg_catalog has operators for these kinds.
_ORDER = (
    _BASE
    + """
SELECT n.nspname::pg_catalog.text
FROM base
JOIN pg_catalog.pg_opclass AS c ON c.opcintype OPERATOR(pg_catalog.=) base.oid AND c.opcdefault
JOIN pg_catalog.pg_am AS m ON m.oid OPERATOR(pg_catalog.=) c.opcmethod
    AND m.amname OPERATOR(pg_catalog.=) 'btree'
JOIN pg_catalog.pg_amop AS a ON a.amopfamily OPERATOR(pg_catalog.=) c.opcfamily
    AND a.amoplefttype OPERATOR(pg_catalog.=) c.opcintype
    AND a.amoprighttype OPERATOR(pg_catalog.=) c.opcintype
    AND a.amopstrategy OPERATOR(pg_catalog.=) 1
JOIN pg_catalog.pg_operator AS o ON o.oid OPERATOR(pg_catalog.=) a.amopopr
    AND o.oprname OPERATOR(pg_catalog.=) '<'
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) o.oprnamespace
WHERE base.oid OPERATOR(pg_catalog.<>) 'pg_catalog.record'::pg_catalog.regtype::pg_catalog.oid
"""
)
# Of a type without such a class: whether its values have an order, and an array for cuts.
_SORTS = (
    _BASE
    + """
SELECT t.typtype OPERATOR(pg_catalog.=) ANY ('{{c,e,m,r}}'::pg_catalog."char"[]) OR EXISTS (
        SELECT FROM pg_catalog.pg_cast AS k
        JOIN pg_catalog.pg_opclass AS c ON c.opcintype OPERATOR(pg_catalog.=) k.casttarget
            AND c.opcdefault
        JOIN pg_catalog.pg_am AS m ON m.oid OPERATOR(pg_catalog.=) c.opcmethod
            AND m.amname OPERATOR(pg_catalog.=) 'btree'
        WHERE k.castsource OPERATOR(pg_catalog.=) t.oid
            AND k.castmethod OPERATOR(pg_catalog.=) 'b'::pg_catalog."char"
    ), pg_catalog.format_type(t.oid, -1)
FROM base JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) base.oid
    AND t.typbasetype OPERATOR(pg_catalog.=) 0::pg_catalog.oid
"""
)
_QUANTILES = """
SELECT cuts.cut AS cut, n.nspname::pg_catalog.text AS schema, t.typname::pg_catalog.text AS name,
    cuts.rows AS rows
FROM (
    SELECT DISTINCT each.cut, counted.rows FROM (
        SELECT pg_catalog.percentile_disc(ARRAY[{fractions}]::pg_catalog.float8[])
            WITHIN GROUP (ORDER BY {key}) AS found, pg_catalog.count(*) AS rows
        FROM {relation}
    ) AS counted CROSS JOIN LATERAL pg_catalog.unnest(counted.found) AS each (cut)
) AS cuts
JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) pg_catalog.pg_typeof(cuts.cut)
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
ORDER BY cuts.cut
"""
_RANGE = """
SELECT cut AS cut
FROM (
    SELECT DISTINCT {step}::{kind} AS cut
    FROM (
        SELECT pg_catalog.min({bounded}) AS lo, pg_catalog.max({bounded}) AS hi FROM {relation}
    ) AS bounds, pg_catalog.generate_series(1, {last}) AS part
    WHERE lo IS NOT NULL
) AS cuts ORDER BY cuts.cut
"""
_NUMBER_STEP = """(
    lo::pg_catalog.numeric OPERATOR(pg_catalog.+) ((
        (hi::pg_catalog.numeric OPERATOR(pg_catalog.-) lo::pg_catalog.numeric)
        OPERATOR(pg_catalog.*) part::pg_catalog.numeric
    ) OPERATOR(pg_catalog./) {parts}::pg_catalog.numeric)
)"""
_MOMENT_STEP = """(
    lo::pg_catalog.timestamp OPERATOR(pg_catalog.+) (
        (hi::pg_catalog.timestamp OPERATOR(pg_catalog.-) lo::pg_catalog.timestamp)
        OPERATOR(pg_catalog.*) (part::pg_catalog.float8 OPERATOR(pg_catalog./) {parts})
    )
)"""
_SPLIT_AS_NUMBERS = NUMBERS | {"oid"}


def table_facts(connection: sync.Connection, table: str) -> tuple[int, str]:
    """The number of blocks of a table, or of its largest partition, and its kind."""
    ((blocks, kind),) = connection.fetch_plain(_BLOCKS, table)
    return int(blocks or 0), kind


def block_conditions(connection: sync.Connection, table: str, parts: int) -> list[str]:
    """Conditions on the physical positions of rows, in their order.

    Raises InterfaceError for a relation without them: a view, a foreign table.
    """
    blocks, kind = table_facts(connection, table)
    if kind not in {"r", "m", "p"}:
        msg = f"{table} is not a table with physical rows: name a column in partition_by="
        raise InterfaceError(msg)
    parts = max(1, min(parts, blocks))
    cuts = [f"'({blocks * part // parts},0)'::pg_catalog.tid" for part in range(1, parts)]
    return _between("ctid", cuts, '"pg_catalog"')


def key_order(connection: sync.Connection, relation: str, args: Sequence[object], key: str) -> str:
    """The schema, quoted, of the operators that a key is ordered by.

    Not that of the first operator in the search path, which another user may have created. Raises
    InterfaceError for a type without an order, and for arrays, which have no array for the cuts.
    """
    named = {"key": quote_identifier(key), "relation": relation}
    found = connection.fetch_plain(_ORDER.format(**named), *args)
    if found:
        return quote_identifier(found[0][0])
    ((sorts, told),) = connection.fetch_plain(_SORTS.format(**named), *args)
    if not sorts:
        raise InterfaceError(
            f"partition_by names {shown(key)} of the type {told}, by which rows cannot be split",
            hint="name another column, or select a number or a text of it under a name of its own",
        )
    return quote_identifier("pg_catalog")


def key_conditions(key: str, literals: Sequence[str], operators: str) -> list[str]:
    """Conditions on a key between ordered literals; NULL is in the last one.

    `operators` is the schema of the comparison operators.
    """
    if not literals:
        return ["true"]
    *conditions, last = _between(quote_identifier(key), literals, operators)
    return [*conditions, f"({last} OR {quote_identifier(key)} IS NULL)"]


def quantile_literals(
    connection: sync.Connection, relation: str, args: Sequence[object], key: str, parts: int
) -> tuple[list[str], int | None]:
    """Values of a key, in its order, that split the rows into parts of about equal size.

    They are literals with their type, and mean the same under any settings of a session. Beside
    them the number of rows; None where there are no values.
    """
    fractions = ", ".join(f"{part / parts:.9f}" for part in range(1, parts))
    asked = _QUANTILES.format(fractions=fractions, key=quote_identifier(key), relation=relation)
    cuts, schemas, names, rows = _texts(connection, asked, args)
    literals = [
        f"{quote_literal(cut)}::{quote_identifier(schema)}.{quote_identifier(name)}"
        for cut, schema, name in zip(cuts, schemas, names, strict=True)
    ]
    return literals, next(map(int, rows), None)


def range_literals(
    connection: sync.Connection, relation: str, args: Sequence[object], key: str, parts: int
) -> list[str]:
    """Equidistant values of a key, between its minimum and its maximum.

    Raises InterfaceError for a key that is neither a number nor a date or timestamp.
    """
    name = quote_identifier(key)
    asked = _KEY_TYPE.format(key=name, relation=relation)
    ((schema, type_name, told),) = connection.fetch_plain(asked, *args)
    known = type_name if schema == "pg_catalog" else None
    if known in _SPLIT_AS_NUMBERS:
        step, bounded = _NUMBER_STEP.format(parts=parts), name
    elif known in MOMENTS:
        step = _MOMENT_STEP.format(parts=parts)
        bounded = f"CASE WHEN pg_catalog.isfinite({name}) THEN {name} END"
    else:
        msg = f"cuts='range' is for numbers, dates and timestamps; {shown(key)} is {told}"
        raise InterfaceError(
            msg, hint="Use cuts='quantile', which supports every type with an order."
        )
    asked = _RANGE.format(
        kind=f"pg_catalog.{known}", step=step, bounded=bounded, relation=relation, last=parts - 1
    )
    (cuts,) = _texts(connection, asked, args)
    return [f"{quote_literal(cut)}::pg_catalog.{known}" for cut in cuts]


def _texts(connection: sync.Connection, sql: str, args: Sequence[object]) -> list[list[str]]:
    """The columns of a result; that of the cuts as text, which depends on no setting."""
    columns = connection.fetch_columns(sql, *args, schema={"cut": "utf8"})
    batch = columns._batch  # noqa: SLF001 - a codec of text changes nothing
    return [batch.column(place).stored_pylist() for place in range(batch.num_columns)]


def sampled(connection: sync.Connection, table: str) -> str:
    """The rows for the quantiles of a key: the whole table, or a sample of a large one."""
    blocks, kind = table_facts(connection, table)
    if kind not in {"r", "m"} or blocks <= _SAMPLED_BLOCKS:
        return table
    return f"{table} TABLESAMPLE pg_catalog.system ({100 * _SAMPLED_BLOCKS / blocks:.6f})"


def _between(key: str, cuts: Sequence[str], operators: str) -> list[str]:
    """Conditions for values below the first cut, between two cuts, and from the last cut on."""
    if not cuts:
        return ["true"]
    below, from_on = (f"{key} OPERATOR({operators}.{each})" for each in ("<", ">="))
    between = [f"({from_on} {low} AND {below} {high})" for low, high in pairwise(cuts)]
    return [f"{below} {cuts[0]}", *between, f"{from_on} {cuts[-1]}"]

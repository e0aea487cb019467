"""Where a table or query is cut: conditions of which every row fulfils exactly one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from colonnade._quoting import quote_identifier
from colonnade._shown import shown
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import sync

    Cuts = Literal["quantile", "range"]

# A table with more blocks is sampled for the quantiles of its key, about so many of them.
_SAMPLED_BLOCKS = 1000

_BLOCKS = """
WITH RECURSIVE tree (oid) AS (
    SELECT $1::pg_catalog.text::pg_catalog.regclass::pg_catalog.oid
    UNION ALL
    SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid
)
SELECT max(pg_catalog.pg_relation_size(tree.oid))
    / pg_catalog.current_setting('block_size')::int AS blocks,
    (SELECT relkind::text FROM pg_catalog.pg_class c
    WHERE c.oid = $1::pg_catalog.text::pg_catalog.regclass) AS kind
FROM tree
"""
_NUMBERS = {
    *("smallint", "integer", "bigint", "oid", "numeric", "real", "double precision"),
}
_MOMENTS = {
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
}


def table_facts(connection: sync.Connection, table: str) -> tuple[int, str]:
    """How many blocks a table has, its largest partition at least, and its kind."""
    (row,) = connection.fetch(_BLOCKS, table)
    return int(row["blocks"] or 0), row["kind"]


def block_conditions(connection: sync.Connection, table: str, parts: int) -> list[str]:
    """Conditions on the places of rows in the table's file, in its order.

    Raises InterfaceError for what has no such places: a view, a foreign table.
    """
    blocks, kind = table_facts(connection, table)
    if kind not in {"r", "m", "p"}:
        msg = f"{table} is no table whose rows have places: name a column in partition_by="
        raise InterfaceError(msg)
    parts = max(1, min(parts, blocks))
    cuts = [f"'({blocks * part // parts},0)'::tid" for part in range(1, parts)]
    return _between("ctid", cuts)


def key_conditions(key: str, literals: Sequence[str]) -> list[str]:
    """Conditions on a key between literals that are in its order; NULL is in the last one."""
    if not literals:
        return ["true"]
    *conditions, last = _between(quote_identifier(key), literals)
    return [*conditions, f"({last} OR {quote_identifier(key)} IS NULL)"]


def quantile_literals(
    connection: sync.Connection, relation: str, args: Sequence[object], key: str, parts: int
) -> list[str]:
    """Values of a key, in its order, between which there are about as many rows each.

    They are the server's own texts of them, with their type.
    """
    fractions = ", ".join(f"{part / parts:.9f}" for part in range(1, parts))
    rows = connection.fetch(
        f"""
        SELECT pg_catalog.quote_literal(cut::text) || '::'
            -- As "character" and "bit", they would be cut to one.
            || pg_catalog.format_type(pg_catalog.pg_typeof(cut), -1) AS cut
        FROM (
            SELECT DISTINCT cut FROM pg_catalog.unnest((
                SELECT pg_catalog.percentile_disc(ARRAY[{fractions}]::float8[])
                    WITHIN GROUP (ORDER BY {quote_identifier(key)})
                FROM {relation} WHERE {quote_identifier(key)} IS NOT NULL
            )) AS cut
        ) AS cuts ORDER BY cuts.cut
        """,
        *args,
    )
    return [row["cut"] for row in rows]


def range_literals(
    connection: sync.Connection, relation: str, args: Sequence[object], key: str, parts: int
) -> list[str]:
    """Values of a key that are as far from each other, between its least and its greatest.

    Raises InterfaceError for a key that is neither a number nor a date or timestamp.
    """
    name = quote_identifier(key)
    kind = connection.fetchval(
        f"SELECT pg_catalog.pg_typeof((SELECT {name} FROM {relation} LIMIT 0))::text", *args
    )
    if kind in _NUMBERS:
        step, bounded = f"(lo::numeric + (hi::numeric - lo::numeric) * part / {parts})", name
    elif kind in _MOMENTS:
        step = f"(lo::timestamp + (hi::timestamp - lo::timestamp) * (part::float8 / {parts}))"
        bounded = f"CASE WHEN pg_catalog.isfinite({name}) THEN {name} END"
    else:
        msg = f"cuts='range' is for numbers, dates and timestamps; {shown(key)} is {kind}"
        raise InterfaceError(msg, hint="Use cuts='quantile', which takes every type with an order.")
    rows = connection.fetch(
        f"""
        SELECT pg_catalog.quote_literal(cut::text) || '::{kind}' AS cut
        FROM (
            SELECT DISTINCT {step}::{kind} AS cut
            FROM (SELECT min({bounded}) AS lo, max({bounded}) AS hi FROM {relation}) AS bounds,
                pg_catalog.generate_series(1, {parts - 1}) AS part
            WHERE lo IS NOT NULL
        ) AS cuts ORDER BY cuts.cut
        """,
        *args,
    )
    return [row["cut"] for row in rows]


def sampled(connection: sync.Connection, table: str) -> str:
    """What quantiles of a table's key are taken of: all of it, or some blocks where it is large."""
    blocks, kind = table_facts(connection, table)
    if kind not in {"r", "m"} or blocks <= _SAMPLED_BLOCKS:
        return table
    return f"{table} TABLESAMPLE SYSTEM ({100 * _SAMPLED_BLOCKS / blocks:.6f})"


def _between(key: str, cuts: Sequence[str]) -> list[str]:
    """A condition for what is below all cuts, between two of them, and from the last one on."""
    if not cuts:
        return ["true"]
    between = [f"({key} >= {low} AND {key} < {high})" for low, high in pairwise(cuts)]
    return [f"{key} < {cuts[0]}", *between, f"{key} >= {cuts[-1]}"]

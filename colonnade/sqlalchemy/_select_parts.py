"""The parts of a select, read from SQLAlchemy's private attributes.

SQLAlchemy has no public way to ask a `Select` for its ORDER BY or its LIMIT. Only this module reads
private attributes. It walks SQLAlchemy's own list of them, so that a part which a later version
adds is refused, not overlooked.
"""

# ruff: noqa: SLF001 - see above

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa

# Parts that every branch keeps: the columns, the FROM clause and the labels.
_KEPT = {
    "_annotations",
    "_correlate",
    "_correlate_except",
    "_correlate_mode",
    "_from_obj",
    "_label_style",
    "_memoized_select_entities",
    "_params",
    "_propagate_attrs",
    "_raw_columns",
    "_setup_joins",
    "_where_criteria",
    "dialect_options",
}
# Parts that move from the branches to the union.
_MOVED = {
    "_distinct",
    "_fetch_clause",
    "_fetch_clause_options",
    "_limit_clause",
    "_offset_clause",
    "_order_by_clauses",
    "_with_options",
}
# Parts that mean something else for a part of the rows than for all of them -> their names in SQL.
_REFUSED = {
    "_compile_state_funcs": "a function of an extension (`_add_compile_state_func`)",
    "_distinct_on": "DISTINCT ON",
    "_for_update_arg": "FOR UPDATE or FOR SHARE, which PostgreSQL does not take with UNION",
    "_group_by_clauses": "GROUP BY",
    "_having_criteria": "HAVING",
    "_hints": "hints for tables",
    "_independent_ctes": "a WITH of `add_cte`",
    "_prefixes": "prefixes",
    "_statement_hints": "hints for the statement",
    "_suffixes": "suffixes",
}
# Options of a part that is always empty in an accepted select.
_COMPANIONS = {"_independent_ctes_opts"}


@dataclass(frozen=True, slots=True)
class Around:
    """The parts of a select that apply to the whole union: ORDER BY, LIMIT and so on."""

    order_by: Sequence[sa.ColumnElement[Any]]
    limit: sa.ColumnElement[Any] | None
    offset: sa.ColumnElement[Any] | None
    fetch: sa.ColumnElement[Any] | None
    fetch_options: dict[str, bool]
    is_distinct: bool
    options: Sequence[Any]


def refused_part(select: sa.Select[Any]) -> str | None:
    """Return the SQL name of a part that prevents splitting the select; None if there is none."""
    for name, _ in select._traverse_internals:
        if name in _KEPT or name in _MOVED or name in _COMPANIONS:
            continue
        value = getattr(select, name, None)
        if value is not None and value is not False and value not in ((), {}):
            return _REFUSED.get(name, f"an unknown part, `{name}`")
    return None


def around(select: sa.Select[Any]) -> Around:
    """Return the parts of the select that apply to the whole union."""
    return Around(
        order_by=tuple(select._order_by_clauses),
        limit=select._limit_clause,
        offset=select._offset_clause,
        fetch=select._fetch_clause,
        fetch_options=dict(select._fetch_clause_options or {}),
        is_distinct=bool(select._distinct),
        options=tuple(select._with_options),
    )


def branch(select: sa.Select[Any], condition: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Copy the select with another condition, and without the parts that apply to the union.

    The copy is shallow: the same condition object stays the same parameter.
    """
    copy = select._generate()
    copy._where_criteria = (condition,)
    copy._with_options = ()
    copy._order_by_clauses = ()
    copy._limit_clause = copy._offset_clause = copy._fetch_clause = None
    copy._fetch_clause_options = None
    copy._distinct = False
    return copy

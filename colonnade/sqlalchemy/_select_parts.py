"""The parts of a select, as SQLAlchemy keeps them.

SQLAlchemy has no public way to ask a `Select` for its ORDER BY or its LIMIT. All that is read past
its public names is read here, from the list that it keeps of a select's parts, so that a part which
a later version adds is refused and not overlooked.
"""

# ruff: noqa: SLF001 - see above

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa

# What a copy of the select takes along as it is: what is selected, from where, and how it is named.
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
# What is taken off, and put around the whole.
_MOVED = {
    "_distinct",
    "_fetch_clause",
    "_fetch_clause_options",
    "_limit_clause",
    "_offset_clause",
    "_order_by_clauses",
    "_with_options",
}
# What says something else of a part of the rows than of all of them, in SQL's words.
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
# What only says how a part is rendered that is empty in a select that gets this far.
_COMPANIONS = {"_independent_ctes_opts"}


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around the rows of a select: their order, and how many of them."""

    order_by: Sequence[sa.ColumnElement[Any]]
    limit: sa.ColumnElement[Any] | None
    offset: sa.ColumnElement[Any] | None
    fetch: sa.ColumnElement[Any] | None
    fetch_options: dict[str, bool]
    is_distinct: bool
    options: Sequence[Any]


def refused_part(select: sa.Select[Any]) -> str | None:
    """In SQL's words, a part of the select that belongs to all its rows at once; None if none."""
    for name, _ in select._traverse_internals:
        if name in _KEPT or name in _MOVED or name in _COMPANIONS:
            continue
        value = getattr(select, name, None)
        if value is not None and value is not False and value not in ((), {}):
            return _REFUSED.get(name, f"a part that is not known here, `{name}`")
    return None


def around(select: sa.Select[Any]) -> Around:
    """The parts that are put around the whole."""
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
    """The select with another condition, and without what is put around the whole.

    Nothing below the select is copied, so that the same object stays the same parameter.
    """
    copy = select._generate()
    copy._where_criteria = (condition,)
    copy._with_options = ()
    copy._order_by_clauses = ()
    copy._limit_clause = copy._offset_clause = copy._fetch_clause = None
    copy._fetch_clause_options = None
    copy._distinct = False
    return copy

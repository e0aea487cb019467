"""Rewriting of an OR of conditions as a UNION ALL of selects, one for each condition."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVarTuple

import sqlalchemy as sa
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import (
    BooleanClauseList,
    Grouping,
    Label,
    UnaryExpression,
    _label_reference,
    _textual_label_reference,
)

from colonnade._words.shown import class_name
from colonnade.sqlalchemy._rewritable import (
    bare_text,
    check_select,
    check_shared,
    is_bare_text,
    refuse,
)
from colonnade.sqlalchemy._select_parts import Around, around, branch

if TYPE_CHECKING:
    from sqlalchemy.sql.selectable import TypedReturnsRows

_Row = TypeVarTuple("_Row")
_Condition = sa.ColumnElement[bool]

_MODIFIERS: dict[Any, Any] = {
    operators.asc_op: sa.asc,
    operators.desc_op: sa.desc,
    operators.nulls_first_op: sa.nulls_first,
    operators.nulls_last_op: sa.nulls_last,
}


class _Brackets(Grouping[Any]):
    """Parentheses that and_() keeps even around another AND.

    Without them, an OR within a text() would change the meaning of the condition.
    """

    inherit_cache = True
    operator = None


def or_to_union_all(
    select: sa.Select[*_Row], *, functions: Collection[str] = ()
) -> TypedReturnsRows[*_Row]:
    """Rewrite a select with an OR as a UNION ALL that returns the same rows.

    PostgreSQL plans `WHERE a = 1 OR b = 2` as one scan for both conditions, and often reads the
    whole table; each branch of a UNION ALL has a plan of its own, and can use its own index. The OR
    is the whole condition of `where()`, or the first OR among the conditions that it joins by AND;
    every branch repeats the other conditions. The branches are disjoint: each excludes the rows of
    earlier branches (`(a = 1) IS NOT true`), so a row that matches several conditions is returned
    once, and NULLs count as in an OR.

    The branches share the same condition objects and so the same parameters: Colonnade's dialect
    sends each value once. ORDER BY, LIMIT, OFFSET and FETCH apply to the union; DISTINCT makes it a
    UNION. A select of ORM objects becomes one of the same objects by `from_statement`.

    `functions` names functions that are neither aggregates nor volatile, such as
    `{"my_schema.my_function"}`; without it, only PostgreSQL's usual functions are accepted.
    Operators are assumed to be neither.

    Raises `colonnade.InterfaceError` for a select that has no OR, or whose rows would change: one
    with GROUP BY, aggregates, windows, DISTINCT ON, FOR UPDATE and so on. Raises TypeError for an
    object that is not a `Select`.
    """
    if not isinstance(select, sa.Select):
        raise TypeError(f"or_to_union_all takes a Select, not {class_name(select)}")
    rewritten: TypedReturnsRows[*_Row] = _rewritten(select, frozenset(map(str.lower, functions)))
    return rewritten


def _rewritten(select: Any, functions: frozenset[str]) -> Any:
    parts = around(select)
    check_select(select, parts, functions)
    entities = [described["expr"] for described in select.column_descriptions]
    makes_objects = any(
        described["expr"] is described.get("entity") for described in select.column_descriptions
    )
    if parts.options and not makes_objects:
        refuse("it has options, but selects no ORM objects")
    # from_statement() matches the columns of ORM objects by position.
    rows: sa.Select[Any] = (
        select.with_only_columns(*select.selected_columns, maintain_column_froms=True)
        if makes_objects
        else select
    )
    united = _united(rows, _disjoint(select), parts)
    options = select.get_execution_options()
    if makes_objects:
        united = sa.select(*entities).from_statement(united).options(*parts.options)
    return united.execution_options(**options)


def _disjoint(select: sa.Select[Any]) -> list[_Condition]:
    """Return the conditions of the branches."""
    shared, alternatives = _taken_apart(select.whereclause)
    conditions = []
    for index, alternative in enumerate(alternatives):
        earlier = [_Brackets(other).is_not(sa.true()) for other in alternatives[:index]]
        # The earlier conditions come first, as in the OR: if one of them is true, PostgreSQL need
        # not evaluate this one.
        conditions.append(sa.and_(*map(_Brackets, shared), *earlier, _Brackets(alternative)))
    return conditions


def _taken_apart(where: Any) -> tuple[list[Any], list[Any]]:
    """Split a WHERE clause into the shared conditions and the parts of the OR."""
    where = _ungrouped(where)
    clauses = where.clauses if _is_list(where, operators.and_) else [where]
    clauses = [_ungrouped(clause) for clause in clauses]
    for index, clause in enumerate(clauses):
        if _is_list(clause, operators.or_):
            shared = clauses[:index] + clauses[index + 1 :]
            for other in shared:
                check_shared(other)
            return shared, list(clause.clauses)
    return refuse("its where() has no or_(), neither alone nor joined by AND")


def _is_list(clause: Any, operator: Any) -> bool:
    return isinstance(clause, BooleanClauseList) and clause.operator is operator


def _ungrouped(clause: Any) -> Any:
    while isinstance(clause, Grouping):
        clause = clause.element
    return clause


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of ORDER BY: the index of its column, from 0, and modifiers such as DESC."""

    place: int
    modifiers: tuple[Any, ...]

    def over(self, columns: Sequence[Any]) -> Any:
        """Return the term for its column among `columns`."""
        term = columns[self.place]
        for modifier in self.modifiers:
            term = _MODIFIERS[modifier](term)
        return term


def _united(rows: sa.Select[Any], conditions: Sequence[_Condition], parts: Around) -> Any:
    columns = list(rows.selected_columns)
    hidden: list[Any] = []
    terms = [_term(term, (), columns, hidden) for term in parts.order_by]
    if not hidden:
        unite = sa.union if parts.is_distinct else sa.union_all
        united = unite(*(branch(rows, condition) for condition in conditions))
        # ORDER BY numbers, because names may repeat.
        numbers: list[Any] = [sa.literal_column(str(place + 1)) for place in range(len(columns))]
        return _limited(united, [term.over(numbers) for term in terms], parts)
    if parts.is_distinct:
        refuse("it is DISTINCT and ordered by an expression that it does not select")
    labelled = [term.label(f"colonnade_order_{index}") for index, term in enumerate(hidden)]
    wider = rows.add_columns(*labelled)
    below = sa.union_all(*(branch(wider, condition) for condition in conditions)).subquery(
        "colonnade_rows"
    )
    # A column that is selected twice is one column of the subquery.
    places = {id(column): place for place, column in reversed(list(enumerate(columns)))}
    found = list(below.c)
    outer = sa.select(*(found[places[id(column)]] for column in columns))
    return _limited(outer, [term.over(found) for term in terms], parts)


def _limited(united: Any, order: Sequence[Any], parts: Around) -> Any:
    if order:
        united = united.order_by(*order)
    if parts.limit is not None:
        united = united.limit(parts.limit)
    if parts.fetch is not None:
        united = united.fetch(parts.fetch, **parts.fetch_options)
    return united if parts.offset is None else united.offset(parts.offset)


def _term(term: Any, modifiers: tuple[Any, ...], columns: list[Any], hidden: list[Any]) -> _Term:
    """Return a term of ORDER BY; an expression that is not selected is appended to `hidden`."""
    if isinstance(term, _label_reference):
        return _term(term.element, modifiers, columns, hidden)
    if isinstance(term, UnaryExpression) and term.modifier in _MODIFIERS:
        return _term(term.element, (term.modifier, *modifiers), columns, hidden)
    place = _place(term, columns)
    if place is None:
        if not isinstance(term, sa.ColumnElement) or is_bare_text(term):
            refuse("it is ordered by SQL text", "Order it by a column or an expression.")
        hidden.append(term)
        place = len(columns) + len(hidden) - 1
    return _Term(place, modifiers)


def _place(term: Any, columns: list[Any]) -> int | None:
    """Return the index of a term in the select list; None if it is not selected."""
    if is_bare_text(term) and bare_text(term).isdecimal():
        return int(bare_text(term)) - 1
    if isinstance(term, _textual_label_reference):
        found = [index for index, column in enumerate(columns) if column.key == term.element]
        if len(found) != 1:
            refuse(
                f"it is ordered by the name {term.element!r}, which must be exactly one of its "
                "columns"
            )
        return found[0]
    for index, column in enumerate(columns):
        inner = column.element if isinstance(column, Label) else column
        if term is column or term is inner or term.compare(inner):
            return index
    return None

"""The checks that refuse a select which cannot be split into branches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Bundle
from sqlalchemy.orm.util import LoaderCriteriaOption
from sqlalchemy.sql.elements import FunctionFilter, Over, WithinGroup
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import SelectBase, TableSample

from colonnade._words.shown import class_name
from colonnade.errors import InterfaceError
from colonnade.sqlalchemy._known_functions import AGGREGATES, SCALAR_FUNCTIONS, SYNTAX
from colonnade.sqlalchemy._select_parts import Around, refused_part

_CALL = re.compile(r"([A-Za-z_][\w$.]*)\"?\s*\(")
_OR = re.compile(r"\bor\b", re.IGNORECASE)

# Elements that are computed over all rows of their select.
_OF_ALL_ROWS = (Over, FunctionFilter, WithinGroup, aggregate_order_by)


def refuse(reason: str, hint: str | None = None) -> NoReturn:
    """Raise InterfaceError with the reason why the select cannot be rewritten."""
    raise InterfaceError(f"or_to_union_all cannot rewrite this select: {reason}", hint=hint)


def is_bare_text(clause: Any) -> bool:
    """Return whether the element is SQL text that SQLAlchemy does not parse."""
    return isinstance(clause, sa.TextClause) or bool(getattr(clause, "is_literal", False))


def bare_text(clause: Any) -> str:
    """Return the SQL of an element that `is_bare_text`."""
    return clause.text if isinstance(clause, sa.TextClause) else str(clause.name)


def check_select(select: sa.Select[Any], parts: Around, functions: frozenset[str]) -> None:
    """Raise InterfaceError for a select that would return other rows when split by a condition."""
    part = refused_part(select)
    if part is not None:
        refuse(
            f"it has {part}",
            "Rewrite a select of the rows without it, and select from the result's subquery().",
        )
    for described in select.column_descriptions:
        if isinstance(described["expr"], Bundle):
            refuse("it selects a Bundle", "Select its columns.")
        if isinstance(described["expr"], sa.TextClause):
            refuse("it selects SQL text", "Select literal_column(...) with a label.")
    if any(isinstance(option, LoaderCriteriaOption) for option in parts.options):
        refuse("it has with_loader_criteria", "Write the condition into where().")
    for element, is_nested in _elements(select, is_nested=False):
        _check_element(element, functions, is_nested=is_nested)


def check_shared(clause: Any) -> None:
    """Refuse SQL text beside the OR that may hold an OR too, because AND binds tighter."""
    if is_bare_text(clause) and _OR.search(bare_text(clause)):
        refuse(
            f"the SQL text {bare_text(clause)!r} is joined to the OR, and may contain another OR",
            "Write that OR as or_(text(...), text(...)).",
        )


def _elements(parent: Any, *, is_nested: bool) -> Iterator[tuple[Any, bool]]:
    """Yield all elements below one, each with whether it belongs to a subquery."""
    for child in parent.get_children():
        within = is_nested or isinstance(child, SelectBase)
        yield child, within
        yield from _elements(child, is_nested=within)


def _check_element(element: Any, functions: frozenset[str], *, is_nested: bool) -> None:
    if isinstance(element, TableSample):
        refuse("TABLESAMPLE would return another sample for each branch")
    if isinstance(element, _OF_ALL_ROWS) and not is_nested:
        refuse("a window function or an aggregate is computed over all its rows")
    if isinstance(element, FunctionElement):
        _check_call(_function_name(element), functions, is_nested=is_nested)
    elif is_bare_text(element):
        for name in _CALL.findall(bare_text(element)):
            if name.lower() not in SYNTAX:
                _check_call(name.lower(), functions, is_nested=is_nested)


def _check_call(name: str, functions: frozenset[str], *, is_nested: bool) -> None:
    plain = name.removeprefix("pg_catalog.")
    if plain in SCALAR_FUNCTIONS or name in functions:
        return
    if plain in AGGREGATES:
        if is_nested:
            return
        refuse(
            f"{plain}() is computed over all its rows",
            "Rewrite a select of the rows without it, and aggregate over the result's subquery().",
        )
    refuse(
        f"{name}() may be an aggregate, or return another value for each call",
        f"If it is neither, say so: or_to_union_all(select, functions={{{name!r}}}).",
    )


def _function_name(element: Any) -> str:
    name = getattr(element, "name", None) or class_name(element)
    return ".".join((*getattr(element, "packagenames", ()), str(name))).lower()

# Generated from colonnade/_async/literals.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A query for COPY, which takes no parameters: their values are written out as literals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._sql_text import replace_parameters
from colonnade._transport.event import batch_of
from colonnade.columns import Columns
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade import _core
    from colonnade._sync.conversation import Conversation


def with_literals(
    conversation: Conversation, query: str, statement: _core.Statement, args: tuple[object, ...]
) -> str:
    """The query with its parameters replaced by literals that the server has quoted."""
    types = [pg_type.sql for pg_type in statement.parameter_types]
    # One row per literal: a row has at most 1,664 columns.
    quoted = ", ".join(
        # `format` uses the type's own output function; a cast to text may call a user's function.
        f"(pg_catalog.format('%L', ${number}::{name}))"
        for number, name in enumerate(types, 1)
    )
    literals: Sequence[str] = ()
    if types or args:
        asked = conversation.prepared(f"VALUES {quoted}" if types else "SELECT")
        conversation.session.fetch_columns(asked, args, None, "raise")
        # Unconverted: a user's codec for text could inject SQL.
        batch = batch_of(conversation.completion())
        stored = [Columns(batch.stored_column(place)) for place in range(batch.num_columns)]
        values = [value for each in stored for value in each.to_pydict()["column1"]]
        literals = [
            # In parentheses, because a suffix applies to the value: in `$1[1]` to an array, not to
            # a type.
            f"({value.decode() if isinstance(value, bytes) else value}::{name})"
            for value, name in zip(values, types, strict=True)
        ]
    return replace_parameters(query, _literal_of(literals))


def _literal_of(literals: Sequence[str]) -> Callable[[int], str]:
    def literal(number: int) -> str:
        if not 1 <= number <= len(literals):
            msg = f"the query has a parameter ${number}, and {len(literals)} are known"
            raise InterfaceError(msg)
        return literals[number - 1]

    return literal

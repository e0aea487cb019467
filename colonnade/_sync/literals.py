# Generated from colonnade/_async/literals.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""A query for COPY, which takes no parameters: their values written out."""

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
    """The query with its parameters written out, each as the server quotes it."""
    types = [pg_type.sql for pg_type in statement.parameter_types]
    # A row for each: a row has no more than 1,664 columns.
    quoted = ", ".join(
        # `format` uses the type's own output; a cast to text may call a user's function.
        f"(pg_catalog.format('%L', ${number}::{name}))"
        for number, name in enumerate(types, 1)
    )
    literals: Sequence[str] = ()
    if types or args:
        asked = conversation.prepared(f"VALUES {quoted}" if types else "SELECT")
        conversation.session.fetch_columns(asked, args, None, "raise")
        # As they came: a codec of the user's for text would write SQL.
        batch = batch_of(conversation.completion())
        stored = [Columns(batch.stored_column(place)) for place in range(batch.num_columns)]
        values = [value for each in stored for value in each.to_pydict()["column1"]]
        literals = [
            # In brackets, for what follows is about the value: `$1[1]` is not a type of arrays.
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

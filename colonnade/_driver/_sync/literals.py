# Generated from colonnade/_driver/_async/literals.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A query for COPY, which takes no parameters: their values are written out as literals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade import _core
from colonnade._columns.schema import asked_types
from colonnade._driver.sql.quoting import quote_literal
from colonnade._driver.sql.sql_text import replace_parameters
from colonnade._driver.transport.event import batch_of
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade._driver._sync.conversation import Conversation


# A row of the server has at most 1,664 columns.
_COLUMNS_MAX = 1600
_TEXT = next(line.oid for line in _core.TYPES if line.name == "text")


def with_literals(
    conversation: Conversation, query: str, statement: _core.Statement, args: tuple[object, ...]
) -> str:
    """The query with its parameters replaced by literals.

    Their text depends on no setting of the session: it is that of columns cast to text.
    """
    types = [pg_type.sql for pg_type in statement.parameter_types]
    texts: list[str | None] = []
    for start in range(0, max(len(types), bool(args)), _COLUMNS_MAX):
        part = types[start : start + _COLUMNS_MAX]
        is_last = start + len(part) >= len(types)
        # With all that are left, so that their number is checked.
        given = args[start:] if is_last else args[start : start + _COLUMNS_MAX]
        texts += _texts(conversation, part, given, start)
    literals = [
        # In parentheses, because a suffix applies to the value: in `$1[1]` to an array, not to a
        # type.
        f"({'NULL' if text is None else quote_literal(text)}::{name})"
        for text, name in zip(texts, types, strict=True)
    ]
    return replace_parameters(query, _literal_of(literals))


def _texts(
    conversation: Conversation, types: Sequence[str], args: tuple[object, ...], before: int
) -> list[str | None]:
    """The values as text, made by the output function of their types.

    Those `before` them are NULLs of type text here, so that an error counts as in the query.
    """
    numbered = list(enumerate(types, before + 1))
    values = ", ".join(f"${number}::{name} AS c{number}" for number, name in numbered)
    asked = conversation.prepared(f"SELECT {values}", (_TEXT,) * before)
    schema = {f"c{number}": "utf8" for number, _ in numbered}
    given = (None,) * before + args
    conversation.session.fetch_columns(asked, given, asked_types(schema), "raise")
    # As stored: a user's codec for text could inject SQL.
    batch = batch_of(conversation.completion())
    return [batch.column(place).stored_pylist()[0] for place in range(batch.num_columns)]


def _literal_of(literals: Sequence[str]) -> Callable[[int], str]:
    def literal(number: int) -> str:
        if not 1 <= number <= len(literals):
            msg = f"the query has a parameter ${number}, and {len(literals)} are known"
            raise InterfaceError(msg)
        return literals[number - 1]

    return literal

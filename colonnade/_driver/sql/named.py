"""Queries with named parameters."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from colonnade._driver.sql.sql_text import replace_names
from colonnade._words.shown import shown
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# How many texts `named` caches: enough for a program's queries, few enough for generated SQL.
_KEPT_TEXTS = 512


class Named:
    """A query with parameters such as `:id`, translated to PostgreSQL's `$1`, `$2`, ...

    A parameter is a colon followed by an identifier; the same name may occur several times. Quoted
    text, comments, casts and slices such as `x[1:n]` are left unchanged.

    Raises InterfaceError for a text that has numbered parameters (`$1`).
    """

    __slots__ = ("_query", "names", "sql")

    def __init__(self, query: str) -> None:
        found: dict[str, int] = {}

        def number(name: str) -> str:
            return f"${found.setdefault(name, len(found) + 1)}"

        self._query = query
        self.sql: str = replace_names(query, number)
        """The text with `$1`, `$2`, ... instead of the names."""
        self.names: tuple[str, ...] = tuple(found)
        """The names, in the order of their numbers."""
        numbered = [name for name in found if name.startswith("$")]
        if numbered and len(numbered) < len(found):
            named = next(name for name in found if not name.startswith("$"))
            msg = f"the query has both {numbered[0]} and :{named}: use numbers or names, not both"
            raise InterfaceError(msg)
        if numbered:
            msg = f"the query has {numbered[0]}, and parameters with names look like :name"
            raise InterfaceError(msg)

    def args(self, values: Mapping[str, Any] | None = None, /, **more: object) -> tuple[Any, ...]:
        """Return the values in the order of the names, from a mapping, keywords or both.

        Raises InterfaceError for a name without a value, and for a value that no name uses.
        """
        given = more if values is None else {**values, **more}
        try:
            found = tuple([given[name] for name in self.names])
        except KeyError as error:
            msg = f"there is no value for :{error.args[0]}; {self._described(given)}"
            raise InterfaceError(msg) from None
        if len(given) > len(found):
            unknown = next(name for name in given if name not in self.names)
            msg = f"the query does not use the value of {shown(unknown)}; {self._described(given)}"
            raise InterfaceError(msg)
        return found

    def rows(self, records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
        """Yield the `args` of each mapping, for `executemany`."""
        return map(self.args, records)

    def _described(self, given: Mapping[Any, Any]) -> str:
        names = ", ".join(f":{name}" for name in self.names) or "none"
        known = ", ".join(name if isinstance(name, str) else shown(name) for name in given)
        return f"its parameters are {names}, and values were given for {known or 'none'}"

    def __repr__(self) -> str:
        """The original text."""
        return f"<Named {self._query!r}>"


_kept = functools.lru_cache(_KEPT_TEXTS)(Named)


def named(
    query: str, values: Mapping[str, Any] | None = None, /, **more: object
) -> tuple[Any, ...]:
    """Translate a query with parameters such as `:id` to the arguments of a query method.

    Returns a tuple of the text, with `$1`, `$2`, ... instead of the names, and the values:
    `await connection.fetch(*named("SELECT * FROM users WHERE id = :id", id=5))`.

    Raises InterfaceError for a name without a value, for a value that no name uses, and for a text
    that has numbered parameters (`$1`).
    """
    made = _kept(query)
    return (made.sql, *made.args(values, **more))

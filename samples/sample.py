"""The values of one type, and the query that asks a server for them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Facts:
    """The row of a type in the table of rows and parameters in docs/reference/types.md."""

    row: str
    """The class of its values in rows."""
    parameter: str
    """The objects that a parameter takes."""
    limits: str = ""


@dataclass(frozen=True)
class Sample:
    """A type as declared in SQL, and values of it as text that the server accepts."""

    sql_type: str
    arrow: str
    """The Arrow type of its columns."""
    values: tuple[str, ...] = ()
    """Texts of values that rows and columns hold: the edges first."""
    rows_refuse: tuple[str, ...] = ()
    """Texts of values that columns hold, and Python's own types do not."""
    columns_refuse: tuple[str, ...] = ()
    """Texts of values that rows hold, and the Arrow type does not."""
    both_refuse: tuple[str, ...] = ()
    """Texts of values that PostgreSQL alone holds."""
    plain: tuple[str, str] | None = None
    """Two texts of ordinary values, which every library and every server version accepts."""
    objects: tuple[tuple[Any, str], ...] = ()
    """Python values that a parameter takes and a row returns, each with the server's text."""
    taken: tuple[tuple[Any, Any], ...] = ()
    """Other objects that a parameter takes, each with the value that a row returns for it."""
    texts: SearchStrategy[str] | None = None
    """Generates texts of values that rows and columns hold."""
    column_texts: SearchStrategy[str] | None = None
    """Generates texts of all values that columns hold, where these are more than `texts`."""
    drawn: SearchStrategy[Any] | None = None
    """Generates Python values that a parameter takes and a row returns."""
    is_ordered: bool = True
    """Whether the server can sort its values, as ranges need."""
    facts: Facts | None = None
    """For the documentation; on one sample of each type."""

    @property
    def base(self) -> str:
        """The type's name without a type modifier: `numeric` for `numeric(15,2)`."""
        return base_type(self.sql_type)

    @property
    def in_columns(self) -> tuple[str, ...]:
        """The texts of all values that columns hold."""
        return self.values + self.rows_refuse

    @property
    def in_rows(self) -> tuple[str, ...]:
        """The texts of all values that rows hold."""
        return self.values + self.columns_refuse


def base_type(sql_type: str) -> str:
    """The name of a type without its type modifier."""
    return sql_type.partition("(")[0]


@functools.cache
def query(sql_type: str) -> str:
    """A query for values of a type and the server's text of each, from a JSON array of texts."""
    return (
        f"SELECT v, CASE WHEN v IS NOT NULL THEN concat(v) END AS t FROM "
        f"(SELECT e::{sql_type} AS v, n FROM jsonb_array_elements_text($1) "
        "WITH ORDINALITY x(e, n)) s ORDER BY n"
    )

"""SQLAlchemy's statements, run by its own connections."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceTypeError
from colonnade.frames.connectable import check_dialect

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from colonnade import Columns


def is_statement(query: object, con: object) -> bool:
    """Return whether `query` is a SQLAlchemy statement and `con` a SQLAlchemy connection."""
    return hasattr(query, "compile") and (hasattr(con, "dialect") or hasattr(con, "get_bind"))


def fetched(statement: Any, con: Any, params: Any, options: Mapping[str, Any]) -> Columns:
    """Run the statement, and return its result."""
    from colonnade.sqlalchemy import fetch_columns

    with _executor(con) as executor:
        columns: Columns = fetch_columns(executor, statement, _checked(params), **options)
    return columns


def batches(statement: Any, con: Any, params: Any, options: Mapping[str, Any]) -> Iterator[Columns]:
    """Run the statement, and yield its result in batches."""
    from colonnade.sqlalchemy import iter_columns

    checked = _checked(params)
    with _executor(con) as executor, iter_columns(executor, statement, checked, **options) as found:
        yield from found


@contextlib.contextmanager
def _executor(con: Any) -> Generator[Any]:
    """Yield a new connection of an engine, or the connection or session itself."""
    check_dialect(con)
    if hasattr(con, "raw_connection"):
        with con.connect() as connection:
            yield connection
    else:
        yield con


def _checked(params: Any) -> Mapping[str, Any] | None:
    if params is None or hasattr(params, "keys"):
        named: Mapping[str, Any] | None = params
        return named
    raise InterfaceTypeError("the parameters of a SQLAlchemy statement have names: pass a mapping")

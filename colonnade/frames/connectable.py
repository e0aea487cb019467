"""The forms in which a connection may be given: anything that leads to a blocking one."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from colonnade import sync
from colonnade._shown import class_name, full_name

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager


class HasConnection(Protocol):
    """An object that stands on a blocking connection of ours and lends it."""

    def __colonnade_connection__(self) -> sync.Connection:
        """The connection, in the state in which the object's own next statement would find it.

        A DB-API connection that is not in autocommit mode begins its transaction first: what is
        done becomes part of it, and its `commit` or `rollback` ends it.
        """
        raise NotImplementedError


Connectable: TypeAlias = "str | sync.Connection | HasConnection | Any"
"""A DSN; a `colonnade.sync.Connection`; a pool of them; an object that has one; or an Engine,
Connection or Session of SQLAlchemy whose URL begins with `postgresql+colonnade://`."""


@contextlib.contextmanager
def connection_of(con: Connectable) -> Generator[sync.Connection, None, None]:
    """The blocking connection that `con` leads to, for the length of the block.

    One that is made for a DSN is closed at the end, one of a pool goes back. An Engine of
    SQLAlchemy commits at the end, or rolls back. What was given as a connection stays open, and a
    transaction that was open in it stays open as well.

    Raises TypeError for an object that leads to no blocking connection.
    """
    if isinstance(con, str):
        with sync.connect(con) as connection:
            yield connection
    elif _is_connection(con):
        yield cast("sync.Connection", con)
    elif hasattr(con, "__colonnade_connection__"):
        yield cast("HasConnection", con).__colonnade_connection__()
    elif hasattr(con, "dialect") or hasattr(con, "get_bind"):
        with _of_sqlalchemy(con) as connection:
            yield connection
    elif _is_blocking(con, "fetch_columns") and hasattr(con, "acquire"):
        with cast("Any", con).acquire() as connection:
            yield connection
    else:
        raise TypeError(_refusal(con))


def _is_connection(con: object) -> bool:
    """A connection, or a pool's proxy of one."""
    is_like = hasattr(con, "transaction") and hasattr(con, "copy_columns_to_table")
    return isinstance(con, sync.Connection) or (is_like and _is_blocking(con, "fetch_columns"))


def _is_blocking(con: object, method: str) -> bool:
    found = getattr(type(con), method, None)
    return found is not None and not inspect.iscoroutinefunction(found)


def _of_sqlalchemy(con: Any) -> AbstractContextManager[sync.Connection]:
    check_dialect(con)
    # A Session has the connection of its transaction.
    return _lent_by_sqlalchemy(con.connection() if hasattr(con, "get_bind") else con)


def check_dialect(con: Any) -> None:
    """Refuse an engine, connection or session of SQLAlchemy's that is not on our dialect."""
    dialect = (con.get_bind() if hasattr(con, "get_bind") else con).dialect
    if dialect.driver != "colonnade" or dialect.is_async:
        raise TypeError(
            f"{class_name(con)} is of the dialect {dialect.name}+{dialect.driver}"
            f"{' for asyncio' if dialect.is_async else ''}: make it with "
            'create_engine("postgresql+colonnade://..."), or pass a DSN'
        )


@contextlib.contextmanager
def _lent_by_sqlalchemy(con: Any) -> Generator[sync.Connection, None, None]:
    is_engine = hasattr(con, "raw_connection")
    # A connection with an open transaction keeps it; otherwise there is one of the block's own.
    with contextlib.ExitStack() as block:
        if is_engine:
            con = block.enter_context(con.begin())
        elif not con.in_transaction():
            block.enter_context(con.begin())
        lender = con.connection.dbapi_connection
        yield cast("sync.Connection", lender.__colonnade_connection__())


def _refusal(con: object) -> str:
    kind = type(con)
    name = full_name(kind)
    if inspect.iscoroutinefunction(getattr(kind, "fetch_columns", None)):
        return (
            f"con is of the class {name}, whose methods are awaited: await its fetch_columns "
            "and copy_columns_to_table instead, or pass a DSN or a connection of colonnade.sync"
        )
    return (
        f"con is of the class {name}: pass a DSN, a connection or pool of colonnade.sync, "
        "a connection of colonnade.dbapi, or an engine of SQLAlchemy that was made "
        "with postgresql+colonnade://"
    )

"""The objects that `read_sql` and `write_table` accept as a connection."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from colonnade import sync
from colonnade._driver.exact_dates import exact_dates
from colonnade._words.shown import class_name, full_name

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager


class HasConnection(Protocol):
    """An object that wraps a `colonnade.sync.Connection` and lends it."""

    def __colonnade_connection__(self) -> sync.Connection:
        """Return the connection, in the state that the object's own next statement would need.

        A DB-API connection that is not in autocommit mode begins its transaction first. The
        borrower's statements become part of it, and its `commit` or `rollback` ends it.
        """
        raise NotImplementedError


class OfSqlalchemy(Protocol):
    """SQLAlchemy's Engine or Connection, not those of asyncio."""

    @property
    def dialect(self) -> Any:
        """The dialect, `postgresql+colonnade`."""
        raise NotImplementedError

    @property
    def begin(self) -> Callable[[], AbstractContextManager[Any]]:
        """Begin a transaction."""
        raise NotImplementedError


class SessionOfSqlalchemy(Protocol):
    """SQLAlchemy's Session, or one of a thread (`scoped_session`)."""

    @property
    def get_bind(self) -> Callable[[], Any]:
        """Return the engine or the connection."""
        raise NotImplementedError

    @property
    def connection(self) -> Callable[[], OfSqlalchemy]:
        """Return the connection of the transaction."""
        raise NotImplementedError


_OfColonnade: TypeAlias = "str | sync.Connection | sync.PoolConnectionProxy | sync.Pool"
Connectable: TypeAlias = "_OfColonnade | HasConnection | OfSqlalchemy | SessionOfSqlalchemy"
"""A DSN; a `colonnade.sync.Connection` or `Pool`; a `HasConnection`, such as a connection of
`colonnade.dbapi`; or SQLAlchemy's Engine, Connection or Session whose URL begins with
`postgresql+colonnade://`."""


@contextlib.contextmanager
def connection_of(con: Connectable) -> Generator[sync.Connection, None, None]:
    """Return a context manager that yields the blocking connection of `con`, with exact dates.

    At the end of the block, a connection made for a DSN is closed, and one of a pool is released.
    An Engine of SQLAlchemy commits, or rolls back if the block raised. A connection that the caller
    passed stays open, and so does its open transaction.

    Raises TypeError for an object that has no blocking connection.
    """
    with _lent(con) as connection, exact_dates(connection):
        yield connection


@contextlib.contextmanager
def _lent(con: Connectable) -> Generator[sync.Connection, None, None]:
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
    """Return whether it is a blocking connection, or a pool's proxy of one."""
    is_like = hasattr(con, "transaction") and hasattr(con, "copy_columns_to_table")
    return isinstance(con, sync.Connection) or (is_like and _is_blocking(con, "fetch_columns"))


def _is_blocking(con: object, method: str) -> bool:
    # A pool's proxy says here which kind of connection it stands for.
    found = getattr(con.__class__, method, None)
    return found is not None and not inspect.iscoroutinefunction(found)


def _of_sqlalchemy(con: Any) -> AbstractContextManager[sync.Connection]:
    check_dialect(con)
    # connection() of a Session returns the connection of its transaction.
    return _lent_by_sqlalchemy(con.connection() if hasattr(con, "get_bind") else con)


def check_dialect(con: Any) -> None:
    """Raise TypeError for SQLAlchemy's engine, connection or session of another dialect."""
    dialect = (con.get_bind() if hasattr(con, "get_bind") else con).dialect
    if dialect.driver != "colonnade" or dialect.is_async:
        raise TypeError(
            f"{class_name(con)} uses the dialect {dialect.name}+{dialect.driver}"
            f"{' for asyncio' if dialect.is_async else ''}: make it with "
            'create_engine("postgresql+colonnade://..."), or pass a DSN'
        )


@contextlib.contextmanager
def _lent_by_sqlalchemy(con: Any) -> Generator[sync.Connection, None, None]:
    is_engine = hasattr(con, "raw_connection")
    # An open transaction of the connection continues; otherwise the block has its own.
    with contextlib.ExitStack() as block:
        if is_engine:
            con = block.enter_context(con.begin())
        elif not con.in_transaction():
            block.enter_context(con.begin())
        lender = con.connection.dbapi_connection
        yield cast("sync.Connection", lender.__colonnade_connection__())


def _refusal(con: object) -> str:
    name = full_name(type(con))
    if inspect.iscoroutinefunction(getattr(con.__class__, "fetch_columns", None)):
        return (
            f"con is of the class {name}, whose methods are asynchronous: await its fetch_columns "
            "and write_table instead, or pass a DSN or a connection of colonnade.sync"
        )
    return (
        f"con is of the class {name}: pass a DSN, a connection or pool of colonnade.sync, "
        "a connection of colonnade.dbapi, or an engine of SQLAlchemy that was made "
        "with postgresql+colonnade://"
    )

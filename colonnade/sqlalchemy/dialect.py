"""The dialects `postgresql+colonnade`, for `create_engine` and for `create_async_engine`."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from sqlalchemy import exc as sa_exc
from sqlalchemy.dialects.postgresql.base import PGDialect, PGExecutionContext
from sqlalchemy.pool import AsyncAdaptedQueuePool, Pool

from colonnade._pep249.transactions import IsolationLevel
from colonnade.sqlalchemy._adapters import AsyncioAdapter, BlockingAdapter
from colonnade.sqlalchemy._columns_request import OPTION
from colonnade.sqlalchemy._types import COLSPECS

if TYPE_CHECKING:
    import sqlalchemy as sa

_logger = logging.getLogger("sqlalchemy.dialects.postgresql")

# What stands in a URL as text and is a number for the driver.
_NUMBERS: dict[str, Callable[[str], int | float]] = {
    "command_timeout": float,
    "max_cacheable_statement_size": int,
    "max_cached_statement_lifetime": float,
    "statement_cache_size": int,
    "timeout": float,
}
_SWITCHES = {"true": True, "false": False}


class ColonnadeExecutionContext(PGExecutionContext):
    """One execution of a statement."""

    def pre_exec(self) -> None:
        """Tell the cursor where the result is wanted in columns."""
        super().pre_exec()  # type: ignore[no-untyped-call]
        request = self.execution_options.get(OPTION)
        if request is not None:
            cursor: Any = self.cursor
            cursor.columns_request = request

    def create_server_side_cursor(self) -> Any:
        """A cursor for `stream_results` and `yield_per`."""
        return self._dbapi_connection.cursor(server_side=True)


class ColonnadeDialect(PGDialect):
    """PostgreSQL by Colonnade's blocking connections."""

    driver = "colonnade"

    default_paramstyle = "numeric_dollar"
    supports_statement_cache = True
    supports_server_side_cursors = True
    # A series of statements is sent as one, and the server counts each.
    supports_sane_multi_rowcount = True
    supports_native_decimal = True
    supports_native_uuid = True
    has_terminate = True

    execution_ctx_cls = ColonnadeExecutionContext
    colspecs = {**PGDialect.colspecs, **COLSPECS}  # noqa: RUF012 - SQLAlchemy's attribute

    # How the driver is known

    @classmethod
    def import_dbapi(cls) -> Any:
        """The adapter that stands for a module of PEP 249."""
        return BlockingAdapter()

    @classmethod
    def get_async_dialect_cls(cls, url: sa.URL) -> type[ColonnadeAsyncDialect]:
        """The dialect of `create_async_engine`."""
        del url
        return ColonnadeAsyncDialect

    @classmethod
    def load_provisioning(cls) -> None:
        """What SQLAlchemy's own tests need to know of PostgreSQL."""
        importlib.import_module("sqlalchemy.dialects.postgresql.provision")

    def retrieve_dbapi_version(self, dbapi: Any) -> Any:
        """Colonnade's version; asked for by SQLAlchemy 2.1."""
        from sqlalchemy.util import parse_version_string

        return parse_version_string(dbapi.__version__)

    # Connecting

    def create_connect_args(self, url: sa.URL) -> tuple[list[Any], dict[str, Any]]:
        """A URL as the driver's arguments; several hosts as `?host=a:5432&host=b:5433`."""
        arguments: dict[str, Any] = url.translate_connect_args(username="user", database="database")
        query = dict(url.query)
        hosts, ports = self._split_multihost_from_url(url)
        if hosts:
            query.pop("host", None)
            query.pop("port", None)
            arguments["host"] = ",".join(host or "" for host in hosts)
            arguments.pop("port", None)
            if any(ports or ()):
                arguments["port"] = ",".join(str(port or "") for port in ports or ())
        for name, number in _NUMBERS.items():
            if name in query:
                arguments[name] = number(str(query.pop(name)))
        if "extension_types" in query:
            word = str(query.pop("extension_types")).lower()
            if word not in _SWITCHES:
                raise sa_exc.ArgumentError(
                    f"extension_types is true or false in the URL, not {word!r}"
                )
            arguments["extension_types"] = _SWITCHES[word]
        if "naive_datetimes" in query:
            arguments["naive_datetimes"] = str(query.pop("naive_datetimes"))
        options = {name: str(value) for name, value in query.items()}
        if options:
            arguments["dsn"] = "postgresql://?" + urlencode(options, quote_via=quote)
        return [], arguments

    def get_driver_connection(self, connection: Any) -> Any:
        """Colonnade's connection."""
        return connection.driver_connection

    def on_connect(self) -> Callable[[Any], None]:
        """What is done with each new connection."""

        def prepare(connection: Any) -> None:
            connection.add_notice_listener(_log_notice)
            if self._native_inet_types is False:
                connection.set_text_type("inet")
                connection.set_text_type("cidr")

        return prepare

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the server still answers."""
        dbapi_connection.ping()
        return True

    def do_terminate(self, dbapi_connection: Any) -> None:
        """Close a connection that is of no more use."""
        dbapi_connection.terminate()

    def is_disconnect(self, e: Exception, connection: Any, cursor: Any) -> bool:
        """Whether an error means that the connection is gone."""
        del cursor
        return (
            connection is not None
            and isinstance(e, self.loaded_dbapi.Error)
            and bool(getattr(connection, "closed", False))
        )

    # Transactions

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        """The levels, and AUTOCOMMIT."""
        del dbapi_conn
        return [
            "AUTOCOMMIT",
            "READ COMMITTED",
            "READ UNCOMMITTED",
            "REPEATABLE READ",
            "SERIALIZABLE",
        ]

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """The level of the transactions to come."""
        dbapi_connection.autocommit = level == "AUTOCOMMIT"
        dbapi_connection.options.isolation_level = (
            None if level == "AUTOCOMMIT" else IsolationLevel[level.replace(" ", "_")]
        )

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """The level in force, without leaving a transaction behind."""
        was_idle = not dbapi_connection.in_transaction
        try:
            return super().get_isolation_level(dbapi_connection)  # type: ignore[no-untyped-call]
        finally:
            if was_idle:
                dbapi_connection.rollback()

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        """Whether it is in AUTOCOMMIT, without asking the server."""
        return bool(dbapi_conn.autocommit)

    def set_readonly(self, connection: Any, value: Any) -> None:
        """Whether the transactions to come may write."""
        connection.options.read_only = value

    def get_readonly(self, connection: Any) -> Any:
        """Whether the transactions to come may write; None where the session decides."""
        return connection.options.read_only

    def set_deferrable(self, connection: Any, value: Any) -> None:
        """Whether the transactions to come wait for a safe snapshot."""
        connection.options.deferrable = value

    def get_deferrable(self, connection: Any) -> Any:
        """Whether the transactions to come wait; None where the session decides."""
        return connection.options.deferrable

    def do_begin_twophase(self, connection: sa.Connection, xid: Any) -> None:
        """Begin a transaction that is to be prepared."""
        _adapted(connection).tpc_begin(xid)

    def do_prepare_twophase(self, connection: sa.Connection, xid: Any) -> None:
        """Prepare the transaction."""
        del xid
        _adapted(connection).tpc_prepare()

    def do_rollback_twophase(
        self, connection: sa.Connection, xid: Any, is_prepared: bool = True, recover: bool = False
    ) -> None:
        """Roll a transaction back, prepared or not."""
        del recover
        if is_prepared:
            _adapted(connection).tpc_end("ROLLBACK", xid)
        else:
            _adapted(connection).rollback()

    def do_commit_twophase(
        self, connection: sa.Connection, xid: Any, is_prepared: bool = True, recover: bool = False
    ) -> None:
        """Commit a transaction, prepared or not."""
        del recover
        if is_prepared:
            _adapted(connection).tpc_end("COMMIT", xid)
        else:
            _adapted(connection).commit()

    def do_recover_twophase(self, connection: sa.Connection) -> list[Any]:
        """The names of the transactions that were prepared."""
        names: list[Any] = _adapted(connection).tpc_recover()
        return names


class ColonnadeAsyncDialect(ColonnadeDialect):
    """PostgreSQL by Colonnade's asyncio connections."""

    is_async = True
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        """The adapter that stands for a module of PEP 249."""
        return AsyncioAdapter()

    @classmethod
    def get_pool_class(cls, url: sa.URL) -> type[Pool]:
        """A pool for tasks; SQLAlchemy 2.0 does not choose it by itself."""
        del url
        return AsyncAdaptedQueuePool


def _adapted(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection


def _log_notice(connection: Any, message: Any) -> None:
    del connection
    _logger.info("%s: %s", message.severity_en or message.severity, message.message)

"""The dialects of `postgresql+colonnade`, for `create_engine` and `create_async_engine`."""

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

_SWITCHES = {"true": True, "false": False}
_NAIVE = {"local": "local", "refuse": "refuse"}

# Options of the URL that are arguments of the driver, how they are read, and their valid values.
_ARGUMENTS: dict[str, tuple[Callable[[str], Any], str]] = {
    "command_timeout": (float, "a number of seconds"),
    "extension_types": (lambda word: _SWITCHES[word.lower()], "true or false"),
    "max_cacheable_statement_size": (int, "a whole number"),
    "max_cached_statement_lifetime": (float, "a number of seconds"),
    "naive_datetimes": (_NAIVE.__getitem__, "local or refuse"),
    "statement_cache_size": (int, "a whole number"),
    "timeout": (float, "a number of seconds"),
}


class ColonnadeExecutionContext(PGExecutionContext):
    """The execution of one statement."""

    def pre_exec(self) -> None:
        """Pass a request for columns to the cursor."""
        super().pre_exec()  # type: ignore[no-untyped-call]
        request = self.execution_options.get(OPTION)
        if request is not None:
            cursor: Any = self.cursor
            cursor.columns_request = request

    def create_server_side_cursor(self) -> Any:
        """Return a server-side cursor, for `stream_results` and `yield_per`."""
        return self._dbapi_connection.cursor(server_side=True)


class ColonnadeDialect(PGDialect):
    """The PostgreSQL dialect over Colonnade's blocking connections."""

    driver = "colonnade"

    default_paramstyle = "numeric_dollar"
    supports_statement_cache = True
    supports_server_side_cursors = True
    # executemany sends one statement per set of parameters, and the server counts the rows of each.
    supports_sane_multi_rowcount = True
    supports_native_decimal = True
    supports_native_uuid = True
    has_terminate = True

    execution_ctx_cls = ColonnadeExecutionContext
    colspecs = {**PGDialect.colspecs, **COLSPECS}  # noqa: RUF012 - SQLAlchemy's attribute

    # The driver

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the object that serves as the PEP 249 module."""
        return BlockingAdapter()

    @classmethod
    def get_async_dialect_cls(cls, url: sa.URL) -> type[ColonnadeAsyncDialect]:
        """Return the dialect of `create_async_engine`."""
        del url
        return ColonnadeAsyncDialect

    @classmethod
    def load_provisioning(cls) -> None:
        """Import the hooks with which SQLAlchemy's own test suite prepares PostgreSQL."""
        importlib.import_module("sqlalchemy.dialects.postgresql.provision")

    def retrieve_dbapi_version(self, dbapi: Any) -> Any:
        """Return Colonnade's version; SQLAlchemy 2.1 calls this."""
        from sqlalchemy.util import parse_version_string

        return parse_version_string(dbapi.__version__)

    # Connecting

    def create_connect_args(self, url: sa.URL) -> tuple[list[Any], dict[str, Any]]:
        """Convert a URL to the driver's arguments; `?host=a:5432&host=b:5433` names two hosts."""
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
        for name, (read, expected) in _ARGUMENTS.items():
            if name in query:
                try:
                    arguments[name] = read(str(query.pop(name)))
                except (ValueError, KeyError):
                    # Not shown: what was pasted into a URL may be a secret.
                    raise sa_exc.ArgumentError(f"{name} must be {expected} in the URL") from None
        options = {name: str(value) for name, value in query.items()}
        if options:
            arguments["dsn"] = "postgresql://?" + urlencode(options, quote_via=quote)
        return [], arguments

    def get_driver_connection(self, connection: Any) -> Any:
        """Return Colonnade's own connection."""
        return connection.driver_connection

    def on_connect(self) -> Callable[[Any], None]:
        """Return the function that prepares each new connection."""

        def prepare(connection: Any) -> None:
            connection.add_notice_listener(_log_notice)
            if self._native_inet_types is False:
                connection.set_text_type("inet")
                connection.set_text_type("cidr")

        return prepare

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Return True if the server answers; raise an error otherwise."""
        dbapi_connection.ping()
        return True

    def do_terminate(self, dbapi_connection: Any) -> None:
        """Close a connection that is no longer usable."""
        dbapi_connection.terminate()

    def is_disconnect(self, e: Exception, connection: Any, cursor: Any) -> bool:
        """Return whether an error means that the connection is closed."""
        del cursor
        return (
            connection is not None
            and isinstance(e, self.loaded_dbapi.Error)
            and bool(getattr(connection, "closed", False))
        )

    # Transactions

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        """Return the isolation levels that SQLAlchemy accepts."""
        del dbapi_conn
        return [
            "AUTOCOMMIT",
            "READ COMMITTED",
            "READ UNCOMMITTED",
            "REPEATABLE READ",
            "SERIALIZABLE",
        ]

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """Set the isolation level of later transactions."""
        dbapi_connection.autocommit = level == "AUTOCOMMIT"
        dbapi_connection.options.isolation_level = (
            None if level == "AUTOCOMMIT" else IsolationLevel[level.replace(" ", "_")]
        )

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Return the current isolation level, and leave no transaction open."""
        was_idle = not dbapi_connection.in_transaction
        try:
            return super().get_isolation_level(dbapi_connection)  # type: ignore[no-untyped-call]
        finally:
            if was_idle:
                dbapi_connection.rollback()

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        """Return whether the connection is in AUTOCOMMIT, without a round trip."""
        return bool(dbapi_conn.autocommit)

    def set_readonly(self, connection: Any, value: Any) -> None:
        """Set whether later transactions are READ ONLY."""
        connection.options.read_only = value

    def get_readonly(self, connection: Any) -> Any:
        """Return whether later transactions are READ ONLY; None for the session's default."""
        return connection.options.read_only

    def set_deferrable(self, connection: Any, value: Any) -> None:
        """Set whether later transactions are DEFERRABLE."""
        connection.options.deferrable = value

    def get_deferrable(self, connection: Any) -> Any:
        """Return whether later transactions are DEFERRABLE; None for the session's default."""
        return connection.options.deferrable

    def do_begin_twophase(self, connection: sa.Connection, xid: Any) -> None:
        """Begin a two-phase transaction."""
        _adapted(connection).tpc_begin(xid)

    def do_prepare_twophase(self, connection: sa.Connection, xid: Any) -> None:
        """Prepare the transaction."""
        del xid
        _adapted(connection).tpc_prepare()

    def do_rollback_twophase(
        self, connection: sa.Connection, xid: Any, is_prepared: bool = True, recover: bool = False
    ) -> None:
        """Roll back a two-phase transaction, prepared or not."""
        del recover
        if is_prepared:
            _adapted(connection).tpc_end("ROLLBACK", xid)
        else:
            _adapted(connection).rollback()

    def do_commit_twophase(
        self, connection: sa.Connection, xid: Any, is_prepared: bool = True, recover: bool = False
    ) -> None:
        """Commit a two-phase transaction, prepared or not."""
        del recover
        if is_prepared:
            _adapted(connection).tpc_end("COMMIT", xid)
        else:
            _adapted(connection).commit()

    def do_recover_twophase(self, connection: sa.Connection) -> list[Any]:
        """Return the names of the prepared transactions."""
        names: list[Any] = _adapted(connection).tpc_recover()
        return names


class ColonnadeAsyncDialect(ColonnadeDialect):
    """The PostgreSQL dialect over Colonnade's asyncio connections."""

    is_async = True
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the object that serves as the PEP 249 module."""
        return AsyncioAdapter()

    @classmethod
    def get_pool_class(cls, url: sa.URL) -> type[Pool]:
        """Return the asyncio pool, which SQLAlchemy 2.0 does not choose by itself."""
        del url
        return AsyncAdaptedQueuePool


def _adapted(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection


def _log_notice(connection: Any, message: Any) -> None:
    del connection
    _logger.info("%s: %s", message.severity_en or message.severity, message.message)

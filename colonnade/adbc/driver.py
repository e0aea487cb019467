"""The objects behind the driver's C interface: a database, a connection, a statement.

Each method implements one function of ADBC. Results are Arrow streams and schemas.
"""

from __future__ import annotations

import collections
import weakref
from typing import TYPE_CHECKING, Any, Self

import colonnade
from colonnade import ArrowStream, Columns, dbapi, write_table
from colonnade._driver.sql.quoting import quote_identifier
from colonnade._words.shown import shown
from colonnade.adbc.info import info_table, table_types_table
from colonnade.adbc.parameters import Bound, bound_to
from colonnade.adbc.status import described
from colonnade.frames.write import table_exists

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from colonnade import sync

__all__ = ["Connection", "Database", "Statement", "described"]

_SWITCH = {"true": True, "false": False}
_LEVELS = {
    "adbc.connection.transaction.isolation.default": None,
    "adbc.connection.transaction.isolation.read_uncommitted": 1,
    "adbc.connection.transaction.isolation.read_committed": 2,
    "adbc.connection.transaction.isolation.repeatable_read": 3,
    "adbc.connection.transaction.isolation.serializable": 4,
}
_DEPTHS = {0: "all", 1: "catalogs", 2: "db_schemas", 3: "tables"}
_MODES: dict[str, str] = {
    "adbc.ingest.mode.create": "fail",
    "adbc.ingest.mode.append": "append",
    "adbc.ingest.mode.replace": "replace",
    "adbc.ingest.mode.create_append": "append",
}
_INGEST = "adbc.ingest."
_TABLE, _MODE = f"{_INGEST}target_table", f"{_INGEST}mode"
_CATALOG, _SCHEMA = f"{_INGEST}target_catalog", f"{_INGEST}target_db_schema"
_TEMPORARY = f"{_INGEST}temporary"
_BY_NAME = "adbc.statement.bind_by_name"


class Database:
    """The target of connections."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options: dict[str, Any] = {}
        for key, value in options.items():
            self.set_option(key, value)

    def set_option(self, key: str, value: Any) -> None:
        """The DSN, the user or the password."""
        if key not in {"uri", "username", "password"}:
            raise dbapi.NotSupportedError(f"a Colonnade database has no option {shown(key)}")
        self._options[key] = value

    def get_option(self, key: str) -> str:
        """An option, except the password."""
        return str(self._options[key]) if key != "password" else ""

    def get_number(self, key: str) -> float:
        """Raise KeyError: no option is a number."""
        raise KeyError(key)

    def connect(self, options: Mapping[str, Any]) -> Connection:
        """A connection; in autocommit mode, as ADBC begins."""
        words = {"user": "username", "password": "password"}
        given = {word: self._options[key] for word, key in words.items() if key in self._options}
        connection = Connection(dbapi.connect(self._options.get("uri"), autocommit=True, **given))
        for key, value in options.items():
            connection.set_option(key, value)
        return connection


class Connection:
    """A connection, and the one stream of a result that may be open on it."""

    def __init__(self, connection: dbapi.Connection) -> None:
        self._connection = connection
        # Even if the program ends without closing it: later at shutdown, it can no longer be
        # closed.
        weakref.finalize(self, _terminate, connection.driver_connection)
        self._stream: ArrowStream | None = None
        self._result: _Result | None = None

    # Options

    def set_option(self, key: str, value: Any) -> None:
        """Autocommit, read-only, isolation level, current schema."""
        connection = self._connection
        if key == "adbc.connection.autocommit":
            self.end_stream()
            # Switching to autocommit commits the open transaction.
            connection.commit()
            connection.autocommit = _switch(key, value)
        elif key == "adbc.connection.readonly":
            connection.read_only = _switch(key, value)
        elif key == "adbc.connection.transaction.isolation_level" and value in _LEVELS:
            connection.isolation_level = _LEVELS[value]
        elif key == "adbc.connection.db_schema":
            self.begun().execute(f"SET search_path TO {quote_identifier(str(value))}")
        else:
            raise dbapi.NotSupportedError(
                f"there is no option {shown(key)} of the value {shown(value)}"
            )

    def get_option(self, key: str) -> str:
        """As `set_option`; also the current catalog."""
        if key == "adbc.connection.autocommit":
            return "true" if self._connection.autocommit else "false"
        if key == "adbc.connection.catalog":
            return self._connection.info.dbname
        if key == "adbc.connection.db_schema":
            ((name,),) = self.begun().fetch_plain("SELECT pg_catalog.current_schema()")
            return str(name)
        raise KeyError(key)

    def get_number(self, key: str) -> float:
        """Raise KeyError: no option is a number."""
        raise KeyError(key)

    # The server's objects

    def get_info(self, codes: Sequence[int] | None) -> pa.Table:
        """Names and versions."""
        return info_table(self._connection.adbc_get_info(), codes)

    def get_objects(  # noqa: PLR0917 - in the order of ADBC's function
        self,
        depth: int,
        catalog: str | None,
        db_schema: str | None,
        table_name: str | None,
        table_types: list[str] | None,
        column_name: str | None,
    ) -> pa.RecordBatchReader:
        """Databases, schemas, tables, columns and constraints."""
        self.end_stream()
        names: Any = _DEPTHS
        return self._connection.adbc_get_objects(
            depth=names.get(depth, "all"),
            catalog_filter=catalog,
            db_schema_filter=db_schema,
            table_name_filter=table_name,
            table_types_filter=table_types,
            column_name_filter=column_name,
        )

    def get_table_schema(
        self, catalog: str | None, db_schema: str | None, table_name: str
    ) -> pa.Schema:
        """The Arrow schema of a table."""
        self.end_stream()
        return self._connection.adbc_get_table_schema(
            table_name, catalog_filter=catalog, db_schema_filter=db_schema
        )

    def get_table_types(self) -> pa.Table:
        """The kinds of tables."""
        return table_types_table(self._connection.adbc_get_table_types())

    # Statements and transactions

    def statement(self) -> Statement:
        """A new statement."""
        return Statement(self)

    def begun(self) -> sync.Connection:
        """The blocking connection, in a transaction unless each statement is one."""
        self.end_stream()
        return self._connection.__colonnade_connection__()

    def streamed(self, batches: Iterator[Columns]) -> ArrowStream:
        """The batches as the open stream; the next operation on the connection ends it."""
        self._result = _Result(batches)
        self._stream = ArrowStream(self._result)
        return self._stream

    def end_stream(self) -> None:
        """Close the open stream; its consumer gets an error if it reads on.

        Within a transaction, which a cancelled query would abort, the remaining rows are read.
        """
        if self._stream is not None and self._result is not None:
            self._result.is_read_to_its_end = not self._connection.autocommit
            self._close_stream()

    def _drop_stream(self) -> None:
        """Close the open stream, and cancel its query."""
        if self._result is not None:
            self._result.is_read_to_its_end = False
            self._close_stream()

    def _close_stream(self) -> None:
        stream, self._stream, self._result = self._stream, None, None
        if stream is not None:
            stream.close()

    def commit(self) -> None:
        """Commit the transaction."""
        self.end_stream()
        self._connection.commit()

    def rollback(self) -> None:
        """Roll the transaction back."""
        self._drop_stream()
        self._connection.rollback()

    def cancel(self) -> None:
        """Cancel what runs, from another thread."""
        self._connection.cancel()

    def close(self) -> None:
        """Close the connection, which rolls a transaction back."""
        if not self._connection.closed:
            self._drop_stream()
            self._connection.close()


class _Result:
    """The batches of a query, or of several."""

    def __init__(self, batches: Iterator[Columns]) -> None:
        self._batches = batches
        self.is_read_to_its_end = False
        """Whether closing reads the remaining rows; otherwise it cancels the query."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Columns:
        return next(self._batches)

    def close(self) -> None:
        """End the query."""
        if self.is_read_to_its_end:
            collections.deque(self._batches, maxlen=0)
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


class Statement:
    """A query with its parameters, or the target table of bound data."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._query: str | None = None
        self._options: dict[str, str] = {}
        self._bound: _Capsule | None = None

    def set_option(self, key: str, value: Any) -> None:
        """Where and how data are ingested, and whether parameters are bound by name."""
        if key not in {_TABLE, _MODE, _CATALOG, _SCHEMA, _TEMPORARY, _BY_NAME}:
            raise dbapi.NotSupportedError(f"a Colonnade statement has no option {shown(key)}")
        if key == _MODE and value not in _MODES:
            raise dbapi.NotSupportedError(f"{shown(value)} is not a mode: use {', '.join(_MODES)}")
        if key == _TABLE:
            # The other options may be set before or after it; those of an earlier table are
            # cleared.
            self._query = None
            self._options = {_BY_NAME: self._options.get(_BY_NAME, "false")}
        self._options[key] = value

    def get_option(self, key: str) -> str:
        """An option that was set."""
        return self._options[key]

    def get_number(self, key: str) -> float:
        """Raise KeyError: no option is a number."""
        raise KeyError(key)

    def set_query(self, query: str) -> None:
        """The text, with `$1`, ... for parameters, or `:name` if they are bound by name."""
        self._query = query
        self._options.pop(_TABLE, None)

    def prepare(self) -> None:
        """Nothing to do: the driver caches repeated statements."""
        self._text()

    def bind(self, capsule: object) -> None:
        """The rows of parameters, or the data to ingest."""
        self._bound = _Capsule(capsule)

    def execute(self) -> ArrowStream:
        """Run the query for each row of parameters; the batches of all results."""
        if _TABLE in self._options:
            self._ingest()
            return ArrowStream([self._connection.begun().fetch_columns("SELECT")])
        bound = self._taken()
        driver = self._connection.begun()
        if len(bound.runs) == 1:
            (args,) = bound.runs
            batches = driver.iter_columns(bound.sql, *args, parameter_types=bound.types)
            return self._connection.streamed(batches)
        return self._connection.streamed(_results(driver, bound))

    def execute_update(self) -> int | None:
        """Run the command for each row of parameters, or ingest; the number of rows, if known."""
        if _TABLE in self._options:
            return self._ingest()
        bound = self._taken()
        driver = self._connection.begun()
        if not bound.types:
            return _rows(driver.execute(bound.sql))
        if len(bound.runs) == 1:
            (args,) = bound.runs
            result = driver.fetch_result(bound.sql, *args, parameter_types=bound.types)
            return _rows(result.status)
        done = driver.fetchmany_result(bound.sql, bound.runs, parameter_types=bound.types)
        return _rows(done.status)

    def execute_schema(self) -> Columns:
        """The columns of the query's result."""
        bound = self._taken()
        query = f"SELECT * FROM ({bound.sql}\n) AS described LIMIT 0"
        args = bound.runs[0] if bound.runs else [None] * len(bound.types)
        driver = self._connection.begun()
        return driver.fetch_columns(query, *args, parameter_types=bound.types)

    def cancel(self) -> None:
        """Cancel what runs, from another thread."""
        self._connection.cancel()

    def close(self) -> None:
        """Nothing to release."""
        self._bound = None

    def _text(self) -> str:
        if self._query is None:
            raise dbapi.ProgrammingError("the statement has no query")
        return self._query

    def _taken(self) -> Bound:
        """The query with the parameters bound to it; a single run without any."""
        text = self._text()
        if self._bound is None:
            return Bound(text, [], [()])
        import pyarrow as pa

        bound, self._bound = self._bound, None
        rows = pa.RecordBatchReader.from_stream(bound).read_all()
        by_name = _switch(_BY_NAME, self._options.get(_BY_NAME, "false"))
        return bound_to(text, rows, by_name=by_name)

    def _ingest(self) -> int:
        if self._bound is None:
            raise dbapi.ProgrammingError("no data to ingest were bound")
        bound, self._bound = self._bound, None
        options = self._options
        driver = self._connection.begun()
        schema = options.get(_SCHEMA)
        if options.get(_CATALOG, driver.database) != driver.database:
            raise dbapi.NotSupportedError(f"the connection is to {driver.database!r} only")
        if _switch(_TEMPORARY, options.get(_TEMPORARY, "false")):
            schema = "pg_temp"
        mode = options.get(_MODE, "adbc.ingest.mode.create")
        table = options[_TABLE]
        if mode.endswith(".append") and not table_exists(driver, table, schema):
            raise colonnade.UndefinedTableError(f"there is no table {shown(table)} to append to")
        how: Any = _MODES[mode]
        return write_table(bound, table, driver, schema_name=schema, if_exists=how)


class _Capsule:
    """An imported stream, as an object with the protocol that libraries use."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, once."""
        del requested_schema
        return self._capsule


def _results(driver: sync.Connection, bound: Bound) -> Iterator[Columns]:
    command = None
    for number, args in enumerate(bound.runs, 1):
        with driver.iter_columns(bound.sql, *args, parameter_types=bound.types) as batches:
            for batch in batches:
                if batch.num_columns:
                    yield batch
                else:
                    command = batch
        if command is not None:
            # Nobody reads on where there are no rows, so the other runs do not wait for it.
            driver.executemany(bound.sql, bound.runs[number:], parameter_types=bound.types)
            yield command
            return


def _terminate(driver: sync.Connection) -> None:
    if not driver.is_closed():
        driver.terminate()


def _switch(key: str, value: object) -> bool:
    if value not in _SWITCH:
        raise dbapi.ProgrammingError(f"{key} must be 'true' or 'false', not {shown(value)}")
    return _SWITCH[str(value)]


def _rows(status: str) -> int | None:
    """The number at the end of a command's status: `INSERT 0 3`."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdecimal() else None

"""A cursor's results in columns, and columns into tables: ADBC's names."""

# ruff: noqa: SLF001 - a part of the cursor

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from colonnade._conversion.pandas import PandasFrames
from colonnade._pep249.errors import NotSupportedError, ProgrammingError
from colonnade._quoting import quote_identifier
from colonnade._shown import shown
from colonnade.dbapi._arrow import reader_of, schema_of
from colonnade.frames import write_table
from colonnade.frames.write import table_exists

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from colonnade import sync
    from colonnade.columns import Columns, Decimals
    from colonnade.dbapi.connection import Connection
    from colonnade.dbapi.placeholders import Parameters
    from colonnade.sync import HeldResult
    from colonnade.types import Infinity

__all__ = ["ColumnsMixin", "IngestMode"]

IngestMode = Literal["create", "append", "replace", "create_append"]

_IF_EXISTS: dict[str, Literal["fail", "append", "replace"]] = {
    "create": "fail",
    "append": "append",
    "replace": "replace",
    "create_append": "append",
}


class ColumnsMixin:
    """The methods of a cursor that give columns: the whole result, before any row was fetched."""

    _connection: Connection
    _driver: sync.Connection
    _rows: list[Any] | None

    def fetch_columns(self, *, schema: Any = None, infinity: Infinity = "raise") -> Columns:
        """The result as `Columns`; `schema` and `infinity` are those of the driver's method.

        Raises ProgrammingError where rows were fetched already, DataError for a value that its
        column has no place for. That one loses the result: run the query again.
        """
        with self._connection._guard:
            result = self._checked_result()
            if self._rows is not None:
                raise ProgrammingError(
                    "rows of this result were fetched already: fetch columns, which are all of "
                    "it, first, or run the query again"
                )
            self._connection._expects = "columns"
            columns = result.fetch_columns(schema=schema, infinity=infinity)
            # Nothing is left for rows.
            self._rows = []
            return columns

    def fetch_arrow(self) -> Columns:
        """The result as an object that every library with Arrow's PyCapsule interface takes."""
        return self.fetch_columns()

    def fetch_arrow_table(self) -> pa.Table:
        """The result as a `pyarrow.Table`."""
        return self.fetch_columns().to_arrow()

    fetchallarrow = fetch_arrow_table

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        """The result as a `pyarrow.RecordBatchReader`."""
        return reader_of(self.fetch_columns())

    def fetch_df(self, *, decimals: Decimals | None = None) -> pd.DataFrame:
        """The result as a frame of pandas; `decimals` is as in `Columns.to_pandas`."""
        frames = PandasFrames("numpy", None, decimals, stacklevel=4)
        columns = self.fetch_columns(schema=frames.asked(None))
        return columns._to_pandas(frames)

    def fetch_polars(self) -> pl.DataFrame:
        """The result as a frame of Polars."""
        return self.fetch_columns().to_polars()

    def adbc_execute_schema(self, query: str, params: Parameters | None = None) -> pa.Schema:
        """The Arrow schema of what a query would give, without its rows.

        The query is planned and run for no rows. A numeric without a declared scale has the one
        of a result without rows.
        """
        connection = self._connection
        with connection._guard:
            self._check_open()
            text, values, types = connection._with_values(query, params)
            connection._begin()
            held = self._driver.hold_result(
                f"SELECT * FROM ({text}) AS described LIMIT 0",
                *values,
                parameter_types=types,
                expect="columns",
            )
            return schema_of(held.fetch_columns())

    def adbc_ingest(
        self,
        table_name: str,
        data: Any,
        mode: IngestMode = "create",
        *,
        catalog_name: str | None = None,
        db_schema_name: str | None = None,
        temporary: bool = False,
    ) -> int:
        """Copy a table, a batch, a reader or any other frame into a table of the server.

        `mode` says what becomes of the table: "create" makes it and raises where it is there,
        "append" adds to one that is there, "replace" drops it first, "create_append" makes it
        where it is not there. `temporary` makes a table of the session's own. All of it is part
        of the connection's transaction. Returns the number of rows.
        """
        if mode not in _IF_EXISTS:
            raise ProgrammingError(f"mode is one of {', '.join(_IF_EXISTS)}, not {shown(mode)}")
        if catalog_name is not None and catalog_name != self._driver.database:
            raise NotSupportedError(
                f"the connection is to {self._driver.database!r}, and a connection to "
                f"PostgreSQL sees no other database such as {shown(catalog_name)}"
            )
        if temporary:
            if db_schema_name is not None:
                raise ProgrammingError("a temporary table has no schema: leave db_schema_name out")
            db_schema_name = "pg_temp"
        connection = self._connection
        with connection._guard:
            self._check_open()
            driver = connection.__colonnade_connection__()
            if mode == "append":
                _check_exists(driver, table_name, db_schema_name)
            return write_table(
                data,
                table_name,
                driver,
                schema_name=db_schema_name,
                if_exists=_IF_EXISTS[mode],
            )

    def adbc_cancel(self) -> None:
        """As `Connection.cancel`."""
        self._connection.cancel()

    def _checked_result(self) -> HeldResult:
        raise NotImplementedError

    def _check_open(self) -> None:
        raise NotImplementedError


def _check_exists(driver: sync.Connection, table: str, schema: str | None) -> None:
    if not table_exists(driver, table, schema):
        names = [table] if schema is None else [schema, table]
        target = ".".join(map(quote_identifier, names))
        raise ProgrammingError(f'there is no table {target} to append to: mode "create" makes it')

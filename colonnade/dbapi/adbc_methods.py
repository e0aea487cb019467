"""ADBC's methods of a cursor: fetch a result in columns, and ingest columns into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from colonnade._columns.conversion.pandas import PandasFrames
from colonnade._driver.sql.quoting import quote_identifier
from colonnade._pep249.errors import NotSupportedError, ProgrammingError
from colonnade._words.shown import shown
from colonnade.dbapi._arrow import reader_of, schema_of
from colonnade.frames import write_table
from colonnade.frames.write import table_exists

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from colonnade import sync
    from colonnade.columns import Columns, Decimals
    from colonnade.dbapi._shared import Shared
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
    """The cursor methods that return columns.

    Each returns the whole result, so call it before any row is fetched. NULL is a null of the Arrow
    column. They raise the errors of `fetch_columns`. A method whose result is an object of another
    library raises ImportError if that library is not installed.
    """

    _shared: Shared
    _driver: sync.Connection
    _rows: list[Any] | None

    def fetch_columns(self, *, schema: Any = None, infinity: Infinity = "raise") -> Columns:
        """Return the result as `Columns`.

        `schema` and `infinity` are as in `colonnade.sync.Connection.fetch_columns`.

        Raises ProgrammingError if there is no result, if some of its rows were already fetched or
        if `schema` does not fit it; DataError for a value that does not fit its column's type.
        After a DataError the result is lost: run the query again.
        """
        with self._shared.guard:
            result = self._checked_result()
            if self._rows is not None:
                raise ProgrammingError(
                    "rows of this result were already fetched: fetch columns before any row, or "
                    "run the query again"
                )
            self._shared.expects = "columns"
            columns = result.fetch_columns(schema=schema, infinity=infinity)
            # No rows are left to fetch.
            self._rows = []
            return columns

    def fetch_arrow(self) -> Columns:
        """Return the result as `Columns`, which supports Arrow's PyCapsule interface."""
        return self.fetch_columns()

    def fetch_arrow_table(self) -> pa.Table:
        """Return the result as a `pyarrow.Table`."""
        return self.fetch_columns().to_arrow()

    fetchallarrow = fetch_arrow_table

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        """Return the result as a `pyarrow.RecordBatchReader`."""
        return reader_of(self.fetch_columns())

    def fetch_df(self, *, decimals: Decimals | None = None) -> pd.DataFrame:
        """Return the result as a pandas DataFrame; `decimals` is as in `Columns.to_pandas`."""
        frames = PandasFrames("numpy", None, decimals, stacklevel=4)
        columns = self.fetch_columns(schema=frames.asked(None))
        return columns._to_pandas(frames)  # noqa: SLF001 - `to_pandas`, with its own warnings

    def fetch_polars(self) -> pl.DataFrame:
        """Return the result as a Polars DataFrame."""
        return self.fetch_columns().to_polars()

    def adbc_execute_schema(self, query: str, params: Parameters | None = None) -> pa.Schema:
        """Return the Arrow schema of a query's result, without its rows.

        The query runs with `LIMIT 0`. Where a numeric declares no scale, the schema has the scale
        that an empty result gets; the real result may have another, which its values decide.
        """
        shared = self._shared
        with shared.guard:
            self._check_open()
            text, values, types = shared.with_values(query, params)
            shared.begin()
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
        """Copy an Arrow table, batch, reader or a data frame into a table; return the row count.

        `mode` says how to treat the target table: "create" creates it and raises if it exists,
        "append" needs an existing table, "replace" drops and recreates it, "create_append" creates
        it if it does not exist. `temporary` makes it a temporary table of the session. Everything
        happens in the connection's transaction. Nulls of the data become NULL.

        Raises ProgrammingError for a wrong `mode`, for a table that exists with "create" or does
        not exist with "append", and for `temporary` with a schema; NotSupportedError for a
        `catalog_name` that is not the connection's database; DataError for a value that the table's
        column cannot hold.
        """
        if mode not in _IF_EXISTS:
            raise ProgrammingError(
                f"mode must be one of {', '.join(_IF_EXISTS)}, not {shown(mode)}"
            )
        if catalog_name is not None and catalog_name != self._driver.database:
            raise NotSupportedError(
                f"a connection to the database {self._driver.database!r} cannot write to another "
                f"database: leave catalog_name out, which is {shown(catalog_name)}"
            )
        if temporary:
            if db_schema_name is not None:
                raise ProgrammingError("a temporary table has no schema: leave db_schema_name out")
            db_schema_name = "pg_temp"
        shared = self._shared
        with shared.guard:
            self._check_open()
            driver = shared.lent()
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
        """Cancel the running query, as `Connection.cancel` does."""
        self._shared.cancel()

    def _checked_result(self) -> HeldResult:
        raise NotImplementedError

    def _check_open(self) -> None:
        raise NotImplementedError


def _check_exists(driver: sync.Connection, table: str, schema: str | None) -> None:
    if not table_exists(driver, table, schema):
        names = [table] if schema is None else [schema, table]
        target = ".".join(map(quote_identifier, names))
        raise ProgrammingError(
            f'there is no table {target} to append to: use mode "create" or "create_append"'
        )

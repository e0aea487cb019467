"""`read_sql`: the result of a query as a data frame."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, overload

import colonnade
from colonnade._columns.conversion.geopandas import GeoFrames
from colonnade._columns.conversion.pandas import PandasFrames
from colonnade._words.arguments import check_choice, check_count, check_names
from colonnade._words.shown import class_name
from colonnade.errors import PostgresSyntaxError
from colonnade.frames.connectable import Connectable, connection_of
from colonnade.frames.geo import with_references
from colonnade.frames.selects import batches, fetched, is_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import geopandas as gpd
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import sqlalchemy as sa
    from numpy.typing import NDArray

    from colonnade import Columns, sync
    from colonnade.columns import Decimals, Dtypes
    from colonnade.types import Infinity

    Arrays: TypeAlias = dict[str, NDArray[Any]]

Into: TypeAlias = Literal["pandas", "polars", "arrow", "numpy", "geopandas"]
Query: TypeAlias = "str | sa.Executable"
Params: TypeAlias = "Sequence[object] | Mapping[str, object] | None"

_INTO = ("pandas", "polars", "arrow", "numpy", "geopandas")


class _Options(TypedDict, total=False):
    """The options of every `read_sql`; the function itself has their defaults."""

    params: Params
    schema: Any
    infinity: Infinity
    timeout: float | None


class _PandasOptions(_Options, total=False):
    """Further options where the result is pandas' class, or one over it."""

    dtypes: Dtypes
    decimals: Decimals | None
    index_col: str | Sequence[str] | None


class _BatchedOptions(_Options):
    batch_rows: int


class _BatchedPandasOptions(_PandasOptions):
    batch_rows: int


@overload
def read_sql(
    query: Query,
    con: Connectable,
    *,
    into: Literal["pandas"] = "pandas",
    **options: Unpack[_PandasOptions],
) -> pd.DataFrame: ...
@overload
def read_sql(
    query: Query, con: Connectable, *, into: Literal["polars"], **options: Unpack[_Options]
) -> pl.DataFrame: ...
@overload
def read_sql(
    query: Query, con: Connectable, *, into: Literal["arrow"], **options: Unpack[_Options]
) -> pa.Table: ...
@overload
def read_sql(
    query: Query, con: Connectable, *, into: Literal["numpy"], **options: Unpack[_Options]
) -> Arrays: ...
@overload
def read_sql(
    query: str, con: Connectable, *, into: Literal["geopandas"], **options: Unpack[_PandasOptions]
) -> gpd.GeoDataFrame: ...
@overload
def read_sql(
    query: Query,
    con: Connectable,
    *,
    into: Literal["pandas"] = "pandas",
    **options: Unpack[_BatchedPandasOptions],
) -> Generator[pd.DataFrame, None, None]: ...
@overload
def read_sql(
    query: Query, con: Connectable, *, into: Literal["polars"], **options: Unpack[_BatchedOptions]
) -> Generator[pl.DataFrame, None, None]: ...
@overload
def read_sql(
    query: Query, con: Connectable, *, into: Literal["arrow"], **options: Unpack[_BatchedOptions]
) -> Generator[pa.Table, None, None]: ...
@overload
def read_sql(
    query: Query, con: Connectable, *, into: Literal["numpy"], **options: Unpack[_BatchedOptions]
) -> Generator[Arrays, None, None]: ...
@overload
def read_sql(
    query: str,
    con: Connectable,
    *,
    into: Literal["geopandas"],
    **options: Unpack[_BatchedPandasOptions],
) -> Generator[gpd.GeoDataFrame, None, None]: ...
def read_sql(
    query: Query,
    con: Connectable,
    *,
    params: Params = None,
    into: Into = "pandas",
    dtypes: Dtypes = "numpy",
    decimals: Decimals | None = None,
    index_col: str | Sequence[str] | None = None,
    schema: Any = None,
    infinity: Infinity = "raise",
    batch_rows: int | None = None,
    timeout: float | None = None,
) -> Any:
    """Run a query, and return its result as a data frame.

    `con` is a DSN (the call opens and closes a connection), a connection or pool of
    `colonnade.sync`, a connection of `colonnade.dbapi`, or an engine, connection or session of
    SQLAlchemy with Colonnade's dialect.

    `params` is a sequence for `$1`, `$2`, ..., or a mapping for `:name`. If `con` is SQLAlchemy's,
    `query` may be a SQLAlchemy statement, whose `params` are a mapping.

    `into` is "pandas" (a DataFrame), "polars" (a DataFrame), "arrow" (a pyarrow.Table), "numpy"
    (a dict of arrays by column name) or "geopandas" (a GeoDataFrame of PostGIS's geometries). NULL
    is the missing value of each: NaN, NaT, NA or None in pandas, null in Polars and Arrow, and NaN,
    NaT, None or a masked value in NumPy.

    For pandas, `dtypes` chooses the family of dtypes and `decimals` the dtype of numeric columns,
    both as in `Columns.to_pandas`; `index_col` names the columns of the index. By default numeric
    becomes float64, and one `InexactDecimalWarning` per call names values that float64 cannot hold
    exactly; `decimals="float64"` converts without the warning. NaN and infinities stay as they are,
    and a number beyond the range of float64 becomes an infinity.

    `schema` asks for other types by column name, and `infinity` says how to treat infinite dates;
    both are as in `fetch_columns`.

    With `batch_rows` the result is a generator of frames of that many rows, which needs only
    bounded memory and yields while the query runs. It holds the connection until the last frame or
    until it is closed; leaving a `for` loop early closes it. A result without rows yields one empty
    frame.

    `timeout`, in seconds, limits the call, or with `batch_rows` the wait for each frame.

    Raises InterfaceError for parameters that do not fit the query, DecodeError for a value that
    does not fit its type, PostgresError for an error of the server, and ImportError if the library
    that `into` names is not installed.
    """
    asked, convert = _conversion(into, dtypes, decimals, index_col)
    options: dict[str, Any] = {"infinity": infinity, "timeout": timeout}
    if batch_rows is not None:
        check_count("batch_rows", batch_rows)
        options["batch_rows"] = batch_rows
    if is_statement(query, con):
        options["schema"] = asked(_without_references(schema, into))
        if batch_rows is None:
            return convert(fetched(query, con, params, options))
        return (convert(columns) for columns in batches(query, con, params, options))
    if not isinstance(query, str):
        raise TypeError(f"query must be a str, not {class_name(query)}; con is the second argument")
    sql, args = _arguments(query, params)
    complete = functools.partial(_completed, sql, schema, asked, options, into=into)
    if batch_rows is not None:
        return _frames(con, sql, args, complete, convert)
    with connection_of(con) as connection, _placeholders_explained(sql):
        columns = connection.fetch_columns(sql, *args, **complete(connection))
    return convert(columns)


def _without_references(schema: Any, into: str) -> Any:
    if into == "geopandas":
        raise TypeError('into="geopandas" needs the text of a query: pass the compiled statement')
    return schema


def _completed(
    sql: str,
    schema: Any,
    asked: Callable[[Any], Any],
    options: dict[str, Any],
    connection: sync.Connection,
    *,
    into: str,
) -> dict[str, Any]:
    """The options of a fetch, with the schema that the frames need."""
    wanted = with_references(connection, sql, schema) if into == "geopandas" else schema
    return {"schema": asked(wanted), **options}


def _frames(
    con: Connectable,
    sql: str,
    args: Sequence[object],
    complete: Callable[[sync.Connection], dict[str, Any]],
    convert: Callable[[Columns], Any],
) -> Generator[Any, None, None]:
    with (
        connection_of(con) as connection,
        _placeholders_explained(sql),
        connection.iter_columns(sql, *args, **complete(connection)) as stream,
    ):
        for columns in stream:
            yield convert(columns)


def _conversion(
    into: str, dtypes: Dtypes, decimals: Decimals | None, index_col: str | Sequence[str] | None
) -> tuple[Callable[[Any], Any], Callable[[Columns], Any]]:
    """Return the functions that complete the requested schema and make a frame of `Columns`."""
    check_choice("into", into, _INTO)
    check_names("index_col", index_col)
    if into in ("pandas", "geopandas"):
        frames = PandasFrames(dtypes, index_col, decimals, stacklevel=5)
        # One PandasFrames for all frames, so that it warns once.
        if into == "geopandas":
            geo = GeoFrames()
            return frames.asked, lambda columns: columns._to_geopandas(frames, geo)  # noqa: SLF001
        return frames.asked, lambda columns: columns._to_pandas(frames)  # noqa: SLF001
    if index_col is not None:
        raise ValueError(f"index_col is for pandas: {into} has no index")
    if dtypes != "numpy":
        raise ValueError(f"dtypes is for pandas: for {into}, choose types with schema=")
    if decimals is not None:
        raise ValueError(f"decimals is for pandas: for {into}, choose types with schema=")
    return lambda schema: schema, operator.methodcaller(f"to_{into}")


def _arguments(query: str, params: Params) -> tuple[str, Sequence[object]]:
    if params is None:
        return query, ()
    if isinstance(params, Mapping):
        sql, *args = colonnade.named(query, params)
        return sql, args
    if isinstance(params, str | bytes) or not isinstance(params, Sequence):
        raise TypeError(
            f"params must be a sequence for $1, $2, ... or a mapping for :name, "
            f"not {class_name(params)}"
        )
    return query, params


@contextlib.contextmanager
def _placeholders_explained(sql: str) -> Generator[None, None, None]:
    """Add a note to a syntax error if the query seems to have another library's placeholders."""
    try:
        yield
    except PostgresSyntaxError as error:
        if "%s" in sql or "%(" in sql or "?" in sql:
            error.add_note(
                "Placeholders are $1, $2, ... with a sequence, and :name with a mapping as params."
            )
        raise

"""`Columns`: a result in columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

from colonnade import _core
from colonnade._columns.conversion.libraries import Decimals, Dtypes
from colonnade._columns.grouped import GroupsOf
from colonnade._columns.parts.names import of_mapping, position, renamed, selected
from colonnade._core import selection
from colonnade._words.arguments import check_mapping, check_name, whole
from colonnade._words.shown import class_name, shown
from colonnade.errors import SchemaError

if TYPE_CHECKING:
    import builtins
    from collections.abc import Sequence

    import geopandas as gpd
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from colonnade._columns.conversion.arrow import Strings
    from colonnade._columns.conversion.geopandas import GeoFrames
    from colonnade._columns.conversion.pandas import PandasFrames
    from colonnade._columns.grouped import Nulls
    from colonnade._columns.parts.typed import Indices, Mask
    from colonnade._columns.schema import Asked

__all__ = ["Columns", "Decimals", "Dtypes"]


# Each method imports its conversion, because a program uses only a few of them.
class Columns:
    """A result in columns, in Arrow's memory layout, which other libraries read without a copy.

    ``cols["price"]`` and ``cols[0]`` return a column as a NumPy array, and ``cols[10:20]`` returns
    rows as `Columns`. ``len(cols)`` is the number of rows. Like a mapping of names to columns, the
    object supports ``"price" in cols``, ``keys()``, ``values()``, ``items()`` and ``dict(cols)``.
    It cannot be iterated over, because that could mean rows as well as names, and ``==`` compares
    identity, not contents.

    Libraries with Arrow's PyCapsule interface accept the object directly: ``pl.DataFrame(cols)``,
    ``pa.table(cols)``, ``duckdb.sql("select ... from cols")``. The ``to_...`` methods also convert
    types that the library does not support well.

    Memory is shared if the other library's type allows it: slices, arrays and frames are views of
    the same bytes. Arrays of ``cols[...]`` and ``to_numpy()`` that share memory are read-only. The
    frame of ``to_pandas()`` is writable, as pandas expects; a write to it changes all objects that
    share the column. `colonnade docs columns` lists the types whose memory is shared.

    Made by ``fetch_columns`` and ``iter_columns``.
    """

    __slots__ = ("__weakref__", "_asked", "_batch", "timing")

    def __init__(
        self,
        batch: _core.Batch,
        asked: Asked | None = None,
        timing: _core.QueryTiming | None = None,
    ) -> None:
        if not isinstance(batch, _core.Batch):
            raise TypeError(
                f"Columns are made by fetch_columns and iter_columns, not from {class_name(batch)}"
            )
        self._batch = batch if asked is None or not asked.readers else asked.read(batch)
        self._asked = asked
        self.timing = timing
        """The phases of the query's time; None for slices and for batches of a stream."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._batch.num_rows

    @property
    def num_columns(self) -> int:
        """The number of columns."""
        return self._batch.num_columns

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.num_rows, self.num_columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the query's order. PostgreSQL allows duplicates."""
        return tuple(field.name for field in self._batch.fields)

    @property
    def columns(self) -> list[str]:
        """The names of the columns as a list, as pandas and Polars have it."""
        return list(self.names)

    @property
    def dtypes(self) -> dict[str, str]:
        """The Arrow type of each column by its name, spelled as in ``fields``.

        Raises ValueError for duplicate names; ``fields`` allows them.
        """
        from colonnade._columns.conversion.kinds import require_unique_names

        require_unique_names(self._batch, "Columns.dtypes")
        return {field.name: field.arrow_type for field in self._batch.fields}

    @property
    def fields(self) -> tuple[_core.Field, ...]:
        """The name, PostgreSQL type and Arrow type of each column."""
        return self._batch.fields

    @property
    def nbytes(self) -> int:
        """The size of the rows in bytes, including shared memory."""
        return self._batch.nbytes

    def __len__(self) -> int:
        return self._batch.num_rows

    # Iterating could mean rows or names, and pandas would make a frame of the names.
    __iter__ = None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._batch.places

    def keys(self) -> tuple[str, ...]:
        """Return `names`; needed for ``dict(cols)``."""
        return self.names

    def values(self) -> list[NDArray[Any]]:
        """Return the columns as NumPy arrays, like ``cols[...]``."""
        return [self[index] for index in range(self.num_columns)]

    def items(self) -> list[tuple[str, NDArray[Any]]]:
        """Return pairs of the name and the NumPy array of each column."""
        return list(zip(self.names, self.values(), strict=True))

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: builtins.slice) -> Columns: ...
    def __getitem__(self, key: str | SupportsIndex | builtins.slice) -> NDArray[Any] | Columns:
        """Return a column as a NumPy array, by name or position, or rows as `Columns`, by a slice.

        NULL is NaN in floats and NaT in dates and times. It is masked in integers, booleans and
        structs. It is None in text (NumPy's ``StringDType``) and in arrays of objects, which
        numeric (``Decimal``), uuid, bytea and interval become. A column of fixed-size lists of
        floats is an array with one more dimension; other lists are an object array of arrays.

        Raises KeyError for a name that no column or several columns have, IndexError for a position
        out of range, TypeError for another key, ValueError for a slice with a step, and DecodeError
        for a value that has no Python object.
        """
        from colonnade._columns.conversion.numpy import column_array

        if isinstance(key, slice):
            return self._rows(key)
        return column_array(self._batch, self._position(key), "A column as an array")

    def head(self, n: SupportsIndex = 5) -> Columns:
        """Return the first `n` rows, without a copy; for a negative `n`, all but the last `-n`."""
        return self._rows(slice(whole("n", n)))

    def tail(self, n: SupportsIndex = 5) -> Columns:
        """Return the last `n` rows, without a copy; for a negative `n`, all but the first `-n`."""
        rows = whole("n", n)
        return self._rows(slice(max(self.num_rows - rows, 0) if rows >= 0 else -rows, None))

    def slice(self, offset: SupportsIndex, length: SupportsIndex | None = None) -> Columns:
        """Return `length` rows from row `offset` on, without a copy; None means up to the end.

        A negative `offset` counts from the end. Rows past the end are left out. Raises ValueError
        for a negative `length`.
        """
        start, end, _ = slice(whole("offset", offset), None).indices(self.num_rows)
        if length is None:
            return self._rows(slice(start, end))
        rows = whole("length", length)
        if rows < 0:
            raise ValueError(f"length must be 0 or more, not {shown(length)}")
        return self._rows(slice(start, start + rows))

    def filter(self, mask: Mask) -> Columns:
        """Return the rows where a mask is true, in their order; NULL is not true, as in WHERE.

        The mask has a boolean for each row: a NumPy array, masked or not, an Arrow array, a pandas
        or Polars series, a list of bool and None, or `Columns` of one boolean column. A series is
        taken by position, without its index.

        Raises ValueError for another number of values, and TypeError for values of other types.
        """
        return Columns(selection.filtered(self._batch, _own(mask)), self._asked)

    def take(self, indices: Indices) -> Columns:
        """Return the rows at these positions, in their order; a position may occur several times.

        They are whole numbers: a NumPy array of any width, an Arrow array, a pandas or Polars
        series, a list, a range, or `Columns` of one integer column. As in NumPy, a negative one
        counts from the end. A range with step 1 copies no rows.

        Raises IndexError, with the position, for a row that does not exist, ValueError for NULL,
        and TypeError for values of other types.
        """
        return Columns(selection.take(self._batch, _own(indices)), self._asked)

    def select(self, *keys: str | SupportsIndex) -> Columns:
        """Return only these columns, by name or position, in this order, without a copy.

        Raises KeyError, IndexError and TypeError as ``cols[key]`` does, and ValueError for a column
        that is chosen twice.
        """
        batch = selection.select(self._batch, selected(self._batch, keys))
        return Columns(batch, self._kept({field.name: field.name for field in batch.fields}))

    def rename(self, names: Mapping[str, str]) -> Columns:
        """Return the columns with other names, old to new, without a copy.

        Raises KeyError for an unknown name, ValueError if two columns would have the same name, and
        TypeError if a name is not a str.
        """
        if not isinstance(names, Mapping):
            raise TypeError(f"names must be a mapping of old to new names, not {shown(names)}")
        batch = selection.renamed(self._batch, renamed(self._batch, names))
        return Columns(batch, self._kept({old: names.get(old, old) for old in self.names}))

    def with_columns(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> Columns:
        """Return the columns together with new ones, by name; the others are not copied.

        A new column takes the place of the one with the same name, or comes last. It is an array of
        NumPy, Arrow, pandas or Polars, a list, or `Columns` of one column, which keeps its
        PostgreSQL type. True in the mask of a masked array, NaT, and a None in a list are NULL; NaN
        stays NaN. A series is taken by position, without its index.

        Raises ValueError for another number of values than rows, and TypeError for an object that
        is no array, such as a single value.
        """
        from colonnade._columns.parts.given import with_column

        batch, added = self._batch, of_mapping(columns, named)
        for name, value in added.items():
            batch = with_column(batch, name, _own(value))
        return Columns(batch, self._kept({name: name for name in self.names if name not in added}))

    def group_by(self, *names: str, sort: bool = False, nulls: Nulls = "group") -> Groups:
        """Return the rows in groups of equal values in the named columns, for aggregates.

        ``cols.group_by("city").sum("price")`` returns `Columns` with the city and the sum of each
        group. Groups are in the order of their first rows, or, with ``sort``, in that of their keys
        as ``ORDER BY`` has it: NULL last, and text by its bytes. Keys are equal as in PostgreSQL:
        NaN equals NaN, and NULL is a group of its own. ``nulls="drop"`` leaves out the rows in
        which a key is NULL.

        Raises KeyError for a name that not exactly one column has, TypeError for a type that cannot
        be a key or be sorted, and ValueError for no name or the same one twice.
        """
        return Groups(self._batch, self.__class__, names, sort=sort, nulls=nulls)

    def null_mask(self, key: str | SupportsIndex) -> NDArray[np.bool_]:
        """Return a boolean array that is True for NULL; in floats, it tells NULL from NaN.

        Raises KeyError, IndexError and TypeError as ``cols[key]`` does.
        """
        from colonnade._columns.conversion.numpy import column_null_mask

        return column_null_mask(self._batch, self._position(key))

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Return the NumPy array of each column by name, as ``cols[name]``.

        Raises ValueError for duplicate names.
        """
        from colonnade._columns.conversion.kinds import require_unique_names

        require_unique_names(self._batch, "Columns.to_numpy()")
        return dict(self.items())

    def to_structured(
        self, dtype: Any = None, *, null: Mapping[str, Any] | None = None
    ) -> NDArray[np.void]:
        """Return one structured NumPy array of shape ``(num_rows,)``, row by row in memory.

        Each field of the structured ``dtype`` takes the column of its name; columns that it does
        not name are left out. The default is the query's ``schema`` if that is a structured dtype,
        else a dtype with all columns in their own types, and object for types without a fixed
        width.

        Every value is checked. Raises DecodeError, with column and row, for a text that is longer
        than its ``U`` (in characters) or ``S`` (in bytes of UTF-8), an integer out of range, and a
        time that is finer than the field's unit. NULL is NaN in floats, NaT in ``datetime64`` and
        ``timedelta64``, None in objects, and raises DecodeError in other fields, unless ``null``
        gives a value for the column: ``null={"quantity": -1}``. Raises SchemaError for a field
        without a column, or of a type that its column cannot become, and ValueError for duplicate
        names.
        """
        from colonnade._columns.conversion.structured import structured_array

        check_mapping("null", null)
        if dtype is None and self._asked is not None:
            dtype = self._asked.row
        return structured_array(self._batch, dtype, null)

    def to_arrow(self, strings: Strings = "small") -> pa.Table:
        """Return a ``pyarrow.Table`` over the same memory.

        ``strings`` is the layout of text: ``"small"`` is ``string``, ``"large"`` is
        ``large_string``, ``"view"`` is ``string_view``. None of them copies the characters.

        Raises ImportError if pyarrow is not installed.
        """
        from colonnade._columns.conversion.arrow import arrow_table

        check_name("strings", strings)
        return arrow_table(self._batch, strings)

    def to_pandas(
        self,
        dtypes: Dtypes = "numpy",
        *,
        index: str | Sequence[str] | None = None,
        decimals: Decimals | None = None,
    ) -> pd.DataFrame:
        """Return a pandas DataFrame, with one block per column, over the same memory if possible.

        ``dtypes`` is the family of dtypes:

        - ``"numpy"``: NumPy's. Integer and boolean columns with NULLs get pandas' nullable dtypes,
          so no integer becomes a float. Text gets pandas' ``str``.
        - ``"nullable"``: pandas' nullable dtypes for numbers, booleans and text.
        - ``"arrow"``: ``ArrowDtype`` for all columns; needs pyarrow.

        ``index`` names the columns that become the frame's index.

        ``decimals`` chooses the dtype of numeric columns whose type ``schema`` does not choose:

        - ``"float64"``: the nearest float64, NULL as NaN, as in ``pandas.read_sql``.
        - None, the default: the same, but an ``InexactDecimalWarning`` names the columns with a
          value that float64 cannot hold exactly.
        - ``"decimal"``: ``ArrowDtype`` of Arrow decimals, exact; needs pyarrow. Arrow rounds their
          mean to the scale of the column.
        - ``"object"``: Python's ``Decimal``, exact; NULL is None.

        Raises KeyError for an ``index`` that names no column or several, ValueError for an unknown
        ``dtypes`` or ``decimals``, and ImportError if a library is missing.
        """
        from colonnade._columns.conversion.pandas import PandasFrames

        return self._to_pandas(PandasFrames(dtypes, index, decimals))

    def _to_pandas(self, frames: PandasFrames) -> pd.DataFrame:
        """Return one of several frames that share their options."""
        asked = frozenset[str]() if self._asked is None else self._asked.names
        return frames.frame(self._batch, asked)

    def to_geopandas(
        self,
        geometry: str | None = None,
        *,
        crs: Any = None,
        dtypes: Dtypes = "numpy",
        decimals: Decimals | None = None,
    ) -> gpd.GeoDataFrame:
        """Return a GeoDataFrame, whose columns of PostGIS's types are geometries.

        ``geometry`` names the active column, by default the first one. The reference system is that
        of the SRID in the column's declaration, such as ``geometry(Point, 4326)``, or of the values
        if the column was fetched with ``schema={"geom": "binary"}``; ``read_sql`` with
        ``into="geopandas"`` does so. ``crs`` is for columns that tell none, and for an SRID that
        EPSG does not have. ``dtypes`` and ``decimals`` are as in ``to_pandas``.

        Raises InterfaceError for a result without geometries and for a column with several SRIDs,
        KeyError for a ``geometry`` that is none, DecodeError for a geometry that shapely cannot
        read, such as a curve, and ImportError if GeoPandas is not installed.
        """
        from colonnade._columns.conversion.geopandas import GeoFrames
        from colonnade._columns.conversion.pandas import PandasFrames

        return self._to_geopandas(PandasFrames(dtypes, None, decimals), GeoFrames(geometry, crs))

    def _to_geopandas(self, frames: PandasFrames, geo: GeoFrames) -> gpd.GeoDataFrame:
        """Return one of several frames that share their options."""
        asked = frozenset[str]() if self._asked is None else self._asked.names
        return geo.frame(frames, self._batch, asked)

    def to_polars(self) -> pl.DataFrame:
        """Return a Polars DataFrame over the same memory.

        uuid becomes text, because Polars has no such type; ``pl.DataFrame(cols)`` has the bytes. A
        numeric column with more than 38 digits and an interval column with months, which Polars
        does not support either, become text, with an ``InterfaceWarning`` that names the column.

        Raises ValueError for duplicate names, and ImportError if Polars is not installed.
        """
        from colonnade._columns.conversion.polars import polars_frame

        return polars_frame(self._batch)

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return each column by name, as a list of the Python objects of rows; NULL is None.

        Raises ValueError for duplicate names, and DecodeError, with column and row, for a value
        that Python's class cannot hold, such as a date before Christ.
        """
        from colonnade._columns.conversion.kinds import require_unique_names
        from colonnade._columns.conversion.values import python_values

        require_unique_names(self._batch, "Columns.to_pydict()")
        return {name: python_values(self._batch, index) for index, name in enumerate(self.names)}

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return each row as a dict of Python objects; NULL is None.

        Raises the errors of `to_pydict`.
        """
        from colonnade._columns.conversion.kinds import require_unique_names
        from colonnade._columns.conversion.values import python_values

        require_unique_names(self._batch, "Columns.to_pylist()")
        names = self.names
        if not names:
            return [{} for _ in range(self.num_rows)]
        columns = [python_values(self._batch, index) for index in range(len(names))]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    @staticmethod
    def concat(parts: Sequence[Columns]) -> Columns:
        """Return the rows of all parts, one part after another; a single part is returned itself.

        The parts must have the same names and types, as batches of one query do. Two properties may
        differ: numerics without a declared scale get the largest scale of all parts, and
        dictionaries are merged. Only such columns are copied; of all others, the parts become
        chunks. Arrow's consumers take the chunks. A column that is needed as one array, for NumPy
        and pandas, is joined at its first use.

        Raises SchemaError for parts whose columns differ, ValueError for an empty sequence, and
        TypeError for a part that is not `Columns`.
        """
        for part in parts:
            if not isinstance(part, Columns):
                raise TypeError(f"concat joins Columns, not {shown(part)}")
        if not parts:
            raise ValueError("there is nothing to concatenate")
        if len(parts) == 1:
            return parts[0]
        batches = [part._batch for part in parts]  # noqa: SLF001 - of its own class
        try:
            batch = _core.Batch.concat(batches)
        except ValueError as error:
            raise SchemaError(str(error)) from None
        return Columns(batch, parts[0]._asked)  # noqa: SLF001 - as above

    def __arrow_c_schema__(self) -> object:
        return self._batch.export_schema("small")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a new Arrow C stream.

        Of `requested_schema`, only the layouts of text are used, which copy no characters; all
        other types stay as they are.
        """
        return self._batch.export_stream("small", requested_schema)

    def __repr__(self) -> str:
        import shutil

        from colonnade._columns.conversion.text_table import text_table

        return text_table(self._batch, shutil.get_terminal_size().columns)

    def _repr_html_(self) -> str:
        from colonnade._columns.conversion.html_table import html_table

        return html_table(self._batch)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "Columns cannot be pickled: send cols.to_arrow(), cols.to_pandas() or cols.to_polars() "
            "instead"
        )

    def _kept(self, names: Mapping[str, str]) -> Asked | None:
        """The part of the query's schema about columns that are left, old name to new."""
        if self._asked is None:
            return None
        left = frozenset(names[name] for name in self._asked.names if name in names)
        return self._asked._replace(row=None, names=left)

    def _rows(self, rows: builtins.slice) -> Columns:
        start, stop, step = rows.indices(self.num_rows)
        if step != 1:
            raise ValueError("a slice of Columns cannot have a step")
        return Columns(self._batch.slice(start, max(stop - start, 0)), self._asked)

    def _position(self, key: str | SupportsIndex) -> int:
        return position(self._batch, key)


class Groups(GroupsOf[Columns]):
    """The rows of `Columns` in groups of equal keys, made by ``Columns.group_by``.

    ``len(groups)`` is the number of groups. Their order is that of their first rows, or that of
    their keys with ``sort=True``. ``groups[key]`` returns the rows of a group as `Columns`, and
    iterating gives pairs of a key and such `Columns`. With several keys, a key is a tuple. Keys are
    the Python objects of rows, and NULL is None. The first use of a group's rows copies all rows
    once, group by group, unless they are in this order already; each group is then a view.

    The aggregates return `Columns` with a row per group: the keys, then the results. They ignore
    NULL as in SQL: a count is 0 for a group of only NULLs, and the other results are NULL.
    """

    __slots__ = ()


def _own(value: Any) -> Any:
    """The batch of `Columns`; another object itself."""
    return value._batch if isinstance(value, Columns) else value  # noqa: SLF001 - of its own class

"""A result in columns."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

from colonnade import _core
from colonnade._arguments import check_mapping, check_name, check_number
from colonnade._conversion.libraries import Decimals, Dtypes
from colonnade._shown import class_name
from colonnade.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from colonnade._conversion.arrow import Strings
    from colonnade._conversion.pandas import PandasFrames
    from colonnade._schema import Asked

__all__ = ["Columns", "Decimals", "Dtypes"]


# Each conversion is imported by the method that does it: a program uses few of them.
class Columns:
    """A result in columns, in Arrow's layout; other libraries read them where they lie.

    ``cols["price"]`` and ``cols[0]`` give a column as a NumPy array, ``cols[10:20]`` gives rows as
    `Columns` again. ``len(cols)`` counts rows. Names are asked for as in a mapping: ``"price" in
    cols``, ``keys()``, ``values()``, ``items()``, ``dict(cols)``. There is no iteration over the
    object itself, which could mean rows as well as names, and no comparison of contents: ``==``
    is identity.

    Any library that speaks the Arrow PyCapsule interface takes the object as it is:
    ``pl.DataFrame(cols)``, ``pa.table(cols)``, ``duckdb.sql("select ... from cols")``. The
    ``to_...`` methods know what each library takes well and hand over that.

    Memory is shared wherever the other side's type allows: slices, arrays and frames are views
    of the same bytes. Arrays of ``cols[...]`` and ``to_numpy()`` that share memory are read-only.
    The frame of ``to_pandas()`` is writable, as pandas expects; what is written to it is seen by
    everyone who shares the column. ``docs/columns.md`` says for each type what is shared.

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
                f"Columns are made by fetch_columns and iter_columns, not of {class_name(batch)}"
            )
        self._batch = batch
        self._asked = asked
        self.timing = timing
        """Where the time of the query went; None of slices and of the batches of a stream."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._batch.num_rows

    @property
    def num_columns(self) -> int:
        """How many columns there are."""
        return self._batch.num_columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, self.num_columns

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in the query's order. PostgreSQL lets them repeat."""
        return tuple(field.name for field in self._batch.fields)

    @property
    def columns(self) -> list[str]:
        """The columns' names as a list, under the name that pandas and Polars have for them."""
        return list(self.names)

    @property
    def dtypes(self) -> dict[str, str]:
        """The Arrow type of each column by its name, as ``fields`` spells it.

        Raises ValueError where names repeat; ``fields`` has them all.
        """
        from colonnade._conversion.kinds import require_unique_names

        require_unique_names(self._batch, "Columns.dtypes")
        return {field.name: field.arrow_type for field in self._batch.fields}

    @property
    def fields(self) -> tuple[_core.Field, ...]:
        """Of each column its name, its PostgreSQL type and its Arrow type."""
        return self._batch.fields

    @property
    def nbytes(self) -> int:
        """Bytes that these rows take, shared ones included."""
        return self._batch.nbytes

    def __len__(self) -> int:
        return self._batch.num_rows

    # Rows or names? Refused, also because pandas would make a frame of the names.
    __iter__ = None

    def __contains__(self, name: object) -> bool:
        return any(field.name == name for field in self._batch.fields)

    def keys(self) -> tuple[str, ...]:
        """The same as `names`; makes ``dict(cols)`` work."""
        return self.names

    def values(self) -> list[NDArray[Any]]:
        """The columns as NumPy arrays, as ``cols[...]`` gives them."""
        return [self[index] for index in range(self.num_columns)]

    def items(self) -> list[tuple[str, NDArray[Any]]]:
        """Names and NumPy arrays of the columns."""
        return list(zip(self.names, self.values(), strict=True))

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Columns: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> NDArray[Any] | Columns:
        """A column by name or position as a NumPy array, or rows by a slice.

        NULL is NaN in floats and NaT in times; it is masked in integers, booleans and structs,
        and None in text (NumPy's ``StringDType``) and in objects, which numeric (``Decimal``),
        uuid, bytea and interval become. Lists of floats of one length are an array of one more
        dimension; of other lists each row has an array.
        """
        from colonnade._conversion.numpy import column_array

        if isinstance(key, slice):
            return self._rows(key)
        return column_array(self._batch, self._position(key), "A column as an array")

    def head(self, n: int = 5) -> Columns:
        """The first `n` rows, over the same memory; with a negative `n` all but the last `-n`."""
        check_number("n", n)
        return self._rows(slice(n))

    def null_mask(self, key: str | SupportsIndex) -> NDArray[np.bool_]:
        """True where the column is NULL, which tells NULL from NaN in a column of floats."""
        from colonnade._conversion.numpy import column_null_mask

        return column_null_mask(self._batch, self._position(key))

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Every column as a NumPy array, by name, as ``cols[name]`` gives it."""
        from colonnade._conversion.kinds import require_unique_names

        require_unique_names(self._batch, "Columns.to_numpy()")
        return dict(self.items())

    def to_structured(
        self, dtype: Any = None, *, null: Mapping[str, Any] | None = None
    ) -> NDArray[np.void]:
        """One structured array of NumPy, row after row in memory.

        ``dtype`` is structured; its fields take the columns of their names, in its own order, and
        columns that it does not name are left out. Without it that is the dtype which was the
        ``schema`` of the query; else every column comes in the type it has, and as object where
        that has no fixed width.

        Each value is checked. A text that is longer than its ``U`` (in characters) or ``S`` (in
        bytes of UTF-8), an integer out of range or a time that is finer than the field's unit is a
        `DecodeError` with its column and row. So is a NULL, unless the field is a float,
        ``datetime64``, ``timedelta64`` or object, or ``null`` names a value for the column:
        ``null={"quantity": -1}``.
        """
        from colonnade._conversion.structured import structured_array

        check_mapping("null", null)
        if dtype is None and self._asked is not None:
            dtype = self._asked.row
        return structured_array(self._batch, dtype, null)

    def to_arrow(self, strings: Strings = "small") -> pa.Table:
        """A ``pyarrow.Table`` over the same memory.

        ``strings`` is the layout of text: ``"small"`` is ``string``, ``"large"`` is
        ``large_string``, ``"view"`` is ``string_view``. All three share the characters.
        """
        from colonnade._conversion.arrow import arrow_table

        check_name("strings", strings)
        return arrow_table(self._batch, strings)

    def to_pandas(
        self,
        dtypes: Dtypes = "numpy",
        *,
        index: str | Sequence[str] | None = None,
        decimals: Decimals | None = None,
    ) -> pd.DataFrame:
        """A pandas frame, one block per column, over the same memory where pandas has the type.

        ``dtypes`` is the family of types:

        - ``"numpy"``: NumPy's; integers and booleans that have NULLs are pandas' nullable ones,
          so that no integer becomes a float. Text is pandas' ``str``.
        - ``"nullable"``: pandas' nullable types for numbers, booleans and text.
        - ``"arrow"``: ``ArrowDtype`` throughout; needs pyarrow.

        ``index`` names the columns that become the frame's index; KeyError for one that is not
        there.

        ``decimals`` chooses the form of numeric, unless ``schema`` has chosen it for the column:

        - ``"float64"``: the nearest float64, NULL as NaN, as ``pandas.read_sql`` has it.
        - None, the default: the same, and an ``InexactDecimalWarning`` names the columns with a
          value that a float64 does not hold.
        - ``"decimal"``: ``ArrowDtype`` of Arrow's decimals, exact; needs pyarrow. Their mean is
          rounded to the digits that the column has.
        - ``"object"``: Python's ``Decimal``, exact; NULL is None.
        """
        from colonnade._conversion.pandas import PandasFrames

        return self._to_pandas(PandasFrames(dtypes, index, decimals))

    def _to_pandas(self, frames: PandasFrames) -> pd.DataFrame:
        """The next one of several frames."""
        asked = frozenset[str]() if self._asked is None else self._asked.names
        return frames.frame(self._batch, asked)

    def to_polars(self) -> pl.DataFrame:
        """A Polars frame over the same memory.

        uuid comes as text, for Polars has no such type; ``pl.DataFrame(cols)`` has the bytes.
        Polars ends at decimals of 38 digits, and its durations have no months. A numeric column
        with more digits comes as text, and so does an interval column with months, with an
        ``InterfaceWarning`` that names it.
        """
        from colonnade._conversion.polars import polars_frame

        return polars_frame(self._batch)

    def to_pydict(self) -> dict[str, list[Any]]:
        """Every column as a list of the Python objects that rows have, by name."""
        from colonnade._conversion.kinds import require_unique_names
        from colonnade._conversion.values import python_values

        require_unique_names(self._batch, "Columns.to_pydict()")
        return {name: python_values(self._batch, index) for index, name in enumerate(self.names)}

    def to_pylist(self) -> list[dict[str, Any]]:
        """Every row as a dictionary of the Python objects that rows have."""
        from colonnade._conversion.kinds import require_unique_names
        from colonnade._conversion.values import python_values

        require_unique_names(self._batch, "Columns.to_pylist()")
        names = self.names
        if not names:
            return [{} for _ in range(self.num_rows)]
        columns = [python_values(self._batch, index) for index in range(len(names))]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    @staticmethod
    def concat(parts: Sequence[Columns]) -> Columns:
        """The rows of all parts, one part after another; of one part, the part itself.

        The parts are results of one query, or of its parts: names and types agree, but for what a
        result decides itself. Numerics without a declared scale get the largest one of all parts,
        and dictionaries each value once. The rows are copied.

        Raises SchemaError for parts whose columns differ, ValueError where there are none.
        """
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
        """An Arrow C stream, anew with every call.

        Of a requested schema the layouts of text are followed, which cost no copy of characters;
        other types come as they are.
        """
        return self._batch.export_stream("small", requested_schema)

    def __repr__(self) -> str:
        import shutil

        from colonnade._conversion.text_table import text_table

        return text_table(self._batch, shutil.get_terminal_size().columns)

    def _repr_html_(self) -> str:
        from colonnade._conversion.html_table import html_table

        return html_table(self._batch)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "Columns cannot be pickled: send cols.to_arrow(), cols.to_pandas() or cols.to_polars() "
            "instead"
        )

    def _rows(self, rows: slice) -> Columns:
        start, stop, step = rows.indices(self.num_rows)
        if step != 1:
            raise ValueError("rows are taken one after another: a slice of Columns has no step")
        return Columns(self._batch.slice(start, max(stop - start, 0)), self._asked)

    def _position(self, key: str | SupportsIndex) -> int:
        if isinstance(key, str):
            found = [index for index, field in enumerate(self._batch.fields) if field.name == key]
            if len(found) != 1:
                raise KeyError(self._not_one(key, found))
            return found[0]
        try:
            index = operator.index(key)
        except TypeError:
            raise TypeError(
                f"a column is taken by its name or position, not by {class_name(key)}"
            ) from None
        count = self.num_columns
        if not -count <= index < count:
            raise IndexError(f"there is no column {index}: there are {count}")
        return index % count

    def _not_one(self, name: str, found: list[int]) -> str:
        import difflib

        if found:
            places = ", ".join(f"cols[{index}]" for index in found)
            return f'several columns are named "{name}": take {places}'
        known = ", ".join(f'"{known}"' for known in self.names) or "none"
        close = difflib.get_close_matches(name, self.names, 1)
        hint = f' did you mean "{close[0]}"?' if close else ""
        return f'no column "{name}":{hint} there are {known}'

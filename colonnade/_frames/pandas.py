"""Columns as a pandas frame: one block per column, over the columns' memory where it can be."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from colonnade._frames.arrow import arrow_table
from colonnade._frames.kinds import Kind, column_type
from colonnade._frames.libraries import needed_by
from colonnade._frames.numpy import (
    dates,
    intervals,
    null_mask,
    objects,
    stored_values,
    texts,
    times,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from colonnade._core import Batch

# Python objects where pyarrow is not there.
_ARROW_KINDS = {Kind.DECIMAL, Kind.LIST, Kind.FIXED_LIST, Kind.STRUCT, Kind.MAP}

Dtypes = Literal["numpy", "nullable", "arrow"]
_USER = "Columns.to_pandas()"


def pandas_frame(
    batch: Batch, dtypes: Dtypes, index: str | Sequence[str] | None = None
) -> pd.DataFrame:
    """The batch as a frame with columns of the dtypes of one family, some of them its index."""
    if dtypes not in {"numpy", "nullable", "arrow"}:
        raise ValueError(f'dtypes must be "numpy", "nullable" or "arrow", not {dtypes!r}')
    with needed_by(_USER, "pandas"):
        import pandas as pd
    source = _Source(batch)
    column = source.arrow_column if dtypes == "arrow" else source.column
    # By position, because names may repeat; `copy=False` keeps each column where it is.
    columns = {index: column(index, dtypes) for index in range(batch.num_columns)}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(batch.num_rows), copy=False)
    frame.columns = pd.Index([field.name for field in batch.fields])
    return frame if index is None else _indexed(frame, index)


def _indexed(frame: pd.DataFrame, index: str | Sequence[str]) -> pd.DataFrame:
    wanted = [index] if isinstance(index, str) else list(index)
    for name in wanted:
        if (count := list(frame.columns).count(name)) != 1:
            known = ", ".join(f'"{known}"' for known in frame.columns) or "none"
            many = "no column" if not count else "more than one column"
            raise KeyError(f'{many} "{name}" for the index: there are {known}')
    if not wanted:
        raise ValueError("index names no column: leave it out")
    return frame.set_index(wanted)


class _Source:
    """A batch, and what is made of it once for several columns."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    @cached_property
    def table(self) -> pa.Table:
        # pandas keeps its strings in this layout.
        return arrow_table(self._batch, "large", f'{_USER} with dtypes="arrow"')

    @cached_property
    def has_pyarrow(self) -> bool:
        try:
            import pyarrow as pa
        except ImportError:
            return False
        return bool(pa)

    def arrow_column(self, index: int, dtypes: Dtypes) -> Any:
        """The column in its Arrow type."""
        del dtypes
        import pandas as pd

        kind = column_type(self._batch.fields[index].arrow_type).kind
        if kind is Kind.UUID:
            return objects(self._batch, index)
        if kind is Kind.INTERVAL:
            import pyarrow as pa

            return pd.arrays.ArrowExtensionArray(pa.array(intervals(self._batch, index)))
        if self._has_uuids(index):
            return objects(self._batch, index)
        return pd.arrays.ArrowExtensionArray(_storage(self.table.column(index)))

    def column(self, index: int, dtypes: Dtypes) -> Any:
        """The column in NumPy's types, or in pandas' own where NumPy's have no NULL."""
        import pandas as pd

        batch = self._batch
        if batch.column(index).has_codec:
            return objects(batch, index)
        kind, _, zone, unit, _ = column_type(batch.fields[index].arrow_type)
        if kind in {Kind.BOOL, Kind.INT, Kind.FLOAT}:
            return self._number(index, kind, dtypes)
        if kind is Kind.TIMESTAMP and zone is not None:
            instants = stored_values(batch, index).view("i8")
            # Only from integers is this dtype made without a copy.
            return pd.array(instants, dtype=f"datetime64[{unit}, {zone}]", copy=False)
        if kind is Kind.TIME:
            return times(batch, index)
        if kind in {Kind.TIMESTAMP, Kind.DURATION}:
            return stored_values(batch, index)
        if kind is Kind.DICTIONARY:
            return self._categorical(index)
        if kind is Kind.DATE:
            return dates(batch, index, "s")
        if kind is Kind.TEXT or (kind is Kind.CELLS and self._is_text(index)):
            return self._text(index, dtypes)
        if kind is Kind.INTERVAL:
            return intervals(batch, index)
        if kind in _ARROW_KINDS and self.has_pyarrow and not self._has_uuids(index):
            return pd.arrays.ArrowExtensionArray(self.table.column(index))
        return objects(batch, index)

    def _has_uuids(self, index: int) -> bool:
        """Whether there are UUIDs within the column, for which pandas has no type."""
        return "extension<arrow.uuid>" in str(self.table.column(index).type)

    def _number(self, index: int, kind: Kind, dtypes: Dtypes) -> Any:
        import numpy as np
        import pandas as pd

        values = stored_values(self._batch, index)
        mask = null_mask(self._batch, index)
        if dtypes == "numpy" and (mask is None or kind is Kind.FLOAT):
            return values
        if mask is None:
            mask = np.zeros(len(values), dtype=np.bool_)
        masked = {
            Kind.BOOL: pd.arrays.BooleanArray,
            Kind.INT: pd.arrays.IntegerArray,
            Kind.FLOAT: pd.arrays.FloatingArray,
        }
        return masked[kind](values, mask)

    def _is_text(self, index: int) -> bool:
        return self._batch.fields[index].type_name != "bytea"

    def _categorical(self, index: int) -> Any:
        import numpy as np
        import pandas as pd

        column = self._batch.column(index)
        keys, texts = column.dictionary()
        codes: NDArray[np.int32] = np.frombuffer(memoryview(keys), dtype=np.int32)
        mask = null_mask(self._batch, index)
        if mask is not None:
            codes = np.where(mask, np.int32(-1), codes)
        return pd.Categorical.from_codes(codes, categories=pd.Index(texts.to_pylist(), dtype="str"))

    def _text(self, index: int, dtypes: Dtypes) -> Any:
        import numpy as np
        import pandas as pd

        missing = pd.NA if dtypes == "nullable" else np.nan
        if not self.has_pyarrow:
            dtype = pd.StringDtype("python", na_value=missing)
            return pd.array(texts(self._batch, index), dtype=dtype)
        dtype = pd.StringDtype("pyarrow", na_value=missing)
        return pd.array(_storage(self.table.column(index)), dtype=dtype)


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without its extension type, as which pandas takes it for opaque."""
    storage = getattr(column.type, "storage_type", None)
    return column if storage is None else column.cast(storage)

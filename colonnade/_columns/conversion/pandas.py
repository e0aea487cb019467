"""Columns as a pandas DataFrame: one block per column, over the column's memory if possible."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

from colonnade._columns.conversion.arrow import arrow_table
from colonnade._columns.conversion.kinds import Kind, column_type
from colonnade._columns.conversion.libraries import Decimals, Dtypes
from colonnade._columns.conversion.numpy import (
    dates,
    intervals,
    null_mask,
    objects,
    stored_values,
    texts,
    times,
)
from colonnade._columns.schema import WithFloats
from colonnade._core import Inexact
from colonnade._words.arguments import check_choice, check_names
from colonnade._words.extras import needed_by
from colonnade._words.shown import shown
from colonnade.errors import InexactDecimalWarning

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from colonnade._columns.schema import Schema
    from colonnade._core import Batch

# Columns of these kinds hold Python objects if pyarrow is not installed.
_ARROW_KINDS = {Kind.DECIMAL, Kind.LIST, Kind.FIXED_LIST, Kind.STRUCT, Kind.MAP}

_USER = "Columns.to_pandas()"
_DIGITS_SHOWN = 60


class PandasFrames:
    """Converts the batches of one result to frames.

    ``dtypes`` is the family of dtypes, ``index`` names the columns of the index. ``decimals``
    chooses the dtype of numeric columns that no schema decides. If it is None, they become float64,
    and the first frame with a value that float64 cannot hold exactly warns, once for all frames.
    ``stacklevel`` is the number of calls from the user's line to `frame`.
    """

    def __init__(
        self,
        dtypes: Dtypes,
        index: str | Sequence[str] | None,
        decimals: Decimals | None,
        stacklevel: int = 4,
    ) -> None:
        check_choice("dtypes", dtypes, ("numpy", "nullable", "arrow"))
        if decimals is not None:
            check_choice("decimals", decimals, ("float64", "decimal", "object"))
        self._dtypes: Dtypes = dtypes
        self._index = index
        self._decimals: Decimals = "float64" if decimals is None else decimals
        self._warns = decimals is None
        self._stacklevel = stacklevel
        self._inexact = Inexact()

    def asked(self, schema: Schema | None) -> Schema | WithFloats | None:
        """Return the schema to request for a result that becomes these frames.

        If numeric becomes float64, the core converts it, because NaN and infinities of numeric are
        floats but not Arrow decimals.
        """
        return WithFloats(schema, self._inexact) if self._decimals == "float64" else schema

    def frame(self, batch: Batch, asked: Collection[str]) -> pd.DataFrame:
        """Convert a batch to a frame; ``asked`` are the columns whose types a schema decided."""
        return self.indexed(self.columns(batch, asked))

    def indexed(self, frame: Any) -> Any:
        """Make columns of a frame its index, if that is asked for."""
        return frame if self._index is None else _indexed(frame, self._index)

    def columns(self, batch: Batch, asked: Collection[str]) -> pd.DataFrame:
        """Convert a batch to a frame whose index counts the rows."""
        with needed_by(_USER, "pandas"):
            import pandas as pd
        source = _Source(batch)
        made = source.arrow_column if self._dtypes == "arrow" else source.column
        # By position, because names may repeat; `copy=False` avoids a copy of each column.
        columns = {}
        for place, field in enumerate(batch.fields):
            if source.is_decimal(place) and field.name not in asked:
                columns[place] = source.decimals(place, self._dtypes, self._decimals)
            else:
                columns[place] = made(place, self._dtypes)
        frame = pd.DataFrame(columns, index=pd.RangeIndex(batch.num_rows), copy=False)
        frame.columns = pd.Index([field.name for field in batch.fields])
        inexact = self._inexact.values() or source.inexact
        if inexact and self._warns:
            self._warns = False
            names = [field.name for field in batch.fields]
            # One call further away than `frame`.
            warnings.warn(_warning(names, inexact), stacklevel=self._stacklevel + 1)
        return frame


def _warning(names: list[str], inexact: list[tuple[int, int, str]]) -> InexactDecimalWarning:
    cells = [f'"{names[place]}" (row {row}: {_cut(text)})' for place, row, text in sorted(inexact)]
    hint = (
        'Pass decimals="decimal" or decimals="object" for exact values; to accept floats, '
        'decimals="float64"'
    )
    # schema="float64" raises an error for a number beyond float64: do not suggest it for those.
    finite = [names[place] for place, _, text in sorted(inexact) if math.isfinite(float(text))]
    if finite:
        hint += f', or schema={{"{finite[0]}": "float64"}} for one column'
    return InexactDecimalWarning(
        f"float64 cannot hold every decimal of {', '.join(cells)}", hint=f"{hint}."
    )


def _cut(digits: str) -> str:
    return digits if len(digits) <= _DIGITS_SHOWN else f"{digits[:_DIGITS_SHOWN]}..."


def _indexed(frame: pd.DataFrame, index: str | Sequence[str]) -> pd.DataFrame:
    check_names("index", index)
    wanted: list[Any] = [index] if isinstance(index, str) else list(index)
    for name in wanted:
        if (count := list(frame.columns).count(name)) != 1:
            known = ", ".join(f'"{known}"' for known in frame.columns) or "none"
            many = "no column" if not count else "more than one column"
            label = f'"{name}"' if isinstance(name, str) else shown(name)
            raise KeyError(f"{many} {label} for the index: there are {known}")
    if not wanted:
        raise ValueError("index names no column: leave it out")
    return frame.set_index(wanted)


class _Source:
    """A batch, with the conversions that several of its columns share."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        # For each column with a decimal that float64 cannot hold: the column's index, the first
        # such row, and the decimal.
        self.inexact: list[tuple[int, int, str]] = []

    @cached_property
    def table(self) -> pa.Table:
        # The layout of pandas' own strings.
        return arrow_table(self._batch, "large", f'{_USER} with dtypes="arrow"')

    def is_decimal(self, index: int) -> bool:
        """Whether the column has decimals, and no codec decodes it."""
        kind = column_type(self._batch.fields[index].arrow_type).kind
        return kind is Kind.DECIMAL and not self._batch.column(index).has_codec

    def decimals(self, index: int, dtypes: Dtypes, decimals: Decimals) -> Any:
        """Convert a column of decimals to floats, Arrow decimals or Python's Decimal."""
        if decimals == "object":
            return objects(self._batch, index)
        if decimals == "float64":
            return self._floats(index, dtypes)
        import pandas as pd

        table = arrow_table(self._batch, "large", f'{_USER} with decimals="decimal"')
        return pd.arrays.ArrowExtensionArray(table.column(index))

    def _floats(self, index: int, dtypes: Dtypes) -> Any:
        import numpy as np
        import pandas as pd

        column = self._batch.column(index)
        buffer, row = column.decimal_floats()
        if row is not None:
            (value,) = column.slice(row, 1).to_pylist()
            self.inexact.append((index, row, str(value)))
        values = np.frombuffer(memoryview(buffer), dtype=np.float64)
        if dtypes == "numpy":
            return values
        mask = null_mask(self._batch, index)
        if dtypes == "arrow":
            import pyarrow as pa

            return pd.arrays.ArrowExtensionArray(pa.array(values, mask=mask))
        if mask is None:
            mask = np.zeros(len(values), dtype=np.bool_)
        return pd.arrays.FloatingArray(values, mask)

    @cached_property
    def has_pyarrow(self) -> bool:
        try:
            import pyarrow as pa
        except ImportError:
            return False
        return bool(pa)

    def arrow_column(self, index: int, dtypes: Dtypes) -> Any:
        """Convert the column to an ArrowDtype array."""
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
        """Convert the column to a NumPy dtype, or to a pandas dtype if NumPy's has no NULL."""
        import pandas as pd

        batch = self._batch
        if batch.column(index).has_codec:
            return objects(batch, index)
        kind, _, zone, unit, _ = column_type(batch.fields[index].arrow_type)
        if kind in {Kind.BOOL, Kind.INT, Kind.FLOAT}:
            return self._number(index, kind, dtypes)
        if kind is Kind.TIMESTAMP and zone is not None:
            instants = stored_values(batch, index).view("i8")
            # pandas makes this dtype without a copy from integers only.
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
        """Whether the column contains UUIDs, for which pandas has no dtype."""
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
        # Dictionaries of others may have any values.
        dtype = "str" if column_type(texts.arrow_type).kind is Kind.TEXT else None
        categories = pd.Index(texts.to_pylist(), dtype=dtype)
        return pd.Categorical.from_codes(codes, categories=categories)

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
    """Return the column without its extension type, which pandas would treat as opaque."""
    storage = getattr(column.type, "storage_type", None)
    return column if storage is None else column.cast(storage)

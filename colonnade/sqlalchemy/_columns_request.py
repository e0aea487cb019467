"""The request that `fetch_columns` and `iter_columns` pass to the cursor of their statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Schema: TypeAlias = Mapping[str, object] | np.dtype[Any] | pa.Schema

#: The execution option that carries the request through SQLAlchemy.
OPTION = "colonnade_columns"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnsRequest:
    """A request for a result in columns; the fields are arguments of `Connection.fetch_columns`."""

    schema: Schema | None
    infinity: str
    timeout: float | None
    #: The rows of each batch; None asks for the whole result at once.
    batch_rows: int | None

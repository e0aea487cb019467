"""What `fetch_columns` and `iter_columns` tell the cursor that runs their statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Schema: TypeAlias = Mapping[str, object] | np.dtype[Any] | pa.Schema

#: The execution option by which the request travels through SQLAlchemy.
OPTION = "colonnade_columns"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnsRequest:
    """How a result is wanted in columns, with the words of `Connection.fetch_columns`."""

    schema: Schema | None
    infinity: str
    timeout: float | None
    #: None where the whole result is wanted at once.
    batch_rows: int | None

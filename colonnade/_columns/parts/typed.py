"""The types of masks and positions, for type checkers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Indices", "Mask"]


class _Array(Protocol):
    """An array or series that exports itself as one Arrow array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]:
        raise NotImplementedError


class _Stream(Protocol):
    """An array or series that exports itself as an Arrow stream, and `Columns`."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object:
        raise NotImplementedError


class _Series(Protocol):
    """A series of pandas."""

    def to_numpy(self) -> Any:
        raise NotImplementedError


Mask: TypeAlias = "NDArray[np.bool_] | Sequence[bool | None] | _Array | _Stream | _Series"
Indices: TypeAlias = (
    "NDArray[np.integer[Any]] | Sequence[SupportsIndex] | _Array | _Stream | _Series"
)

"""Fields of a dtype, the parts of columns that fill them, and the functions that read a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade.errors import DecodeError, DTypeError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from colonnade._core import Batch, Column


class Field(NamedTuple):
    """A field of the dtype and its column."""

    place: int
    name: str
    """The name of the column."""
    type_name: str
    dtype: np.dtype[Any]
    schema: str | None
    """The Arrow type to request for the column; None requests the default."""
    storage: np.dtype[Any]
    """The dtype in which the field is written."""
    surrogate: Any
    """The value of type `storage` that represents NULL."""
    word: str
    """The type's name in messages."""
    read: Read

    def too_long(self, size: int, row: int) -> DTypeError:
        """Return the error for a value of `size` bytes or characters that exceeds the field."""
        return DTypeError(
            f"dtype[{self.place}] = {self.dtype} does not match PostgreSQL {self.word} "
            f'of size {size}: column "{self.name}" ({self.type_name}), row {row}'
        )


class Part(NamedTuple):
    """One column of a batch, with the field that it fills."""

    field: Field
    batch: Batch
    column: Column
    nulls: NDArray[np.bool_] | None
    first_row: int
    """The number of the batch's first row in the whole result, counted from 0."""

    def refused(self, row: int, reason: str) -> DecodeError:
        """Return the error for the value in this row of the batch."""
        return DecodeError(self.field.name, self.field.type_name, self.first_row + row, reason)

    def first_of(self, marked: NDArray[np.bool_]) -> int | None:
        """Return the first row that is marked and not NULL; None if there is none."""
        if self.nulls is not None:
            marked = marked & ~self.nulls
        return int(marked.argmax()) if marked.any() else None


Read = Callable[[Part], Any]

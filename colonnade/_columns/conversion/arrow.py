"""The Arrow C stream of a batch, in the string layout that suits the consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from colonnade._words.extras import needed_by

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade._core import Batch

Strings = Literal["small", "view", "large"]


class StreamSource:
    """An object with `__arrow_c_stream__`, for libraries that do not request a string layout."""

    __slots__ = ("_batch", "_strings")

    def __init__(self, batch: Batch, strings: Strings) -> None:
        self._batch = batch
        self._strings = strings

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._batch.export_stream(self._strings, requested_schema)


def arrow_table(batch: Batch, strings: Strings, user: str = "Columns.to_arrow()") -> pa.Table:
    """Return the batch as a pyarrow table over the same memory."""
    with needed_by(user, "pyarrow"):
        import pyarrow as pa
    return pa.table(StreamSource(batch, strings))

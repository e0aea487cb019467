"""Tables, batches and readers of pyarrow, each batch checked against the sizes of its buffers.

pyarrow checks little of a file when it reads one, and Arrow's C interface does not carry the sizes
of buffers: a wrong offset would lead into other memory. pyarrow's own full check knows the sizes,
so each batch must pass it before it is encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._core import ArrowSource
from colonnade._driver.sources.piece import Part, Piece, targets
from colonnade.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from colonnade._driver.sources.piece import Column, Encoding


class PyarrowPiece(Piece):
    """A table, a batch, an array of structs, or a reader of batches."""

    def __init__(self, source: Any) -> None:
        import pyarrow as pa

        schema = (
            pa.schema(list(source.type)) if isinstance(source, pa.StructArray) else source.schema
        )
        empty = pa.RecordBatchReader.from_batches(schema, [])
        self._empty = ArrowSource.from_stream(empty.__arrow_c_stream__())
        self.names = tuple(name for name, _ in self._empty.schema)
        self._source = source

    def parts(
        self, columns: Sequence[Column | None], encoding: Encoding, first_row: int
    ) -> Iterator[Part]:
        """A part for each batch, after one without rows, which tells the columns' types."""
        del encoding, first_row
        wanted = targets(columns)
        yield self._empty, wanted
        for rows in _batches(self._source):
            yield UncheckedRows(rows), wanted

    def sql_type(self, index: int) -> str | tuple[int, int]:
        """A type that can hold every value of the Arrow type."""
        return self._empty.sql_type(index)


class UncheckedRows:
    """pyarrow rows that are not checked yet."""

    def __init__(self, rows: pa.RecordBatch | pa.StructArray) -> None:
        self._rows = rows

    @property
    def size_bytes(self) -> int:
        """The size of the buffers; to count the part that the rows use would read offsets."""
        return int(self._rows.get_total_buffer_size())

    def checked(self) -> ArrowSource:
        """The rows for the encoder. This takes as long as reading all of them."""
        import pyarrow as pa

        try:
            self._rows.validate(full=True)
        except pa.ArrowException as error:
            raise _faulty(error) from error
        return ArrowSource.from_batch(*self._rows.__arrow_c_array__())


def _batches(source: Any) -> Iterator[Any]:
    import pyarrow as pa

    if isinstance(source, pa.Table):
        yield from source.to_batches()
    elif isinstance(source, pa.RecordBatchReader):
        while (batch := _next_batch(source)) is not None:
            yield batch
    else:
        yield source


def _next_batch(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    import pyarrow as pa

    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
    except pa.ArrowException as error:
        raise _faulty(error) from error


def _faulty(error: Any) -> EncodeError:
    return EncodeError(f"the Arrow data is faulty: {error}")

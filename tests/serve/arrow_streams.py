"""Arrow streams by pyarrow, with the mark of a complete one, and the places where they can end."""

from __future__ import annotations

import io
import struct
from typing import NamedTuple

import pyarrow as pa

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.utf8())])
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


class Stream(NamedTuple):
    """A stream, and the positions at which its messages end."""

    data: bytes
    ends: list[int]


def batch(rows: int, first: int = 0) -> pa.RecordBatch:
    numbers = range(first, first + rows)
    return pa.record_batch(
        [pa.array(numbers, pa.int64()), pa.array([f"row {n}" for n in numbers])], schema=SCHEMA
    )


def complete(
    batches: int = 3, rows: int = 100, *, told_rows: int | None = None, told_batches: int = -1
) -> Stream:
    """A stream with its end mark, which can be made to tell wrong counts."""
    marks = {
        "colonnade.rows": str(batches * rows if told_rows is None else told_rows),
        "colonnade.batches": str(batches if told_batches < 0 else told_batches),
    }
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for number in range(batches):
            writer.write_batch(batch(rows, number * rows))
        writer.write_batch(batch(0), custom_metadata=marks)
    data = sink.getvalue()
    return Stream(data, message_ends(data))


def message_ends(data: bytes) -> list[int]:
    """Where each message ends, the end-of-stream marker included."""
    ends = []
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("<i", data, position + 4)
        if length == 0:
            ends.append(position + 8)
            break
        message = pa.ipc.read_message(data[position:])
        body = message.body.size if message.body is not None else 0
        position += 8 + length + body
        ends.append(position)
    return ends

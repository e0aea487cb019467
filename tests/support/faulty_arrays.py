"""Corrupt Arrow arrays: valid ones with altered memory, as from a corrupt file."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 3


class Fault(NamedTuple):
    """A valid array of three rows, one of its buffers, and the corrupt contents for it."""

    array: pa.Array
    memory: bytearray
    bad: bytes
    # The type of the array as a parameter.
    parameter: str


def packed(code: str, *values: int) -> bytes:
    """Little-endian numbers."""
    return struct.pack(f"<{len(values)}{code}", *values)


TEXT = b"abcdefghi"
VIEW = struct.Struct("<i4sii")
LONG = b"a text of twenty-two b"
GOOD_VIEWS = VIEW.pack(22, LONG[:4], 0, 0) * ROWS


def _text(kind: pa.DataType, code: str, offsets: tuple[int, ...], parameter: str) -> Fault:
    memory = bytearray(packed(code, 0, 3, 6, 9))
    array = pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(memory), pa.py_buffer(TEXT)])
    return Fault(array, memory, packed(code, *offsets), parameter)


def _no_utf8() -> Fault:
    memory = bytearray(TEXT)
    offsets = pa.py_buffer(packed("i", 0, 3, 6, 9))
    array = pa.Array.from_buffers(pa.string(), ROWS, [None, offsets, pa.py_buffer(memory)])
    return Fault(array, memory, b"abc\xffefghi", "text[]")


def _view(kind: pa.DataType, view: bytes, parameter: str) -> Fault:
    memory = bytearray(GOOD_VIEWS)
    array = pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(memory), pa.py_buffer(LONG)])
    return Fault(array, memory, GOOD_VIEWS[:16] + view + GOOD_VIEWS[32:], parameter)


NUMBERS = pa.array([101, 102, 103], pa.int32())


def _list(kind: pa.DataType, code: str, *offsets: int) -> Fault:
    memory = bytearray(packed(code, 0, 1, 2, 3))
    buffers = [None, pa.py_buffer(memory)]
    array = pa.Array.from_buffers(kind, ROWS, buffers, children=[NUMBERS])
    return Fault(array, memory, packed(code, *offsets), "int4[]")


def _list_view() -> Fault:
    memory = bytearray(packed("i", 0, 1, 2))
    buffers = [None, pa.py_buffer(memory), pa.py_buffer(packed("i", 1, 1, 1))]
    array = pa.Array.from_buffers(pa.list_view(pa.int32()), ROWS, buffers, children=[NUMBERS])
    return Fault(array, memory, packed("i", 0, 900_000_000, 2), "int4[]")


def _map() -> Fault:
    memory = bytearray(packed("i", 0, 1, 2, 3))
    entries = pa.StructArray.from_arrays(
        [pa.array(["k", "l", "m"]), NUMBERS],
        fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int32())],
    )
    kind = pa.map_(pa.string(), pa.int32())
    array = pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(memory)], children=[entries])
    return Fault(array, memory, packed("i", 0, 1, 2, 900_000_000), "jsonb[]")


def _dictionary(index: int) -> Fault:
    memory = bytearray(packed("i", 1, 0, 1))
    indices = pa.Array.from_buffers(pa.int32(), ROWS, [None, pa.py_buffer(memory)])
    array = pa.DictionaryArray.from_arrays(indices, pa.array(["red", "green"]))
    return Fault(array, memory, packed("i", 1, index, 0), "text[]")


def _union() -> Fault:
    memory = bytearray(packed("b", 0, 1, 0))
    kinds = pa.Array.from_buffers(pa.int8(), ROWS, [None, pa.py_buffer(memory)])
    array = pa.UnionArray.from_sparse(kinds, [NUMBERS, pa.array(["a", "b", "c"])])
    return Fault(array, memory, packed("b", 0, 99, 0), "text[]")


def _run_ends() -> Fault:
    memory = bytearray(packed("i", 1, 2, 3))
    ends = pa.Array.from_buffers(pa.int32(), ROWS, [None, pa.py_buffer(memory)])
    array = pa.RunEndEncodedArray.from_arrays(ends, pa.array(["x", "y", "z"]))
    return Fault(array, memory, packed("i", 1, -5, 2), "text[]")


def _null_count() -> Fault:
    memory = bytearray(b"\5" + bytes(7))
    buffers = [pa.py_buffer(memory), NUMBERS.buffers()[1]]
    array = pa.Array.from_buffers(pa.int32(), ROWS, buffers, null_count=1)
    return Fault(array, memory, bytes(8), "int4[]")


FAULTS: dict[str, Callable[[], Fault]] = {
    "last offset beyond": lambda: _text(pa.string(), "i", (0, 3, 6, 1300), "text[]"),
    "last offset far beyond": lambda: _text(pa.binary(), "i", (0, 3, 6, 10**9), "bytea[]"),
    "last offset of large text": lambda: _text(pa.large_string(), "q", (0, 3, 6, 10**12), "text[]"),
    "last offset below zero": lambda: _text(pa.string(), "i", (0, 3, 6, -1), "text[]"),
    "large last offset below zero": lambda: _text(pa.large_binary(), "q", (0, 3, 6, -9), "bytea[]"),
    "middle offset beyond": lambda: _text(pa.string(), "i", (0, 10**9, 6, 9), "text[]"),
    "offsets that go back": lambda: _text(pa.binary(), "i", (0, 6, 3, 9), "bytea[]"),
    "no UTF-8": _no_utf8,
    "long view of text": lambda: _view(
        pa.string_view(), VIEW.pack(10**9, LONG[:4], 0, 0), "text[]"
    ),
    "long view of bytes": lambda: _view(
        pa.binary_view(), VIEW.pack(10**9, LONG[:4], 0, 0), "bytea[]"
    ),
    "view from far": lambda: _view(pa.string_view(), VIEW.pack(22, LONG[:4], 0, 10**9), "text[]"),
    "view of no buffer": lambda: _view(
        pa.binary_view(), VIEW.pack(22, LONG[:4], 9_999, 0), "bytea[]"
    ),
    "last offset of a list": lambda: _list(pa.list_(pa.int32()), "i", 0, 1, 2, 900_000_000),
    "last offset of a large list": lambda: _list(pa.large_list(pa.int32()), "q", 0, 1, 2, 10**12),
    "middle offset of a list": lambda: _list(pa.list_(pa.int32()), "i", 0, 900_000_000, 2, 3),
    "view of a list": _list_view,
    "offset of a map": _map,
    "index into a dictionary": lambda: _dictionary(900_000_000),
    "index below a dictionary": lambda: _dictionary(-900),
    "type of a union": _union,
    "end of a run": _run_ends,
    "count of NULLs": _null_count,
}


def faulty_file(name: str, make: Any) -> bytes:
    """An Arrow file with this fault; `make` is pyarrow's `new_file` or `new_stream`."""
    fault = FAULTS[name]()
    sink = pa.BufferOutputStream()
    with make(sink, pa.schema({"x": fault.array.type})) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([fault.array], ["x"]))
    good: bytes = sink.getvalue().to_pybytes()
    place = good.rindex(bytes(fault.memory))
    return good[:place] + fault.bad + good[place + len(fault.bad) :]

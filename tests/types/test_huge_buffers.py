"""A buffer larger than the largest value is refused before it is copied."""

from __future__ import annotations

import mmap
import tempfile
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import colonnade
from colonnade.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection


def test_a_buffer_larger_than_memory(link: Connection) -> None:
    huge = np.broadcast_to(np.uint8(3), (2**40,))
    with pytest.raises(EncodeError, match="1099511627776 bytes"):
        link.fetchval("SELECT $1::bytea", huge)
    assert link.fetchval("SELECT 1") == 1


SIZE = 2**40


@pytest.fixture(scope="module")
def sparse() -> Iterator[mmap.mmap]:
    """A sparse file of a terabyte."""
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)
        with mmap.mmap(file.fileno(), SIZE, access=mmap.ACCESS_READ) as claimed:
            yield claimed


class Claiming:
    """A sequence of one number, which claims a different length."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        return iter([1])

    def __getitem__(self, index: int) -> int:
        return (1,)[index]


# A NumPy dtype or a constructor, and the parameter's type.
HUGE: dict[str, tuple[Callable[[mmap.mmap], Any], str, str]] = {
    "numbers": (lambda m: np.frombuffer(m, "i8"), "int8[]", "elements, and PostgreSQL takes"),
    "oids": (lambda m: np.frombuffer(m, "u4"), "oidvector", "elements, and PostgreSQL takes"),
    "long bytes": (lambda m: np.frombuffer(m, "S1073741824"), "text[]", "Unable to allocate"),
    "long texts": (lambda m: np.frombuffer(m, "U268435456"), "text[]", "Unable to allocate"),
    "one many times": (
        lambda _: np.broadcast_to(np.int64(1), (SIZE,)),
        "int8[]",
        "elements, and PostgreSQL takes",
    ),
    "a run": (
        lambda _: pa.RunEndEncodedArray.from_arrays(pa.array([SIZE], pa.int64()), pa.array([1])),
        "int8[]",
        "elements, and PostgreSQL takes",
    ),
    "bytes": (memoryview, "bytea", "1099511627776 bytes"),
    "a point": (lambda m: np.frombuffer(m, "f4"), "point", "got a sequence of 274877906944"),
    "a range": (lambda _: range(SIZE), "int8[]", "elements, and PostgreSQL takes"),
    "points": (lambda _: range(SIZE), "polygon", "bytes, and PostgreSQL takes"),
    "a claim": (lambda _: Claiming(SIZE), "int8[]", "elements, and PostgreSQL takes"),
    "a claim of ranges": (lambda _: Claiming(2**62), "int4multirange", "its number of elements"),
}


@pytest.mark.parametrize("what", HUGE)
def test_what_claims_to_be_huge_is_refused(what: str, sparse: mmap.mmap, link: Connection) -> None:
    make, kind, reason = HUGE[what]
    # All users of the memory, even frames of a traceback, must be gone before it is unmapped.
    try:
        link.fetchval(f"SELECT $1::{kind}", make(sparse))
    except EncodeError as error:
        traceback.clear_frames(error.__traceback__)
        told = str(error)
    else:
        raise AssertionError(what)
    assert reason in told
    assert link.fetchval("SELECT 1") == 1


def test_a_row_of_many_arguments(link: Connection) -> None:
    with pytest.raises(colonnade.InterfaceError):
        link.executemany("SELECT $1::int8", [range(SIZE)])
    assert link.fetchval("SELECT 1") == 1


def test_columns_that_claim_to_be_huge(sparse: mmap.mmap, link: Connection) -> None:
    link.execute("CREATE TEMPORARY TABLE huge (a int8[], b bytea)")
    for name, dtype in (("a", "i8"), ("b", "S1073741824"), ("b", "V1073741824")):
        array = np.frombuffer(sparse, dtype)
        source = {name: array.reshape(2, -1) if dtype == "i8" else array}
        try:
            link.copy_columns_to_table("huge", source)
        except MemoryError as error:
            traceback.clear_frames(error.__traceback__)
        else:
            raise AssertionError(dtype)
        del array, source
        assert link.fetchval("SELECT count(*) FROM huge") == 0

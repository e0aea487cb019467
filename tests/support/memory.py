"""Measures memory in use to the block, so that a leak of one object per turn shows."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Turns that first fill lists, caches and free lists.
FILLING_TURNS = 20
# The round with the least growth counts: caches and lists grow in some rounds, a leak in all.
_ROUNDS = 3


class _Mallinfo2(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _mallinfo() -> Callable[[], _Mallinfo2] | None:
    """Bytes allocated by the C library, for Rust too; None if it does not report them."""
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is None:
        return None
    function.restype = _Mallinfo2
    return function  # type: ignore[no-any-return]


_tell = _mallinfo()


@dataclass(frozen=True)
class Usage:
    """Memory in use, or its growth."""

    objects: int
    """Blocks of Python's allocator."""
    heap_bytes: int
    """Bytes of the C library's heap; 0 if it does not report them."""
    resident_bytes: int

    @classmethod
    def now(cls) -> Usage:
        """The memory in use after garbage collection."""
        gc.collect()
        heap = 0
        if _tell is not None:
            told = _tell()
            heap = told.uordblks + told.hblkhd
        return cls(sys.getallocatedblocks(), heap, _resident_bytes())

    def since(self, before: Usage) -> Usage:
        """The growth."""
        return Usage(
            self.objects - before.objects,
            self.heap_bytes - before.heap_bytes,
            self.resident_bytes - before.resident_bytes,
        )


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def least_growth(
    turn: Callable[[], object], turns: int, filling_turns: int = FILLING_TURNS
) -> Usage:
    """The least growth of memory in this many turns, after some turns that fill caches."""
    growths = []
    for _ in range(filling_turns):
        turn()
    for _ in range(_ROUNDS):
        before = Usage.now()
        for _ in range(turns):
            turn()
        growths.append(Usage.now().since(before))
    return Usage(
        min(growth.objects for growth in growths),
        min(growth.heap_bytes for growth in growths),
        min(growth.resident_bytes for growth in growths),
    )

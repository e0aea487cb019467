"""How much memory is in use, to the block: what a leak of one object in each turn shows in."""

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

# Turns that fill what is kept for later: lists, caches, free lists.
FILLING_TURNS = 20
# Rounds of which the one that grew least counts: caches fill and lists grow in some, a leak grows
# in all of them.
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
    """What the C library has lent to everybody, Rust among them; None where it does not tell."""
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is None:
        return None
    function.restype = _Mallinfo2
    return function  # type: ignore[no-any-return]


_tell = _mallinfo()


@dataclass(frozen=True)
class Usage:
    """What is in use, or by how much more."""

    objects: int
    """Blocks of Python's allocator."""
    heap_bytes: int
    """Bytes of the C library's heap; 0 where it does not tell."""
    resident_bytes: int

    @classmethod
    def now(cls) -> Usage:
        """What is in use when nothing is left to collect."""
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
    """By how much memory grows at least in so many turns, after some that fill what is kept."""
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

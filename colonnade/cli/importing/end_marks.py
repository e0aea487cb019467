r"""Lines of only `\.`: data of a file, and the end of all data for a server before 18."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = re.compile(rb"(?<=[\r\n])\\\.(?=[\r\n])")
#: An end of a chunk that may be the beginning of such a line.
_CUT = re.compile(rb"(?<=[\r\n])\\\.?\Z")
_CUT_BYTES = 3


def quoted_marks(chunks: Iterator[bytes], quote: str) -> Iterator[bytes]:
    r"""Put each line of only `\.` in quotes, in which it is a value like any other.

    Every server reads it so; unquoted, it would drop the rest of the file without an error.
    """
    mark, marks = quote.encode(), 0
    before, held = b"\n", b""
    for chunk in chunks:
        text = before + held + chunk
        cut = _CUT.search(text, max(0, len(text) - _CUT_BYTES))
        held = b"" if cut is None else cut[0]
        ready = text[: len(text) - len(held)]
        parts, place = [], 1
        for found in _MARK.finditer(ready):
            marks += ready.count(mark, place, found.start())
            # Between two quotes it is a line of a longer value.
            told = found[0] if marks % 2 else mark + found[0] + mark
            parts += [ready[place : found.start()], told]
            place = found.end()
        marks += ready.count(mark, place)
        yield b"".join([*parts, ready[place:]])
        before = ready[-1:]
    if held:
        yield held

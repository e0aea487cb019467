"""Names for the cases of a parametrized test."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def named(value: object) -> str:
    """The object's `repr` without a memory address: the same in every process."""
    return _ADDRESS.sub("", repr(value))

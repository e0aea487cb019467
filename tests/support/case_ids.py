"""Names for the cases of a parametrized test."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def named(value: object) -> str:
    """Its `repr` without an address in memory: a case is called the same in every process."""
    return _ADDRESS.sub("", repr(value))

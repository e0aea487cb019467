"""Warnings that point at the line of the caller, however deep in the package they are made."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# Without pathlib, which a program that connects need not load.
_PACKAGE = __file__.rsplit(os.sep, 2)[0] + os.sep


def warn_caller(warning: Warning) -> None:
    """Warn for the first frame outside the package."""
    level = 1
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - skip_file_prefixes is Python 3.12's
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level + 1)

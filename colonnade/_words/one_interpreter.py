"""Raises ImportError where the package cannot work: without its core, or in a second interpreter.

A folder of the source, without the compiled core, comes before an installed package if Python is
started beside it; the stubs of the core then are an empty package.
"""

from __future__ import annotations

from colonnade import _core

if not hasattr(_core, "check_interpreter"):
    folder = __file__.rpartition("colonnade")[0]
    msg = (
        f"{folder} has the source of Colonnade without its compiled core: leave this folder to"
        " import an installed package, or run make build in it and start its .venv/bin/python"
    )
    raise ImportError(msg)
_core.check_interpreter()

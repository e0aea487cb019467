"""The package works in one interpreter of a process: in any other one its import ends here."""

from __future__ import annotations

from colonnade import _core

_core.check_interpreter()

"""Raises ImportError in a second interpreter: the package works in one interpreter per process."""

from __future__ import annotations

from colonnade import _core

_core.check_interpreter()

"""What a session's exchange can bring, for both transports."""

from __future__ import annotations

from colonnade import _core

Event = _core.Batch | _core.CopyIn | _core.GssToken | _core.Completion | bytes

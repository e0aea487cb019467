"""How many small queries a second, and what each costs the client."""

#: The driver that is none: a bare protocol that sends ready bytes.
from __future__ import annotations

RAW = "benches.small.raw"

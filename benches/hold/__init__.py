"""How long a fetch holds the event loop, and how much it delays pings."""

from __future__ import annotations

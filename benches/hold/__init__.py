"""For how long a fetch holds the event loop, and what a ping beside it feels."""

from __future__ import annotations

"""The peers that fetch a result, and the floors; each module follows `benches.measure.peer`."""

from __future__ import annotations

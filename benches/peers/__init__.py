"""The peers that fetch a result, and the floors; each module is as `benches.measure.peer` says."""

from __future__ import annotations

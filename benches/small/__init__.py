"""The rate of small queries, and the client's cost of each."""

#: The name of the bare protocol, which sends ready bytes and is no driver.
from __future__ import annotations

RAW = "benches.small.raw"

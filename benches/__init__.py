"""The benchmark suite: `python -m benches --help`."""

from __future__ import annotations

"""Runs all benchmarks, and writes docs/reference/performance.md from their results."""

from __future__ import annotations

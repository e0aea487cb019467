"""Runs all benchmarks, and writes docs/performance.md from their results."""

from __future__ import annotations

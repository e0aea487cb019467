"""Benchmarks of rows."""

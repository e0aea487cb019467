"""Measuring one way to fetch a result, each time in a fresh process.

Shared by the suite and the other benchmarks:

- `peer`: the form of a module for one driver and one way of fetching,
- `child`: the program that runs one peer once and prints its cost as a line of JSON,
- `runner`: starts the children, round by round, and ends them when interrupted,
- `summary`, `table`, `figure`: the results as numbers, for a terminal and for a page.

The child imports only the standard library and the peer's own driver, because every module loaded
before the fetch is part of the measured process.
"""

from __future__ import annotations

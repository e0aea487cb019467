"""Measuring one way to fetch a result, each time in a process of its own.

The suite and the benchmarks beside it share this:

- `peer`: what the module of a driver, or of one way of fetching, has to hold,
- `child`: the program that runs one peer once and tells its cost as a line of JSON,
- `runner`: starts the children, round by round, and stops them when it is stopped,
- `summary`, `table`, `figure`: what the runs say, in numbers, for a terminal and for a page.

The child imports nothing beyond the standard library and the peer's own driver: all that is loaded
before the fetch is part of the process in which the peer is measured.
"""

from __future__ import annotations

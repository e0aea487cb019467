"""Measuring one way to fetch a result, each time in a process of its own.

The command line's demo and the benchmark suite share what is here:

- `peers`: one file for each driver and way of fetching,
- `child`: the program that runs one peer once and tells its cost as a line of JSON,
- `runner`: starts the children, round by round, and stops them when it is stopped,
- `summary`, `table`, `figure`: what the runs say, in numbers, for a terminal and for a page.

Nothing in the child's imports is heavier than the standard library and the package itself: what a
child has loaded before it fetches is part of the process that a peer is measured in.
"""

from __future__ import annotations

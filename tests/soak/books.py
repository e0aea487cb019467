"""The expectations and observations of a soak: tokens, rows that must exist, counts."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Collection

TABLES = """
CREATE TABLE soak_rows (token bigint NOT NULL, part int NOT NULL, note text);
CREATE INDEX ON soak_rows (token);
"""


class WrongResultError(AssertionError):
    """An operation has got a result that is not its own."""


def expect(found: object, expected: object, what: str) -> None:
    """Raise unless the result is the expected one."""
    if found != expected:
        msg = f"{what}: expected {expected!r}, got {found!r}"
        raise WrongResultError(msg)


class Books:
    """Tokens, each given once, and the permitted numbers of rows of each at the end."""

    def __init__(self) -> None:
        self._tokens = itertools.count(1_000_000)
        self._rows: dict[int, Collection[int]] = {}

    def token(self) -> int:
        """Return a number that no other operation has."""
        return next(self._tokens)

    def may_write(self, token: int, rows: int) -> None:
        """From now on, either all of these rows exist or none."""
        self._rows[token] = (0, rows)

    def has_written(self, token: int, rows: int) -> None:
        """The server has confirmed the rows: all must exist."""
        self._rows[token] = (rows,)

    def audit(self, dsn: str) -> int:
        """Compare with the table, and empty both; return the number of tokens compared."""
        expected, self._rows = self._rows, {}
        with psycopg.connect(dsn) as connection:
            # Queries that a client has given up may still be running.
            connection.execute("LOCK TABLE soak_rows IN ACCESS EXCLUSIVE MODE")
            query = "SELECT token, count(*) FROM soak_rows GROUP BY token"
            found: dict[int, int] = dict(connection.execute(query).fetchall())
            connection.execute("TRUNCATE soak_rows")
        for token, allowed in expected.items():
            count = found.pop(token, 0)
            if count not in allowed:
                msg = f"{count} rows of token {token} are there, not {sorted(allowed)}"
                raise WrongResultError(msg)
        if found:
            msg = f"rows that no operation has written: {found}"
            raise WrongResultError(msg)
        return len(expected)


class Tally:
    """Counts of events by name."""

    def __init__(self) -> None:
        self.operations: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """The number of finished operations."""
        return sum(self.outcomes.values())

    def lines(self) -> list[str]:
        """The counts as lines of text."""
        lines = []
        for name, counts in (
            ("operations", self.operations),
            ("outcomes", self.outcomes),
            ("faults", self.faults),
            ("checks", self.checks),
        ):
            listed = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
            lines.append(f"  {name} {sum(counts.values())}: {listed or 'none'}")
        return lines

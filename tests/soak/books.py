"""What a soak expects and what it has seen: tokens, rows that must be there, counts."""

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
    """An operation has got what it did not ask for."""


def expect(found: object, expected: object, what: str) -> None:
    """Refuse any other result than the expected one."""
    if found != expected:
        msg = f"{what}: expected {expected!r}, got {found!r}"
        raise WrongResultError(msg)


class Books:
    """Tokens, each given once, and how many rows of each the table may hold in the end."""

    def __init__(self) -> None:
        self._tokens = itertools.count(1_000_000)
        self._rows: dict[int, Collection[int]] = {}

    def token(self) -> int:
        """A number that no other operation has."""
        return next(self._tokens)

    def may_write(self, token: int, rows: int) -> None:
        """From here on there are all of these rows or none, whatever happens."""
        self._rows[token] = (0, rows)

    def has_written(self, token: int, rows: int) -> None:
        """The server has confirmed them."""
        self._rows[token] = (rows,)

    def audit(self, dsn: str) -> int:
        """Compare with the table, and empty both; returns how many tokens were compared."""
        expected, self._rows = self._rows, {}
        with psycopg.connect(dsn) as connection:
            # What a client has given up may still be on its way to its end.
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
            msg = f"rows that nobody has written: {found}"
            raise WrongResultError(msg)
        return len(expected)


class Tally:
    """How many of each there were."""

    def __init__(self) -> None:
        self.operations: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Operations that have ended."""
        return sum(self.outcomes.values())

    def lines(self) -> list[str]:
        """For people."""
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

"""Tables and types that change between the uses of a statement, by each door and each peer.

A connection that used a statement before a change gives what a new connection gives, or an error
that says that the statement is described anew. So a door runs a course twice, in schemas of the
same content: on one connection, and on a new one for each block. A block is a transaction.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from colonnade.errors import InvalidCachedStatementError
from tests.differential.doors import DOORS, PEERS
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.differential.doors import Link

#: The value for a column of each type.
VALUES: dict[str, Any] = {
    "int4": 7,
    "int8": 2**40,
    "text": "007",
    "float8": 0.1,
    "numeric": Decimal("0.12345678901234567890"),
    "date": dt.date(2024, 2, 3),
    "timestamp": dt.datetime(2024, 2, 3, 4, 5),
    "timestamptz": dt.datetime(2024, 2, 3, 4, 5, tzinfo=dt.UTC),
    "int4[]": [1, None],
}
#: Where the server can cast the known type to the new one, and the value fits both, a change by
#: another connection stays unseen (docs/data/queries.md). Of these, no value fits two.
BY_OTHERS = ("int8", "text", "date", "int4[]")
TENANT = "_tenant"
BLOCKS = 8
MADE = (
    "DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}; CREATE TABLE {0}.t (x {1});"
    "CREATE TYPE {0}.e AS ENUM ('{2}'); CREATE TYPE {0}.p AS (a int, b int);"
    "CREATE TABLE {0}.rows_of_p (v {0}.p)"
)


@dataclass(frozen=True)
class Block:
    """A transaction, and another connection's changes before it."""

    elsewhere: str
    steps: tuple[tuple[str, Any], ...]
    """Statements, each with its value, or None."""
    end: str


class Course:
    """Blocks drawn at random. The table's type is that of the draw's present state."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.first = self._draw.choice(list(VALUES))
        self.of_tenant = self._draw.choice(list(VALUES))
        self._type, self._column, self._label, self._fields = self.first, "x", "sad", "ab"

    def setup(self, schema: str) -> str:
        """The script that makes a schema, and that of its other tenant."""
        tenant = MADE.format(schema + TENANT, self.of_tenant, "glad")
        return MADE.format(schema, self.first, "sad") + ";" + tenant

    def blocks(self, count: int) -> list[Block]:
        return [self._block() for _ in range(count)]

    def _block(self) -> Block:
        draw = self._draw
        outside = ""
        if draw.random() < 0.4 and self._type in BY_OTHERS:
            outside = "; ".join(self._change(BY_OTHERS))
        kept = self._type, self._column, self._label, self._fields
        steps = self._uses()
        kind = draw.choice(["none", "change", "change", "type", "temporary", "tenant"])
        if kind == "change":
            steps += [(sql, None) for sql in self._change(tuple(VALUES))]
        elif kind == "type":
            steps += [(sql, None) for sql in self._change_of_types()]
        elif kind == "temporary":
            self._type = draw.choice(list(VALUES))
            steps += [(f"CREATE TEMP TABLE t (x {self._type}) ON COMMIT DROP", None)]
        elif kind == "tenant":
            steps = [("SET LOCAL search_path = {schema}" + TENANT, None)]
            self._type, self._label, self._fields = self.of_tenant, "glad", "ab"
            self._column = "x"
        steps += self._uses()
        end = draw.choice(["COMMIT", "COMMIT", "ROLLBACK"])
        if end == "ROLLBACK" or kind in {"temporary", "tenant"}:
            self._type, self._column, self._label, self._fields = kept
        return Block(outside, tuple(steps), end)

    def _uses(self) -> list[tuple[str, Any]]:
        """Each statement of the course, with a value that fits now."""
        whole = dict(zip(self._fields, (1, 2), strict=True))
        return [
            ("INSERT INTO t VALUES ($1)", VALUES[self._type]),
            ("SELECT * FROM t", None),
            ("SELECT CAST($1 AS e) AS e", self._label),
            ("SELECT ARRAY[CAST($1 AS e)] AS e", self._label),
            ("INSERT INTO rows_of_p VALUES ($1)", whole),
            ("SELECT v FROM rows_of_p", None),
            (f"SELECT (v).{self._fields[0]} AS f FROM rows_of_p", None),
        ]

    def _change(self, types: tuple[str, ...]) -> list[str]:
        """Statements after which the table is another."""
        kind = self._draw.choice(["alter", "drop", "rename", "name", "wider"])
        if kind == "name":
            column, self._column = self._column, "y" if self._column == "x" else "x"
            return [f"ALTER TABLE t RENAME {column} TO {self._column}"]
        if kind == "wider":
            return ["ALTER TABLE t ADD COLUMN IF NOT EXISTS z int DEFAULT 1"]
        self._type = self._draw.choice(types)
        if kind == "alter":
            return [f"ALTER TABLE t ALTER {self._column} TYPE {self._type} USING NULL"]
        self._column = "x"
        aside = ["DROP TABLE IF EXISTS u", "ALTER TABLE t RENAME TO u"]
        return [
            *(aside if kind == "rename" else ["DROP TABLE t"]),
            f"CREATE TABLE t (x {self._type})",
        ]

    def _change_of_types(self) -> list[str]:
        change = self._draw.choice(["label", "enum", "fields"])
        label, self._label = self._label, "ok" if self._label == "sad" else "sad"
        if change == "label":
            return [f"ALTER TYPE e RENAME VALUE '{label}' TO '{self._label}'"]
        if change == "enum":
            return ["DROP TYPE e", f"CREATE TYPE e AS ENUM ('{self._label}')"]
        self._label = label
        one, other = self._fields[0], self._fields[1]
        self._fields = other + one
        return [
            f"ALTER TYPE p RENAME ATTRIBUTE {one} TO c CASCADE",
            f"ALTER TYPE p RENAME ATTRIBUTE {other} TO {one} CASCADE",
            f"ALTER TYPE p RENAME ATTRIBUTE c TO {other} CASCADE",
        ]


def outcomes(link: Link, schema: str, block: Block) -> Iterator[tuple[str, Any]]:
    """The result of each step, up to the first error, which ends the block."""
    for sql, value in block.steps:
        text = sql.format(schema=schema)
        try:
            yield sql, link.run(text, *(() if value is None else (value,)))
        except Exception as error:  # noqa: BLE001
            link.end("ROLLBACK")
            yield sql, error
            return
    link.end(block.end)


def is_outdated(outcome: object) -> bool:
    """Whether it is an error that says that its statement is described anew."""
    cause = outcome if isinstance(outcome, BaseException) else None
    while cause is not None:
        if getattr(cause, "is_outdated", False):
            return True
        cause = cause.__cause__
    return "described anew" in str(outcome)


def is_told(name: str, outcome: object) -> bool:
    """Whether it is an error after which the door does right."""
    has_other_columns = isinstance(outcome, InvalidCachedStatementError)
    return is_outdated(outcome) or (name == "prepared" and has_other_columns)


@dataclass
class Seen:
    """How a course went otherwise on a used connection."""

    told: int = 0
    """The errors that said so, after which a statement was right the next time."""
    wrong: str = ""
    """The first block that went wrong, with which the course ends."""


def told_apart(name: str, dsn: str, seed: int, count: int = BLOCKS) -> Seen:
    """Run a course by a door or a peer, on a used connection and on new ones."""
    door = {**DOORS, **PEERS}[name]
    # A new connection of asyncpg goes wrong within a block, and a statement that its caller has
    # prepared ends there.
    judge = DOORS["core"] if name in {"asyncpg", "prepared"} else door
    course = Course(seed)
    blocks = course.blocks(count)
    used, fresh = "changing_used", "changing_fresh"
    for schema in (used, fresh):
        elsewhere(dsn, course.setup(schema))
    seen = Seen()
    with contextlib.ExitStack() as doors:
        link = door(doors, dsn, used)
        for block in blocks:
            for schema in (used, fresh):
                elsewhere(dsn, f"SET search_path = {schema}; {block.elsewhere}")
            with contextlib.ExitStack() as ends:
                right = list(outcomes(judge(ends, dsn, fresh), fresh, block))
            assert not isinstance(right[-1][1], BaseException), (block, right[-1])
            found = list(outcomes(link, used, block))
            # Each statement of the block may be outdated.
            while shown(found) != shown(right) and is_told(name, found[-1][1]):
                seen.told += 1
                found = list(outcomes(link, used, block))
            if shown(found) != shown(right):
                seen.wrong = f"seed {seed}, {block}: {shown(found)}, not {shown(right)}"
                break
    for schema in (used, fresh):
        elsewhere(dsn, f"DROP SCHEMA {schema}, {schema}{TENANT} CASCADE")
    return seen


def shown(found: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Outcomes, to be compared: of an error, its SQLSTATE or its class."""
    return [
        (sql, f"{getattr(got, 'sqlstate', None) or type(got).__name__}")
        if isinstance(got, BaseException)
        else (sql, repr(got))
        for sql, got in found
    ]


def run(dsn: str, seed: int, courses: int, say: Callable[[str], None]) -> bool:
    """Run courses by each door and each peer; whether all of our doors were right."""
    is_right = True
    for name in (*DOORS, *PEERS):
        seen = [told_apart(name, dsn, seed + number) for number in range(courses)]
        wrong = [each.wrong for each in seen if each.wrong]
        say(
            f"{courses} courses by {name}: {len(wrong)} wrong,"
            f" {sum(each.told for each in seen)} statements described anew after an error"
        )
        if name in DOORS and wrong:
            is_right = False
            say("\n".join(wrong))
    return is_right

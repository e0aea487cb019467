"""The query that a command is given: its text, its parameters, what the server says of it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import colonnade.sync
from colonnade.cli.failures import CommandError, failures_told, of_server
from colonnade.types import TextValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Attribute

_STDIN = "-"
#: Statements that COPY takes, by their first word.
_SELECTING = {"select", "table", "values", "with"}
_BEGINNING = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*([a-z]+)", re.IGNORECASE | re.DOTALL)
_IDENTIFIER = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_TABLE = re.compile(rf"\s*{_IDENTIFIER}(?:\.{_IDENTIFIER}){{0,2}}\s*")
#: Of a batch of rows in memory. The planner knows the width of a table's columns, and guesses that
#: of what is computed: where a value may have any length, a batch has few rows in any case.
_BATCH_BYTES = 16 << 20
_BATCH_ROWS = 65_536
_BATCH_ROWS_ANY_LENGTH = 4_096
_BATCH_ROWS_MIN = 64
_FIXED_WIDTH = {
    *("bool", "int2", "int4", "int8", "float4", "float8", "oid", "uuid"),
    *("date", "time", "timetz", "timestamp", "timestamptz", "interval"),
}


@dataclass(frozen=True)
class Query:
    """A text with `$1`, `$2`, ... and the values for them."""

    sql: str
    args: tuple[Any, ...] = ()

    @property
    def is_selection(self) -> bool:
        """Whether it can stand within `COPY (...) TO STDOUT`."""
        found = _BEGINNING.match(self.sql)
        return found is not None and found[1].lower() in _SELECTING and ";" not in self.sql


def given_query(words: Sequence[str], file: str | None, named: Sequence[tuple[str, str]]) -> Query:
    """The query of the command's arguments: a text, or the name of a file, and values.

    Values are texts that the server reads as it reads a literal, whatever the parameter's type.
    """
    if file is None:
        if not words:
            raise click.UsageError("there is no query: give its text, - for stdin, or -f FILE")
        sql, *values = words
        if sql == _STDIN:
            sql = sys.stdin.read()
    else:
        sql, values = _read(file), list(words)
    sql = sql.rstrip().rstrip(";").rstrip()
    if not sql:
        raise click.UsageError("the query is empty")
    if not named:
        return Query(sql, tuple(map(TextValue, values)))
    if values:
        raise click.UsageError("parameters have names (-p) or places, not both")
    with failures_told():
        made = colonnade.Named(sql)
        return Query(made.sql, made.args({name: TextValue(value) for name, value in named}))


def as_query(text: str) -> str:
    """The text of a query, or the one that reads the table of this name."""
    return f"SELECT * FROM {text.strip()}" if _TABLE.fullmatch(text) else text


def _misread(sql: str, error: colonnade.PostgresSyntaxError) -> CommandError:
    """The server's complaint about a text, with what was probably meant."""
    told = of_server(error, sql)
    if sql.lstrip().startswith("\\"):
        told.hint = (
            "this is a command of psql; SELECT * FROM information_schema.tables lists tables"
        )
    elif _TABLE.fullmatch(sql):
        told.hint = f'a table is read by a query: "SELECT * FROM {sql.strip()}"'
    elif error.position is None and ";" in sql:
        return CommandError(
            "the text has several statements, and a query is one", "run them one after the other"
        )
    return told


def _read(file: str) -> str:
    if file == _STDIN:
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read {file}: {error}") from error


class Prepared:
    """A query that the server has parsed, and its estimate of the result."""

    def __init__(self, connection: colonnade.sync.Connection, query: Query) -> None:
        self.connection = connection
        self.query = query
        # The unnamed statement: its text travels along, and a pooler may lend any server.
        try:
            self.statement = connection.prepare(query.sql, name="")
        except colonnade.PostgresSyntaxError as error:
            raise _misread(query.sql, error) from error
        self.attributes: tuple[Attribute, ...] = self.statement.get_attributes()
        self._check_arguments()
        self.rows: int | None = None
        """How many rows the planner expects; None where it does not say."""
        self.row_bytes: int | None = None

    def ask_planner(self) -> None:
        """Learn what the planner expects of a query that it plans."""
        if not self.query.is_selection:
            return
        try:
            plan = self.statement.explain(*self.query.args)[0]["Plan"]
        except (colonnade.PostgresError, LookupError):
            # Only an estimate: the query itself will say what is wrong with it.
            return
        self.rows, self.row_bytes = int(plan["Plan Rows"]), int(plan["Plan Width"])

    @property
    def batch_rows(self) -> int:
        """How many rows to fetch at a time, so that memory is bounded by bytes."""
        is_fixed = all(attribute.type.name in _FIXED_WIDTH for attribute in self.attributes)
        rows = _BATCH_ROWS if is_fixed else _BATCH_ROWS_ANY_LENGTH
        fitting = _BATCH_BYTES // max(self.row_bytes or 1, 1)
        return max(_BATCH_ROWS_MIN, min(rows, fitting))

    @property
    def text_schema(self) -> dict[str, str]:
        """A schema that asks for the server's text of every column."""
        return {attribute.name: "utf8" for attribute in self.attributes}

    def _check_arguments(self) -> None:
        wanted, given = len(self.statement.get_parameters()), len(self.query.args)
        if wanted != given:
            raise CommandError(
                f"the query has {wanted} parameters, and {given} values were given",
                "write them behind the query, or as -p name=value for :name",
            )

"""The query of a command: its text, its parameters, and the server's description of it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import colonnade.sync
from colonnade._driver.sql.table_names import found_table, is_table, quoted
from colonnade._words.type_facts import WIDTHS
from colonnade.cli.failures import CommandError, failures_told, of_server
from colonnade.types import TextValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Attribute

_STDIN = "-"
#: First words of statements that COPY accepts.
_SELECTING = {"select", "table", "values", "with"}
_BEGINNING = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*([a-z]+)", re.IGNORECASE | re.DOTALL)
#: The size of a batch in memory. The planner knows the average width of a table's columns, but
#: only guesses the width of expressions. So a result with a type of any length has small batches.
_BATCH_BYTES = 16 << 20
_BATCH_ROWS = 65_536
_BATCH_ROWS_ANY_LENGTH = 4_096
_BATCH_ROWS_MIN = 64


@dataclass(frozen=True)
class Query:
    """A query text with `$1`, `$2`, ... and its parameter values."""

    sql: str
    args: tuple[Any, ...] = ()

    @property
    def is_selection(self) -> bool:
        """Whether the text can stand within `COPY (...) TO STDOUT`."""
        found = _BEGINNING.match(self.sql)
        return found is not None and found[1].lower() in _SELECTING and ";" not in self.sql


def given_query(words: Sequence[str], file: str | None, named: Sequence[tuple[str, str]]) -> Query:
    """Build the query from the command's arguments: a text or a file, and values.

    The server converts each value from text to the parameter's type, as it does a literal.
    Raises click.UsageError if there is no query, or if parameters are both named and positional.
    """
    if file is None:
        if not words:
            raise click.UsageError("no query was given: pass its text, - for stdin, or -f FILE")
        sql, *values = words
        if sql == _STDIN:
            sql = _read(_STDIN)
    else:
        sql, values = _read(file), list(words)
    sql = sql.rstrip().rstrip(";").rstrip()
    if not sql:
        raise click.UsageError("the query is empty")
    if not named:
        return Query(sql, tuple(map(TextValue, values)))
    if values:
        raise click.UsageError("use either named parameters (-p) or positional ones, not both")
    with failures_told():
        made = colonnade.Named(sql)
        return Query(made.sql, made.args({name: TextValue(value) for name, value in named}))


def as_query(connection: colonnade.sync.Connection, asked: Query) -> Query:
    """Turn the name of a table into a query; return any other query unchanged."""
    if not is_table(asked.sql):
        return asked
    return replace(asked, sql=f"SELECT * FROM {found_table(connection, asked.sql)}")


def _misread(sql: str, error: colonnade.PostgresSyntaxError) -> CommandError:
    """Add a hint about the probable mistake to the server's syntax error."""
    told = of_server(error, sql)
    if sql.lstrip().startswith("\\"):
        told.hint = "this is a psql command; SELECT * FROM information_schema.tables lists tables"
    elif is_table(sql):
        told.hint = f"read a table with a query: 'SELECT * FROM {quoted(sql)}'"
    elif error.position is None and ";" in sql:
        return CommandError(
            "the text has several statements, but a query is only one", "run them one by one"
        )
    return told


def _read(file: str) -> str:
    try:
        if file == _STDIN:
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        name = "standard input" if file == _STDIN else file
        raise CommandError(f"cannot read {name}: {error}") from error


class Prepared:
    """A query that the server has parsed, and the planner's estimate of the result.

    Raises CommandError for a syntax error or a wrong number of values.
    """

    def __init__(self, connection: colonnade.sync.Connection, query: Query) -> None:
        self.connection = connection
        self.query = query
        # The unnamed statement works behind a pooler that changes servers between transactions.
        try:
            self.statement = connection.prepare(query.sql, name="")
        except colonnade.PostgresSyntaxError as error:
            raise _misread(query.sql, error) from error
        self.attributes: tuple[Attribute, ...] = self.statement.get_attributes()
        self._check_arguments()
        self.rows: int | None = None
        """The number of rows that the planner expects; None if unknown."""
        self.row_bytes: int | None = None

    def ask_planner(self) -> None:
        """Read the planner's estimate of rows and width; skip statements without a plan."""
        if not self.query.is_selection:
            return
        try:
            plan = self.statement.explain(*self.query.args)[0]["Plan"]
        except (colonnade.PostgresError, LookupError):
            # Only the estimate is lost: running the query reports the error.
            return
        self.rows, self.row_bytes = int(plan["Plan Rows"]), int(plan["Plan Width"])

    @property
    def batch_rows(self) -> int:
        """The number of rows per batch, chosen to bound the bytes in memory."""
        is_fixed = all(attribute.type.name in WIDTHS for attribute in self.attributes)
        rows = _BATCH_ROWS if is_fixed else _BATCH_ROWS_ANY_LENGTH
        fitting = _BATCH_BYTES // max(self.row_bytes or 1, 1)
        return max(_BATCH_ROWS_MIN, min(rows, fitting))

    @property
    def text_schema(self) -> dict[str, str]:
        """A schema that requests every column as text, which depends on no setting."""
        return {attribute.name: "utf8" for attribute in self.attributes}

    def _check_arguments(self) -> None:
        wanted, given = len(self.statement.get_parameters()), len(self.query.args)
        if wanted != given:
            hint = (
                "leave the surplus out: a parameter is $1, $2, ... in the query"
                if given > wanted
                else "put the values after the query, or pass -p name=value for :name"
            )
            raise CommandError(
                f"the query has {_count(wanted, 'parameter')}, and {_count(given, 'value')} came"
                " after it",
                hint,
            )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

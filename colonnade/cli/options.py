"""Options that several commands share, and their parameter types."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

from colonnade import InterfaceError, formats
from colonnade.cli.failures import CommandError, missing_library
from colonnade.cli.output import STDOUT, is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

F = TypeVar("F", bound="Callable[..., Any]")

#: The value of --format for the table on the terminal, which is not a file format.
TABLE = "table"

_NEGATIVE = re.compile(r"-[\d.]")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_SERVER = """\
--dsn, else COLONNADE_DSN, else libpq's variables (PGHOST, PGPORT, PGUSER, PGDATABASE, PGSERVICE,
PGPASSWORD, PGSSLMODE, ...), else the server of this machine. Other users can see a password in
--dsn in the list of processes: -W, PGPASSWORD and the password file keep it private.
"""
_JSON = "--format ndjson writes each row as a JSON object on a line of its own"
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class Command(click.Command):
    """A command whose help ends with examples, which are printed without reflowing.

    The word FORMATS in its help text is replaced by all file-name endings with their formats.
    """

    def __init__(self, *args: Any, examples: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = (self.help or "").replace("FORMATS", formats.described())
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; explain a negative number that was read as an option.

        Raises click.UsageError in that case.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name == "--json" and any(one.name == "form" for one in self.params):
                raise click.UsageError(f"there is no option --json: {_JSON}", ctx) from error
            if _NEGATIVE.match(error.option_name) is None:
                raise
            said = f"{error.option_name!r} is parsed as an option: put -- before negative values"
            raise click.UsageError(said, ctx) from error

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and the section on how the server is chosen."""
        del ctx
        for heading, text in (("Examples", self.examples), ("Server", _SERVER)):
            with formatter.section(heading):
                for line in text.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class _FormatName(click.Choice[str]):
    """A format by its name; JSON, which people look for, has another name here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        if value == "json":
            self.fail(f"there is no format json: {_JSON}", param, ctx)
        return super().convert(value, param, ctx)


class Pair(click.ParamType[tuple[str, str]]):
    """NAME=VALUE; the value may contain further equals signs."""

    name = "name=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split at the first equals sign."""
        if isinstance(value, tuple):
            return value
        name, sign, rest = str(value).partition("=")
        if not sign or not name:
            self.fail(f"{value!r} is not of the form {self.name.upper()}", param, ctx)
        return name, rest


class Size(click.ParamType[int]):
    """A number of bytes, such as 256MB, 1.5GiB or 100000."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value).strip())
        if found is None:
            message = f"{value!r} is not a size; sizes look like 256MB, 1.5GiB or 100000"
            self.fail(message, param, ctx)
        number, prefix, binary = found.groups()
        size = int(float(number) * (1024 if binary else 1000) ** _POWERS[prefix.lower()])
        if size < 1:
            self.fail("a size must be at least one byte", param, ctx)
        return size


class Character(click.ParamType[str]):
    r"""One character; \t stands for a tab."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character."""
        text = str(value).replace("\\t", "\t")
        if len(text) != 1 or text in '"\r\n\\' or not text.isascii():
            self.fail(f"{value!r} is not one character that can separate values", param, ctx)
        return text


def format_option(
    *others: str,
    help: str,  # noqa: A002 - click's own word
) -> Callable[[F], F]:
    """Add --format, which accepts `others` and every file format."""
    names = [*others, *(form.name for form in formats.FORMATS)]
    return click.option("--format", "form", type=_FormatName(names), help=help)


def chosen_format(word: str | None, path: Path) -> formats.Format:
    """Return the format that --format names, else the format of the file name's ending.

    The library that the format needs is imported here, so that an error comes before any query.
    Raises click.UsageError for an unknown format and CommandError for a missing library.
    """
    try:
        form = formats.by_file_name(path) if word is None else formats.by_name(word)
    except InterfaceError as error:
        raise click.UsageError(f"{error.args[0]}: pass --format, or {error.hint}") from error
    if form.library is not None:
        if importlib.util.find_spec(form.library) is None:
            raise missing_library(form.library, form.library, f"the format {form}")
        importlib.import_module(form.library)
    return form


def output_format(word: str | None, output: Path) -> formats.Format | None:
    """Return the format of rows that go to a file or to standard output; None means a table."""
    if word == TABLE or (word is None and is_terminal(output)):
        if output != STDOUT:
            names = ", ".join(form.name for form in formats.FORMATS)
            raise click.UsageError(f"a table cannot be written to a file: choose from {names}")
        return None
    if word is None and output == STDOUT:
        return formats.CSV
    chosen = chosen_format(word, output)
    if chosen.is_binary and is_terminal(output):
        raise click.UsageError(f"{chosen} is a binary format: use -o FILE or a pipe")
    return chosen


def format_settings(
    form: formats.Format, options: dict[str, Any], file_bytes: int | None = None
) -> formats.Settings:
    """Build the format's settings from the options of `result_options`."""
    try:
        csv = formats.CsvOptions(options["delimiter"], options["header"], options["null"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--null'") from error
    try:
        codec = form.codec(options["compression"])
    except InterfaceError as error:
        raise CommandError(error.args[0]) from error
    return formats.Settings(codec, csv, file_bytes)


def query_options(function: F) -> F:
    """Add the options for the query's file and its named parameters."""
    return _together(
        click.option(
            "-f", "--file", metavar="FILE", help="Read the query from a file; - is stdin."
        ),
        click.option(
            "-p",
            "--param",
            "named",
            type=Pair(),
            multiple=True,
            help="Value for :name in the query; may be repeated.",
        ),
    )(function)


def result_options(function: F) -> F:
    """Add the options that shape the result in each format."""
    return _together(
        click.option(
            "--schema",
            type=Pair(),
            multiple=True,
            metavar="COLUMN=TYPE",
            help="Arrow type of a column, such as price=float64; may be repeated.",
        ),
        click.option(
            "--infinity",
            type=click.Choice(["raise", "null", "saturate"]),
            default="raise",
            show_default=True,
            help="Infinite dates and numbers in Arrow and Parquet.",
        ),
        click.option(
            "--compression", metavar="NAME", help="zstd (Parquet's default), snappy, lz4, none, ..."
        ),
        click.option(
            "--delimiter",
            type=Character(),
            default=",",
            show_default=True,
            help="Delimiter in CSV.",
        ),
        click.option("--null", default="", help="Text of NULL in CSV; empty by default."),
        click.option("--header/--no-header", default=True, help="Write column names in CSV."),
    )(function)


def _together(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def decorated(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorated

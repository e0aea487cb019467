"""The command `colonnade docs`."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.markdown import Markdown

from colonnade.cli.docs import pages
from colonnade.cli.failures import CommandError


@click.command(short_help="Show the pages of the documentation.")
@click.argument("name", metavar="[PAGE]", required=False)
def docs(name: str | None) -> None:
    """Show a page of the documentation of this version, or list all pages.

    A page is formatted on a terminal, and Markdown in a pipe: `colonnade docs copy | less`.
    """
    try:
        text = pages.contents() if name is None else pages.page(name)
    except pages.PageError as error:
        raise CommandError(str(error)) from None
    if name is None or not sys.stdout.isatty():
        click.echo(text, nl=False)
    else:
        Console().print(Markdown(text))

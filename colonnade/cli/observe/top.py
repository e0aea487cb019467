"""`colonnade observe top`: what processes publish about themselves, live or once."""

from __future__ import annotations

import contextlib
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group
from rich.text import Text

from colonnade.cli.failures import CommandError
from colonnade.cli.interrupts import TerminatedError
from colonnade.cli.observe.screen import can_draw, show
from colonnade.cli.observe.view import (
    History,
    is_old,
    plain_lines,
    several_table,
    several_view,
    whole_view,
)
from colonnade.observe.status.folder import reports
from colonnade.observe.status.status import Status, StatusError, read_status
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

_HINT = "a process publishes with `with observe.publish(monitor):`, see `colonnade docs observe`"
_PID = re.compile("[0-9]{1,9}")
# Wide enough for every table in a pipe.
_PIPE_WIDTH = 160


class Reports:
    """The reports that the command line means: of one process, of a file, or of all."""

    def __init__(self, target: str | None) -> None:
        self._path: Path | None = None
        self._pid: int | None = None
        if target is not None and _PID.fullmatch(target):
            self._pid = int(target)
        elif target is not None:
            self._path = Path(target)

    def read(self) -> list[Status]:
        """Read them, by process id. Raises StatusError if there is none."""
        if self._path is not None:
            return [read_status(self._path)]
        places = reports()
        if self._pid is not None:
            place = places.get(self._pid)
            if place is None:
                raise StatusError(f"process {self._pid} publishes nothing, or has ended")
            return [read_status(place)]
        found: list[Status] = []
        for _, place in sorted(places.items()):
            # It may end in this moment; a damaged report is not shown among others.
            with contextlib.suppress(StatusError):
                found.append(read_status(place))
        if not found:
            raise StatusError("no process of this user publishes anything")
        return found


def run(target: str | None, *, once: bool) -> int:
    """Show the reports until `q` or Ctrl-C, or once; return the exit status.

    Raises CommandError if there is nothing to show.
    """
    wanted = Reports(target)
    try:
        statuses = wanted.read()
    except StatusError as error:
        raise CommandError(str(error), _HINT) from error
    console = Console(highlight=False)
    if once or not can_draw(console):
        return _print_once(statuses)
    screen = _Picture(wanted, console)
    try:
        show(console, screen.draw)
    except TerminatedError:
        raise
    except KeyboardInterrupt:
        # Ctrl-C is a usual way to leave.
        return 0
    return 0


def _print_once(statuses: list[Status]) -> int:
    """Print plain text; the exit status is 1 if it is of one process, which has stopped."""
    if len(statuses) == 1:
        for line in plain_lines(statuses[0]):
            click.echo(line)
    else:
        width = None if sys.stdout.isatty() else _PIPE_WIDTH
        Console(highlight=False, width=width).print(several_table(statuses))
    return 1 if len(statuses) == 1 and is_old(statuses[0]) else 0


class _Picture:
    """The content of the screen: the last reports, also when there are no new ones."""

    def __init__(self, wanted: Reports, console: Console) -> None:
        self._wanted = wanted
        self._console = console
        self._histories: defaultdict[int, History] = defaultdict(History)
        self._last: list[Status] = []

    def draw(self) -> RenderableType:
        """Read the reports again, and draw them."""
        said = ""
        try:
            self._last = self._wanted.read()
        except StatusError as error:
            said = str(error)
        for status in self._last:
            if status.loop is not None:
                self._histories[status.pid].add(status.loop)
        # Above the picture, where a small terminal has room.
        keys = Text("q quits", "dim")
        if said:
            keys = Text.assemble((visible(said), "bold red"), "; the last report is shown; q quits")
        return Group(keys, self._body())

    def _body(self) -> RenderableType:
        if len(self._last) != 1:
            return several_view(self._last)
        (status,) = self._last
        return whole_view(status, self._histories[status.pid], self._console.height)

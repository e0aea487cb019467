"""`colonnade jobs top`: the numbers of queues, live or once."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group
from rich.text import Text

from colonnade.cli.failures import CommandError
from colonnade.cli.interrupts import TerminatedError
from colonnade.cli.jobs.place import Place, jobs_failures_told, opened
from colonnade.cli.jobs.view import Histories, Line, table_of
from colonnade.cli.observe.screen import REFRESH_SECONDS, can_draw, show
from colonnade.errors import InsufficientPrivilegeError
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from rich.console import RenderableType

    from colonnade.cli.connecting import Target

# Counting takes at most this part of the time.
_COUNTING_PART = 0.2
# Wide enough for every table in a pipe.
_PIPE_WIDTH = 160


def run(target: Target, schema: str, names: Sequence[str], *, once: bool) -> None:
    """Show the queues until `q` or Ctrl-C, or once. Raises CommandError if there are none."""
    with opened(target, schema) as place:
        for name in names:
            place.queue(name)
        lines = lines_of(place, names)
        console = Console(highlight=False)
        if once or not can_draw(console):
            width = None if sys.stdout.isatty() else _PIPE_WIDTH
            _print_once(lines, Console(highlight=False, width=width), schema)
            return
        with _Counter(place, names, lines, console).counting() as counter:
            try:
                show(console, counter.draw)
            except TerminatedError:
                raise
            except KeyboardInterrupt:
                # Ctrl-C is a usual way to leave.
                return


def lines_of(place: Place, names: Sequence[str]) -> list[Line]:
    """Count the jobs of these queues, or of all."""
    wanted = [info for info in place.all() if not names or info.name in names]
    lines = []
    for info in wanted:
        try:
            stats = place.known_queue(info.name).stats()
        except InsufficientPrivilegeError:
            stats = None
        lines.append(Line(info.name, info.layout, stats))
    return lines


def _print_once(lines: Sequence[Line], console: Console, schema: str) -> None:
    if lines:
        console.print(table_of(lines, None, console.width))
    else:
        click.echo(_no_queues(schema))


def _no_queues(schema: str) -> str:
    return f'there are no queues in the schema "{schema}"'


class _Counter:
    """Counts in a thread, so that keys and the terminal's size are followed while it counts."""

    def __init__(
        self, place: Place, names: Sequence[str], lines: list[Line], console: Console
    ) -> None:
        self._place = place
        self._console = console
        self._names = names
        self._lines = lines
        self._failure = ""
        self._histories = Histories()
        self._histories.add(lines, time.monotonic())
        self._end = threading.Event()

    @contextlib.contextmanager
    def counting(self) -> Generator[_Counter, None, None]:
        """Count until the block ends."""
        thread = threading.Thread(target=self._count_on, name="colonnade jobs top", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._end.set()
            # A count that still runs ends with the connection.
            self._place.pool.terminate()
            thread.join(REFRESH_SECONDS)

    def draw(self) -> RenderableType:
        """The last numbers."""
        # Above the picture, where a small terminal has room.
        keys = Text("q quits", "dim")
        if self._failure:
            keys = Text.assemble(
                (visible(self._failure), "bold red"), "; the last numbers are shown; q quits"
            )
        if not self._lines:
            return Group(keys, Text(_no_queues(self._place.schema)))
        return Group(keys, table_of(self._lines, self._histories, self._console.width))

    def _count_on(self) -> None:
        pause = REFRESH_SECONDS
        while not self._end.wait(pause):
            began = time.monotonic()
            try:
                with jobs_failures_told():
                    lines = lines_of(self._place, self._names)
            except CommandError as error:
                self._failure = error.format_message().partition("\n")[0]
            else:
                self._histories.add(lines, time.monotonic())
                self._lines, self._failure = lines, ""
            took = time.monotonic() - began
            pause = max(REFRESH_SECONDS, took / _COUNTING_PART)

"""Where the results of measuring are printed."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from colonnade.cli.measure.table import PLAIN_WIDTH


@dataclass(frozen=True)
class Terminal:
    """Results go to standard output; whatever only accompanies them goes to standard error."""

    out: Console
    err: Console

    @classmethod
    def open(cls) -> Terminal:
        """Look at what the two streams are: a pipe gets plain text of a fixed width."""
        out = Console()
        return cls(out if out.is_terminal else Console(width=PLAIN_WIDTH), Console(stderr=True))

    def say(self, text: str) -> None:
        """Print plain words."""
        self.out.print(text, markup=False, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print words that are no result."""
        self.err.print(text, markup=False, highlight=False, soft_wrap=True)

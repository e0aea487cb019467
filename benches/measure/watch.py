"""The rounds of one shape, with a progress bar on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from benches.measure.measurement import Failure
from benches.measure.runner import TIMEOUT_S, measure_rounds
from benches.measure.summary import Summaries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benches.measure.peer import Peer


def progress_bar(console: Console) -> Progress:
    """Make a bar that is drawn only on a terminal, and cleared at the end."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def measure_all(
    label: str,
    peers: Sequence[Peer],
    console: Console,
    *,
    dsn: str,
    sql: str,
    rounds: int,
    hold: bool = True,
    timeout_s: float = TIMEOUT_S,
) -> Summaries:
    """Run all rounds and report failures on `console`."""
    summaries = Summaries(peers)
    runs = measure_rounds(peers, dsn=dsn, sql=sql, rounds=rounds, hold=hold, timeout_s=timeout_s)
    with progress_bar(console) as progress:
        task = progress.add_task(label, total=len(peers) * rounds)
        for run, outcome in runs:
            summaries.add(run, outcome)
            left_out = rounds - run.round if isinstance(outcome, Failure) else 1
            progress.update(
                task,
                advance=left_out,
                description=f"{label}, round {run.round + 1}: {run.peer.title}",
            )
            if isinstance(outcome, Failure):
                console.print(
                    f"{label}: {run.peer.title} failed: {outcome.reason}",
                    style="red",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
    return summaries

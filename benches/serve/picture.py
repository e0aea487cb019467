"""The results as a table of Markdown and as a picture."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benches.measure.figure import save
from benches.serve.exports import WAYS

if TYPE_CHECKING:
    from pathlib import Path

_COLOURS = {"asyncio": "#1b3a5c", "uvloop": "#3d7ea6"}


def table(results: dict[str, Any]) -> str:
    """A row for each way and loop, medians of the rounds.

    The ratio is to the quiet server's p99 of the same round; the least is in brackets.
    """
    head = (
        "| export | loop | ping p99, idle | a quiet server beside | under export | ratio | p50 "
        "| longest | first byte | whole | CPU | MB | memory, stalled |"
    )
    lines = [head, "|---" * 13 + "|"]
    for way, loop in dict.fromkeys((each["way"], each["loop"]) for each in results["rounds"]):
        rounds = _rounds(results, way, loop)

        def median(name: str, rounds: list[dict[str, Any]] = rounds) -> float:
            return float(statistics.median(each[name] for each in rounds))

        lines.append(
            f"| {WAYS[way][0]} | {loop} | {median('idle_p99_s') * 1e3:.2f} ms "
            f"| {median('beside_p99_s') * 1e3:.2f} ms | {median('p99_s') * 1e3:.2f} ms "
            f"| {median('ratio'):.1f} ({min(each['ratio'] for each in rounds):.1f}) "
            f"| {median('p50_s') * 1e3:.2f} ms "
            f"| {median('longest_s') * 1e3:.0f} ms | {median('first_s') * 1e3:.0f} ms "
            f"| {median('whole_s'):.2f} s | {median('cpu_s'):.2f} s "
            f"| {median('nbytes') / 1e6:.0f} "
            f"| {results['stalled'][f'{way} {loop}'] / 1e6:.0f} MB |"
        )
    return "\n".join(lines)


def draw(results: dict[str, Any], directory: Path) -> None:
    """Draw the ping and the processor time of each way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.2), layout="constrained")
    panels = (
        ("ping p99 under export ÷ that of a quiet server", "ratio"),
        ("server CPU per export, s", "cpu_s"),
    )
    for axes, (title, name) in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
        for number, (loop, colour) in enumerate(_COLOURS.items()):
            found = [(way, _rounds(results, way, loop)) for way in WAYS]
            known = [(index, rounds) for index, (_, rounds) in enumerate(found) if rounds]
            values = [statistics.median(each[name] for each in rounds) for _, rounds in known]
            places = [index + (number - 0.5) * 0.38 for index, _ in known]
            bars = axes.barh(places, values, height=0.36, color=colour, label=loop)
            axes.bar_label(bars, fmt="%.2g", padding=3, fontsize=8)
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_yticks(range(len(WAYS)), [title for title, _ in WAYS.values()])
        axes.margins(x=0.15)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.axes[0].set_xscale("log")
    figure.axes[0].invert_yaxis()
    figure.axes[1].legend(frameon=False, fontsize=9)
    save(figure, directory, "serve", ("svg",))


def _rounds(results: dict[str, Any], way: str, loop: str) -> list[dict[str, Any]]:
    return [each for each in results["rounds"] if (each["way"], each["loop"]) == (way, loop)]

"""The figures as a picture: horizontal bars, one panel for each figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benches.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from benches.measure.summary import Summaries, Summary

FORMATS = ("svg", "png")
_COLOURS = {"floor": "#9aa5b1", "columns": "#3d7ea6", "rows": "#c98b4f"}
_OWN_COLOUR = "#1b3a5c"
_OWN_PREFIX = "colonnade"
_BAR_HEIGHT_INCHES = 0.3
_DOTS_PER_INCH = 144


@dataclass(frozen=True)
class Panel:
    """One panel: a figure of the summaries, or its ratio to a peer's."""

    label: str
    figure: str
    factor: float = 1.0
    base: str | None = None


def draw(title: str, note: str, summaries: Summaries, panels: Sequence[Panel]) -> Figure:
    """Draw the medians of all peers that ran; omit a panel for which no peer has a figure."""
    from matplotlib.figure import Figure

    ran = [summary for summary in summaries if summary.runs]
    filled = [panel for panel in panels if any(_value(panel, s, summaries) for s in ran)]
    height = 1.6 + _BAR_HEIGHT_INCHES * len(ran)
    figure = Figure(figsize=(3.0 * len(filled) + 2.2, height), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    figure.supxlabel(note, x=0.01, ha="left", fontsize=7, color="#555555")
    if filled:
        axes = figure.subplots(1, len(filled), squeeze=False, sharey=True)
        for ax, panel in zip(axes[0], filled, strict=True):
            _bars(ax, panel, ran, summaries)
    return figure


def save(figure: Figure, directory: Path, name: str, forms: Sequence[str] = FORMATS) -> list[Path]:
    """Write the picture in each format, completely or not at all."""
    import matplotlib as mpl

    written = []
    # With a fixed salt and no date, the same figures give the same file.
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for form in forms:
            path = directory / f"{name}.{form}"
            metadata = {"Date": None} if form == "svg" else {}
            with whole_file(path) as unfinished:
                figure.savefig(unfinished, format=form, dpi=_DOTS_PER_INCH, metadata=metadata)
            written.append(path)
    return written


def _bars(ax: Axes, panel: Panel, ran: Sequence[Summary], summaries: Summaries) -> None:
    values = [_value(panel, summary, summaries) for summary in ran]
    widths = [value or 0.0 for value in values]
    colours = [
        _OWN_COLOUR if s.peer.name.startswith(_OWN_PREFIX) else _COLOURS[s.peer.kind] for s in ran
    ]
    positions = range(len(ran))
    bars = ax.barh(positions, widths, color=colours)
    labels = ["" if value is None else f" {_readable(value)}" for value in values]
    ax.bar_label(bars, labels=labels, fontsize=8)
    ax.set_yticks(positions, [summary.peer.title for summary in ran], fontsize=8)
    ax.set_title(panel.label, fontsize=9, loc="left")
    ax.set_xlim(0, max(widths, default=1.0) * 1.25 or 1.0)
    ax.tick_params(axis="x", labelsize=7)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if panel.base is not None:
        ax.axvline(1.0, color="#777777", linewidth=0.8, linestyle=":")
    # Put the first peer on top. The axes share their y axis, so invert it only once.
    if not ax.yaxis_inverted():
        ax.invert_yaxis()


def _value(panel: Panel, summary: Summary, summaries: Summaries) -> float | None:
    if panel.base is None:
        value = summary.figure(panel.figure)
    else:
        base = summaries.base(panel.base)
        value = summary.ratio(base, panel.figure) if base is not None else None
    return None if value is None else value * panel.factor


def _readable(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

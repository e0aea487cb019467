"""The picture of queues under a held snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benches.measure.figure import save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_COLOURS = {"rows": "#c2673f", "segments": "#1b3a5c"}
_PANELS = (
    ("jobs_per_s", "jobs per second"),
    ("size_mb", "tables and indexes, MB"),
    ("dead", "dead rows"),
)


def draw(samples: Sequence[dict[str, Any]], directory: Path) -> None:
    """Draw rates, sizes and dead rows over time; the time of the snapshot is shaded."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.4), layout="constrained")
    held = [each["at_s"] / 60 for each in samples if each["phase"] == "held"]
    for axes, (name, title) in zip(figure.subplots(1, 3), _PANELS, strict=True):
        axes.axvspan(0, max(held), color="#eeeeee", linewidth=0)
        for layout, colour in _COLOURS.items():
            mine = [each for each in samples if each["layout"] == layout]
            minutes = [each["at_s"] / 60 for each in mine]
            values = [each[name] for each in mine]
            axes.plot(minutes, values, color=colour, linewidth=1.1, label=layout)
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("minutes; grey: a snapshot is held", fontsize=8)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.axes[0].legend(loc="best", frameon=False, fontsize=8)
    directory.mkdir(parents=True, exist_ok=True)
    save(figure, directory, "held-snapshot", ("svg",))

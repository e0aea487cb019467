"""The pictures of the page, from the result files."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from benches.files import whole_file
from benches.measure.figure import Panel, draw, save
from benches.measure.measurement import Measurement
from benches.measure.peer import Peer
from benches.measure.runner import Run
from benches.measure.summary import Summaries
from benches.performance import flame

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

_COLOURS = ("#1b3a5c", "#3d7ea6", "#7a5195", "#c98b4f", "#9aa5b1")
_FIELDS = {each.name for each in dataclasses.fields(Measurement)}
TITLES = {
    "seed-columns": "seed, fetched as columns",
    "lineitem-columns": "lineitem, fetched as columns",
    "seed-rows": "seed, fetched as rows",
}
FLAMES = [f"flame-{name}.svg" for name in TITLES]
_STEPS = {"bars": "suite", "sizes": "boxes", "flame": "split"}


def step_of(picture: str) -> str | None:
    """The step from whose results a picture is drawn."""
    return _STEPS.get(picture.removesuffix(".svg").partition("-")[0])


def draw_all(results: dict[str, Any], directory: Path) -> list[str]:
    """Draw each picture that has figures, and return the names of the files."""
    suite = results.get("suite", {"results": ()})
    figures = {f"bars-{shape}": bars(suite, shape) for shape in suite["results"]}
    if "boxes" in results:
        figures["sizes"] = boxes(results["boxes"])
    drawn = [
        path.name
        for name, figure in figures.items()
        for path in save(figure, directory, name, ("svg",))
    ]
    for name, stacks in results.get("split", {}).get("stacks", {}).items():
        path = directory / f"flame-{name}.svg"
        with whole_file(path) as unfinished:
            unfinished.write_text(flame.draw(TITLES[name], stacks))
        drawn.append(path.name)
    return drawn


def bars(suite: dict[str, Any], shape: str) -> Figure:
    """Draw wall time and processor time of every peer as multiples of the floor's."""
    result, base = suite["results"][shape], suite["base"]
    panels = (
        Panel("wall time ÷ drain", "wall_s", base=base),
        Panel("client CPU ÷ drain", "cpu_s", base=base),
        Panel("peak memory, MB", "peak_memory_bytes", factor=1e-6),
    )
    title = f"{shape}: {result['title']}, {result['rows']:,} rows"
    return draw(title, "", _summaries(result["peers"]), panels)


def _summaries(of_peers: dict[str, Any]) -> Summaries:
    ran = {name: peer for name, peer in of_peers.items() if peer.get("runs")}
    known = {
        name: Peer(name, peer["title"], peer["kind"], "", (), None) for name, peer in ran.items()
    }
    summaries = Summaries(known.values())
    for name, peer in ran.items():
        for number, run in enumerate(peer["runs"]):
            kept = {key: value for key, value in run.items() if key in _FIELDS}
            summaries.add(Run(number, known[name]), Measurement(**kept))
    return summaries


def boxes(measured: dict[str, Any]) -> Figure:
    """Draw Tukey's box plots of the fetch times."""
    from matplotlib.figure import Figure

    sizes, titles = list(measured["seconds"]), measured["titles"]
    figure = Figure(figsize=(9.5, 5.2), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(titles)
    for number, (peer, title) in enumerate(titles.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [index + (number - (len(titles) - 1) / 2) * width for index in range(len(sizes))]
        times = [[1e3 * each for each in measured["seconds"][size][peer]] for size in sizes]
        drawn = axes.boxplot(
            times,
            positions=places,
            widths=width * 0.85,
            patch_artist=True,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": colour},
            medianprops={"color": "white"},
        )
        for box in drawn["boxes"]:
            box.set(facecolor=colour, edgecolor=colour, label=title)
            title = "_"  # noqa: PLW2901 - one line of the legend for each peer
    axes.set_yscale("log")
    axes.set_xticks(range(len(sizes)), [f"{int(size):,}" for size in sizes])
    axes.set_xlabel("rows of 18 columns")
    axes.set_ylabel("milliseconds for a fetch")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure

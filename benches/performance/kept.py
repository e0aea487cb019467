"""The results that the page and the goals read: the one file of figures that git keeps.

The pictures need the whole results: each run and each stack stays in the folder of its measurement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Results = Mapping[str, Any]

_PEER = ("title", "kind", "failure")
_PEER_MEDIANS = ("wall_s", "cpu_s", "memory_ratio")
_RATIOS = ("wall_s", "cpu_s")
_COLOURS = ("async", "sync")
_STREAM = (
    *("rows", "batches", "batch_bytes_max", "seconds", "growth_bytes", "later_growth_bytes"),
    *("alive_max", "growth_in_batches"),
)


def kept(results: Results) -> dict[str, Any]:
    """Return what is kept of the results of the steps that ran."""
    parts: dict[str, Callable[[Results], dict[str, Any]]] = {
        **dict.fromkeys(("suite", "socket", "tls"), _report),
        "boxes": lambda of_step: _only(of_step, "titles"),
        "split": lambda of_step: _only(of_step, "cases"),
        "stream": lambda of_step: {name: _only(of_step[name], *_STREAM) for name in _COLOURS},
    }
    return {name: parts.get(name, dict)(of_step) for name, of_step in results.items()}


def _only(figures: Results, *names: str) -> dict[str, Any]:
    return {name: figures[name] for name in names if name in figures}


def _report(report: Results) -> dict[str, Any]:
    shapes = {
        name: _only(shape, "title", "rows")
        | {"peers": {peer: _peer(of, report["base"]) for peer, of in shape["peers"].items()}}
        for name, shape in report["results"].items()
    }
    return {**report, "results": shapes}


def _peer(peer: Results, base: str) -> dict[str, Any]:
    """A peer beside the floor; of its runs, the number is enough."""
    figures = _only(peer, *_PEER)
    if runs := peer.get("runs"):
        ratios = {
            name: {what: {"median": of[what]["median"]} for what in _RATIOS}
            for name, of in peer["ratios"].items()
            if name == base
        }
        figures |= {"median": _only(peer["median"], *_PEER_MEDIANS), "ratios": ratios}
        figures["runs"] = len(runs)
    return figures

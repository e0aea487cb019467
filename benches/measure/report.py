"""The results of a series of measurements: a file of all figures, and a picture of each result."""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benches.files import whole_file
from benches.measure import machine
from benches.measure.figure import draw, save

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benches.measure.figure import Panel
    from benches.measure.peer import Peer
    from benches.measure.summary import Summaries

#: Incremented when a field changes its meaning, so that older files are recognised.
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Measured:
    """One result that every peer has fetched."""

    name: str
    title: str
    query: str
    rows: int
    summaries: Summaries
    #: How the data was generated, for readers of the file.
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """Name the result and its size."""
        return f"{self.name}: {self.title}, {self.rows:,} rows"

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "title": self.title,
            "rows": self.rows,
            "query": self.query,
            **self.details,
            "peers": self.summaries.to_dict(),
        }


@dataclass
class Report:
    """One series of measurements."""

    machine: dict[str, Any]
    server: str
    transport: str
    rounds: int
    #: The peer that the ratios of tables and pictures refer to.
    base: str
    versions: dict[str, str]
    skipped: dict[str, str]
    load_before: list[float]
    load_after: list[float] = field(default_factory=list)
    #: The date as given by the caller: this module does not read the clock.
    date: str | None = None
    results: list[Measured] = field(default_factory=list)

    @classmethod
    def begin(
        cls,
        peers: Iterable[Peer],
        skipped: dict[str, str],
        *,
        server: str,
        transport: str,
        rounds: int,
        base: str,
        date: str | None,
    ) -> Report:
        """Start a report: record the machine and the peers."""
        return cls(
            machine=machine.describe(),
            server=server,
            transport=transport,
            rounds=rounds,
            base=base,
            versions=_versions(peers),
            skipped=skipped,
            load_before=machine.load(),
            date=date,
        )

    @property
    def failed(self) -> bool:
        """Whether any peer failed."""
        return any(summary.failure for result in self.results for summary in result.summaries)

    def note(self) -> str:
        """Describe the machine and server on one line."""
        rounds = "1 round" if self.rounds == 1 else f"medians of {self.rounds} rounds, interleaved"
        after = f", {self.load_after[0]:g} after" if self.load_after else ""
        parts = (
            f"{self.machine['cpu']}, {self.machine['cores']} cores",
            " ".join(self.server.split()[:2]),
            self.transport,
            f"{rounds}, a fresh process each",
            f"load {self.load_before[0]:g} before{after}",
            self.date or "",
        )
        return " · ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return {
            "format": FORMAT_VERSION,
            "date": self.date,
            "machine": self.machine,
            "load": {"before": self.load_before, "after": self.load_after},
            "server": self.server,
            "transport": self.transport,
            "versions": self.versions,
            "rounds": self.rounds,
            "base": self.base,
            "skipped": self.skipped,
            "results": {result.name: result.to_dict() for result in self.results},
        }

    def write_json(self, path: Path) -> Path:
        """Write all figures to one file."""
        with whole_file(path) as unfinished:
            unfinished.write_text(json.dumps(self.to_dict(), indent=1) + "\n")
        return path

    def write_pictures(self, directory: Path, panels: Sequence[Panel]) -> list[Path]:
        """Draw each result in both formats."""
        written: list[Path] = []
        for result in self.results:
            picture = draw(result.heading, self.note(), result.summaries, panels)
            written += save(picture, directory, result.name)
        return written


def _versions(peers: Iterable[Peer]) -> dict[str, str]:
    """Return the versions of all peers, and of Colonnade."""
    found = {"colonnade": importlib.metadata.version("colonnade")}
    for peer in peers:
        found.update(peer.versions())
    return dict(sorted(found.items()))

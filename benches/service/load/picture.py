"""The picture of a load test: for each workload, the highest rate of each variant."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BAR, _GAP, _LEFT, _WIDTH = 20, 34, 220, 760
_OWN, _OTHER = "#1f6fb4", "#9aa5b1"


@dataclass(frozen=True)
class Bar:
    """One variant's rate."""

    title: str
    rate: float
    note: str

    @property
    def colour(self) -> str:
        """Ours stands out."""
        return _OWN if self.title.startswith("Colonnade") else _OTHER


def draw(panels: Sequence[tuple[str, Sequence[Bar]]], path: Path) -> None:
    """Write an SVG: a panel of bars for each workload, each with a scale of its own."""
    parts: list[str] = []
    y = 30
    for title, bars in panels:
        parts.append(f'<text x="8" y="{y}" font-weight="bold">{escape(title)}</text>')
        y += 12
        most = max((bar.rate for bar in bars), default=1.0) or 1.0
        for bar in bars:
            width = (_WIDTH - _LEFT - 250) * bar.rate / most
            words = f"{bar.rate:,.0f}/s" if bar.rate >= 10 else f"{bar.rate:.1f}/s"
            parts.append(
                f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(bar.title)}</text>'
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 4}"'
                f' fill="{bar.colour}"/><text x="{_LEFT + width + 6:.1f}" y="{y + 13}">'
                f"{words}, {escape(bar.note)}</text>"
            )
            y += _BAR
        y += _GAP
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y - 10}"'
        ' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(parts)}</svg>\n",
        encoding="utf-8",
    )

"""The picture of the docs: Colonnade's time by that of the fastest other library, cell by cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_BAR, _LEFT, _WIDTH = 13, 260, 760
# The axis is logarithmic, from a sixteenth to twice the time.
_LEAST, _MOST = -4, 1
_FASTER, _SLOWER = "#1f6fb4", "#c65d4e"


def draw(grid: list[dict[str, Any]], path: Path) -> None:
    """Write an SVG with a bar per cell, from equality on: to the left is faster."""
    parts: list[str] = []
    y = 52

    def place(ratio: float) -> float:
        power = min(max(math.log2(ratio), _LEAST), _MOST)
        return _LEFT + (_WIDTH - _LEFT - 50) * (power - _LEAST) / (_MOST - _LEAST)

    height = 60 + _BAR * len(grid) + 8 * len({cell["keys"] for cell in grid})
    for power in range(_LEAST, _MOST + 1):
        x = place(2.0**power)
        label = "1" if power == 0 else f"1/{2**-power}" if power < 0 else str(2**power)
        parts.append(
            f'<line x1="{x:.1f}" y1="44" x2="{x:.1f}" y2="{height - 8}" stroke="#ddd"/>'
            f'<text x="{x:.1f}" y="38" text-anchor="middle">{label}</text>'
        )
    kind = None
    for cell in grid:
        if cell["keys"] != kind:
            kind = cell["keys"]
            y += 8
            parts.append(f'<text x="8" y="{y + 10}">{kind}</text>')
        ratio = cell["ratio"]
        begin, end = sorted((place(1), place(ratio)))
        colour = _FASTER if ratio <= 1 else _SLOWER
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 10}" text-anchor="end">{cell["rows"]:,}</text>'
            f'<rect x="{begin:.1f}" y="{y + 1}" width="{end - begin:.1f}" height="{_BAR - 3}" '
            f'fill="{colour}"/>'
            f'<text x="{_WIDTH - 40}" y="{y + 10}">{ratio:.2f}</text>'
        )
        y += _BAR
    title = "A sum by groups: Colonnade's time by that of the fastest other library"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 10}" height="{height}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="8" y="18" font-weight="bold">{title}</text>{"".join(parts)}</svg>\n',
        encoding="utf-8",
    )

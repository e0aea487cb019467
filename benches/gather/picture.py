"""The picture of the docs: makespans of forty queries beside the least possible time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_COLOURS = {
    "asyncio.gather, asyncpg": "#9aa5b1",
    "gather, given order": "#7eb0d5",
    "gather, longest first": "#1f6fb4",
}
_BAR, _GAP, _LEFT, _WIDTH = 18, 14, 190, 680
# The axis begins at the lower bound, 1.0.
_LAST = 1.6


def draw(forty: dict[str, dict[str, Any]], path: Path) -> None:
    """Write an SVG: for each case a bar per peer, from the lower bound on."""
    parts: list[str] = []
    y = 50
    for case, peers in forty.items():
        parts.append(f'<text x="8" y="{y + _BAR * 1.8:.0f}">{case}</text>')
        for name, colour in _COLOURS.items():
            ratio = peers[name]["median"]
            width = (_WIDTH - _LEFT - 60) * (min(ratio, _LAST) - 1) / (_LAST - 1)
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 3}" '
                f'fill="{colour}"/>'
                f'<text x="{_LEFT + width + 6:.1f}" y="{y + 12}">{ratio:.2f}</text>'
            )
            y += _BAR
        y += _GAP
    legend = "".join(
        f'<rect x="{_LEFT + number * 165}" y="28" width="10" height="10" fill="{colour}"/>'
        f'<text x="{_LEFT + number * 165 + 14}" y="37">{name}</text>'
        for number, (name, colour) in enumerate(_COLOURS.items())
    )
    title = "Forty queries: the time as a multiple of the least possible (bars begin at 1)"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 20}" height="{y}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="8" y="18" font-weight="bold">{title}</text>{legend}{"".join(parts)}</svg>\n',
        encoding="utf-8",
    )

"""The picture of memory over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 260, 60, 48, 36


def draw(points: list[tuple[float, float]], title: str, path: Path) -> None:
    """Write an SVG of pairs of minutes and megabytes; the axis begins at 0."""
    last = points[-1][0] or 1.0
    most = 1.25 * max(size for _, size in points)
    across, up = _WIDTH - _LEFT - 20, _HEIGHT - _TOP - _BOTTOM

    def place(minutes: float, size: float) -> str:
        return f"{_LEFT + across * minutes / last:.1f},{_TOP + up * (1 - size / most):.1f}"

    line = " ".join(place(minutes, size) for minutes, size in points)
    labels = []
    for part in range(5):
        size, minutes = most * part / 4, last * part / 4
        y, x = _TOP + up * (1 - part / 4), _LEFT + across * part / 4
        labels.append(
            f'<path d="M{_LEFT} {y:.1f}H{_LEFT + across}" stroke="#e4e7eb"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{size:.0f} MB</text>'
            f'<text x="{x:.1f}" y="{_HEIGHT - 14}" text-anchor="middle">{minutes:.0f} min</text>'
        )
    words = title.split("; ")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"'
        ' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        + "".join(f'<text x="8" y="{18 + 16 * i}">{text}</text>' for i, text in enumerate(words))
        + "".join(labels)
        + f'<polyline points="{line}" fill="none" stroke="#1f6fb4" stroke-width="2"/></svg>\n',
        encoding="utf-8",
    )

"""A flame graph of folded stacks, as an SVG that a page can show.

A box is a function. Its width is the share of all samples that have it on the stack, and the
functions it calls are on top of it. A box too narrow for its name shows it as a tooltip.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WIDTH = 1000
_FONT = 'font-family="sans-serif" font-size="11"'
_ROW = 17
_HEAD = 26
_CHARACTER = 6.6
#: Narrower boxes are left out, because they would be invisible.
_WIDTH_MIN = 1.5
_COLOURS = {"kernel": "#c9d3dd", "python": "#f0d9a8", "core": "#9cc4df"}
_LEGEND = {"core": "Colonnade's core", "python": "Python, libc", "kernel": "kernel"}


@dataclass
class Node:
    """A function in one place of the stacks."""

    name: str
    samples: int = 0
    callees: dict[str, Node] = field(default_factory=dict)


def tree(stacks: Iterable[str]) -> Node:
    """Merge folded stacks into a tree."""
    root = Node("all")
    for line in stacks:
        frames, _, count = line.rpartition(" ")
        node = root
        node.samples += int(count)
        for frame in frames.split(";") if frames else ():
            node = node.callees.setdefault(frame, Node(frame))
            node.samples += int(count)
    return root


def kind_of(name: str) -> str:
    """Classify a function as the kernel's, the interpreter's or Colonnade's by its name."""
    if name.endswith("[kernel]"):
        return "kernel"
    return "core" if "::" in name else "python"


def draw(title: str, stacks: Iterable[str]) -> str:
    """Draw the stacks as SVG."""
    root = tree(stacks)
    boxes = list(_boxes(root, 0.0, 0, root.samples))
    height = _HEAD + _ROW * (1 + max((level for _, _, _, level in boxes), default=0)) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {_FONT}>',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="4" y="16" font-size="13" font-weight="bold">{escape(title)}</text>',
    ]
    at = _WIDTH - 300
    for kind, words in _LEGEND.items():
        lines.append(f'<rect x="{at}" y="7" width="10" height="10" fill="{_COLOURS[kind]}"/>')
        lines.append(f'<text x="{at + 14}" y="16">{words}</text>')
        at += 125 if kind == "core" else 95
    for node, left, width, level in boxes:
        top = height - 4 - _ROW * (level + 1)
        share = 100 * node.samples / root.samples
        told = escape(f"{node.name}: {share:.1f} %")
        colour = _COLOURS[kind_of(node.name)]
        box = f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="16" fill="{colour}"'
        lines.append(f'<g>{box} stroke="white" stroke-width=".5"/><title>{told}</title>')
        if (room := int((width - 4) / _CHARACTER)) >= 4:
            name = node.name if len(node.name) <= room else f"{node.name[: room - 1]}…"
            lines.append(f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(name)}</text>')
        lines.append("</g>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def _boxes(
    node: Node, left: float, level: int, total: int
) -> Iterator[tuple[Node, float, float, int]]:
    at = left
    for callee in sorted(node.callees.values(), key=lambda each: each.name):
        width = _WIDTH * callee.samples / total
        if width >= _WIDTH_MIN:
            yield callee, at, width, level
            yield from _boxes(callee, at, level + 1, total)
        at += width

"""The figures that are expected, and what is said of those that are not as expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

#: Instructions of what a case does once: two of the three words that stand before it.
Key = tuple[str, str]
#: Below this a value costs so little that a fraction of an instruction is many percent.
SLACK_INSTRUCTIONS = 1.0
_HEAD = "# what\tcase\tinstructions"


@dataclass(frozen=True)
class Difference:
    """A case that costs something else than it did."""

    key: Key
    expected: float | None
    found: float | None

    def __str__(self) -> str:
        """Say it on one line."""
        name = ": ".join(self.key)
        if self.expected is None:
            return f"{name}: {self.found:,.1f}, and nothing is recorded"
        if self.found is None:
            return f"{name}: recorded with {self.expected:,.1f}, and not measured any more"
        percent = 100 * (self.found / self.expected - 1)
        return f"{name}: {self.found:,.1f}, recorded {self.expected:,.1f} ({percent:+.1f} %)"


@dataclass(frozen=True)
class Recorded:
    """The figures of a file, and what they were taken with."""

    made_with: Mapping[str, str]
    figures: Mapping[Key, float]


def read(path: Path) -> Recorded:
    """Read a file that `write` wrote."""
    made_with, figures = {}, {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            name, separator, value = line[1:].partition(": ")
            if separator:
                made_with[name.strip()] = value
        elif line:
            what, case, instructions = line.split("\t")
            figures[what, case] = float(instructions)
    return Recorded(made_with, figures)


def write(path: Path, recorded: Recorded) -> None:
    """Write one line for each case, so that a change shows as the lines that it changes."""
    lines = [f"# {name}: {value}" for name, value in recorded.made_with.items()]
    lines.append(_HEAD)
    lines += [f"{what}\t{case}\t{value:.1f}" for (what, case), value in recorded.figures.items()]
    path.write_text("\n".join(lines) + "\n")


def compare(
    expected: Mapping[Key, float], found: Mapping[Key, float], tolerances: Mapping[str, float]
) -> Iterator[Difference]:
    """Name the cases beyond the tolerance of their kind, up or down, and those of one side only.

    A figure that fell is named as well: what was won has to be recorded to be kept.
    """
    kinds = {what for what, _ in found}
    for key, figure in found.items():
        known = expected.get(key)
        if known is None:
            yield Difference(key, None, figure)
        elif abs(figure - known) > max(known * tolerances[key[0]], SLACK_INSTRUCTIONS):
            yield Difference(key, known, figure)
    for key, known in expected.items():
        if key[0] in kinds and key not in found:
            yield Difference(key, known, None)


def of_lines(lines: Iterable[str], parts: Iterable[int]) -> dict[Key, float]:
    """Divide each part's instructions by the number that the program printed for it."""
    figures = {}
    for line, instructions in zip(lines, parts, strict=True):
        what, case, times = line.split("\t")
        figures[what, case] = instructions / int(times)
    return figures

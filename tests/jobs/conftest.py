"""On which layouts a test of queues runs."""

from __future__ import annotations

import functools
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from colonnade.jobs.definition import LayoutName

LAYOUTS: tuple[LayoutName, LayoutName] = ("rows", "segments")
COLOURS = ("async", "sync")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on both layouts and in both colours, but not on their product.

    A layout is SQL, and both colours send the same. So half of the tests run on rows in asyncio
    and on segments in threads, half the other way round. Those with the mark `every_pair`, about
    something that a colour does in its own way, run on all four, as does what has one colour only.
    """
    if "layout" not in metafunc.fixturenames or metafunc.definition.path.parent.name not in COLOURS:
        return
    layouts: tuple[LayoutName, ...] = LAYOUTS
    name = metafunc.function.__name__
    if not (
        metafunc.config.getoption("--every-pair")
        or metafunc.definition.get_closest_marker("every_pair")
        or name not in _names(_twin(metafunc.definition.path))
    ):
        is_other = metafunc.definition.path.parent.name == COLOURS[1]
        layouts = (LAYOUTS[(zlib.crc32(name.encode()) + is_other) % 2],)
    metafunc.parametrize("layout", layouts)


def _twin(path: Path) -> Path:
    """The file of the other colour."""
    (other,) = {*COLOURS} - {path.parent.name}
    return path.parents[1] / other / path.name


@functools.cache
def _names(path: Path) -> frozenset[str]:
    """The tests of a file, none if there is no such file."""
    return frozenset(re.findall(r"def (test_\w+)", path.read_text() if path.exists() else ""))

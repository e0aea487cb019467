"""Short runs of chaos; `make chaos` runs a million jobs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.jobs.chaos.conductor import Conductor
from tests.jobs.chaos.plan import LAYOUTS, MODES, Layout, Mode, Plan
from tests.jobs.chaos.report import lines

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


@pytest.mark.filterwarnings("ignore::colonnade.errors.InterfaceWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", MODES)
def test_a_queue_keeps_its_promises_among_all_faults(
    mode: Mode, layout: Layout, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 32)
    plan = Plan(3_000, seed, mode, layout, lease=1.0, limit=20, chunk=100, pause=(0.05, 0.3))
    report = Conductor(plan, tmp_path).run()
    told, is_kept = lines(report)
    print(f"seed {seed}", *told, sep="\n")  # noqa: T201
    assert is_kept, told
    assert len(report.injected) >= 10

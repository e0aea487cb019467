"""A few seconds of `python -m tests.differential`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.differential.run import Case, Tally, faults, run, shown
from tests.differential.ways_in import WAYS_IN
from tests.differential.ways_out import WAYS_OUT
from tests.differential.world import SETTINGS, World
from tools.generate import accepted_differences

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIPLES = 600
#: The values that every way carries, as every role.
PLAIN = {"int4": "42", "text": "it's \\ \u00e9", "bool": "t", "float8": "0.1", "date": "2024-02-03"}


@pytest.fixture(scope="module")
def world(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(dsn, tmp_path_factory.mktemp("differential")) as made:
        yield made


@pytest.mark.filterwarnings("ignore")
def test_triples(world: World) -> None:
    seed = random.randrange(2**31)
    print(f"python -m tests.differential --triples {TRIPLES} --seed {seed}")  # noqa: T201
    tally = run(world, seed, TRIPLES, print)
    assert list(map(str, tally.faults.values())) == []
    assert tally.equal > TRIPLES / 2, shown(tally)


@pytest.mark.filterwarnings("ignore")
def test_plain_values_pass_every_way(world: World) -> None:
    """A run of errors would be equal, too: these values are refused by no way."""
    roles = list(SETTINGS)
    for place, (way_in, way_out) in enumerate(
        [(way, "rows") for way in WAYS_IN] + [("parameters", way) for way in WAYS_OUT]
    ):
        for step, (sql_type, text) in enumerate(PLAIN.items()):
            role = roles[(place + step) % len(roles)]
            tally = Tally()
            case = Case(sql_type, "alone", role, way_in, way_out, (text, None))
            assert list(faults(world, case, tally)) == []
            assert (tally.equal, tally.refused) == (2, {}), (case, tally.reasons)


def test_the_page_has_the_accepted_differences() -> None:
    page = accepted_differences.PAGE.read_text("utf-8")
    assert accepted_differences.written(page) == page

"""A few courses of `changing`, and those that the peers get wrong."""

from __future__ import annotations

import random

import pytest

from tests.differential.changing import told_apart
from tests.differential.doors import DOORS, PEERS

#: A course that the peers get wrong.
HARD = 1


@pytest.mark.parametrize("name", DOORS)
def test_what_was_learnt_earlier_changes_nothing(name: str, dsn: str) -> None:
    assert told_apart(name, dsn, random.randrange(2**31)).wrong == ""


def test_courses_are_hard(dsn: str) -> None:
    wrong = [name for name in ("core", *PEERS) if told_apart(name, dsn, HARD).wrong]
    assert wrong == list(PEERS)

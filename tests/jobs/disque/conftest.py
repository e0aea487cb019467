"""The nodes that the tests of the Disque client speak to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.jobs.disque.fake.cluster import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as nodes:
        yield nodes


@pytest.fixture
def lone() -> Iterator[FakeCluster]:
    with FakeCluster(1) as nodes:
        yield nodes

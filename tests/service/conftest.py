"""A database and suppliers for the tests of the service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from colonnade import embedded
from tests.serve.conftest import node_project
from tests.service.test_installed import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["node_project"]

# `test_installed.py` is then the one that is skipped, and says why.
collect_ignore_glob = ["test_[!i]*.py"] if MISSING else []


@pytest.fixture(scope="session")
def service_dsn() -> Iterator[str]:
    """A database with the tables of the service."""
    from examples.service.data import prepared
    from tests.service.serving import FLIGHTS

    with embedded.start(tcp=True) as server:
        asyncio.run(prepared(server.dsn, FLIGHTS))
        yield server.dsn


@pytest.fixture(scope="session")
def quick_suppliers() -> Iterator[list[str]]:
    """Forty suppliers that answer at once."""
    from examples.service.suppliers.processes import suppliers

    with suppliers(40, processes=1, mood="quick") as addresses:
        yield addresses


@pytest.fixture(scope="session")
def flechette(node_project: Path) -> Path:
    """The module that reads Arrow for the live page."""
    return node_project / "node_modules/@uwdata/flechette/dist/flechette.mjs"

"""A private server with PostGIS."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from colonnade import embedded, sync

if TYPE_CHECKING:
    from collections.abc import Iterator


def _with_postgis() -> embedded.Binaries | None:
    """An installation of PostgreSQL that has PostGIS."""
    for binaries in embedded.all_binaries():
        config = binaries.directory / "pg_config"
        if not config.exists():
            continue
        shared = subprocess.run(
            [config, "--sharedir"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if Path(shared, "extension", "postgis.control").exists():
            return binaries
    return None


@pytest.fixture(scope="session")
def geo_dsn() -> Iterator[str]:
    """The DSN of a server that has the extension."""
    binaries = _with_postgis()
    if binaries is None:
        pytest.skip("no PostgreSQL with PostGIS: apt-get install postgresql-15-postgis-3")
    with embedded.start(binaries=binaries, tcp=True) as server:
        with sync.connect(server.dsn) as connection:
            connection.execute("CREATE EXTENSION postgis")
        yield server.dsn


@pytest.fixture
def conn(geo_dsn: str) -> Iterator[sync.Connection]:
    """A connection whose tables are gone after the test."""
    with sync.connect(geo_dsn) as connection:
        connection.execute("DROP SCHEMA IF EXISTS geo CASCADE; CREATE SCHEMA geo")
        connection.execute("SET search_path = geo, public")
        yield connection

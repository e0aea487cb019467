"""A handler that hangs the loop, under real servers: the supervisor kills, the server replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benches.service.restarts.hanging import measured

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("server", ["granian", "gunicorn", "uvicorn"])
def test_a_loop_that_hangs_is_killed_and_replaced(
    server: str, service_dsn: str, quick_suppliers: list[str], tmp_path: Path
) -> None:
    settings = {
        "SERVICE_DSN": service_dsn,
        "SERVICE_SUPPLIERS": ",".join(quick_suppliers),
        "SERVICE_BEAT_FOLDER": str(tmp_path),
        # Other tests may hold the processors: a queue that this makes is no reason to refuse here.
        "SERVICE_LOOP_AIM": "60",
        "SERVICE_POOL_AIM": "60",
        "SERVICE_DEADLINE": "20",
    }
    found = measured(server, settings, max_age=2, rate=10)
    assert found.killed > 1
    assert found.recovered >= found.killed
    # Requests on connections to the process that hung break with it; all others are answered.
    assert set(found.outcome.statuses) <= {"200", "ServerDisconnectedError", "ClientOSError"}
    assert found.outcome.statuses["200"] > 0

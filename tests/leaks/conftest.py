"""The number of failures, the bounds of growth, and a table of the measured growth."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.memory import FILLING_TURNS, Usage, least_growth

if TYPE_CHECKING:
    from collections.abc import Callable

# `make leaks` uses ten thousand failures, and measures resident memory too.
FAILURES = int(os.environ.get("LEAK_FAILURES", "20"))
# Longer tests run only in `make leaks`.
collect_ignore = (
    [] if "LEAK_FAILURES" in os.environ else ["test_cancelled_tasks.py", "test_exports.py"]
)
# Lists and caches grow by some blocks, whatever the number of failures; beyond that, half a block
# per failure is a leak. So a few failures show only large leaks, and many show all of them.
_OBJECTS_AT_REST_MAX = 200
_HEAP_BYTES_AT_REST_MAX = 4096
_HEAP_BYTES_MAX = 16
# Resident memory varies with the C library's arenas, so this bound needs many failures.
_RESIDENT_BYTES_MAX = 4 * 2**20

_seen: dict[str, Usage] = {}


@pytest.fixture
def leaves_nothing(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Let something fail many times; memory in use must be the same before and after."""

    def check(
        fail: Callable[[], object],
        failures: int = FAILURES,
        *,
        filling: int = FILLING_TURNS,
        objects: float = 0.5,
    ) -> None:
        growth = _seen[request.node.name] = least_growth(fail, failures, filling)
        assert growth.objects <= objects * failures + _OBJECTS_AT_REST_MAX, growth
        assert growth.heap_bytes <= _HEAP_BYTES_MAX * failures + _HEAP_BYTES_AT_REST_MAX, growth
        assert growth.resident_bytes <= _RESIDENT_BYTES_MAX, growth

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the measured growth if requested."""
    if "LEAK_FAILURES" not in os.environ or not _seen:
        return
    terminalreporter.section(f"growth over {FAILURES} failures, the minimum of 3 rounds")
    for name, growth in _seen.items():
        terminalreporter.line(
            f"{growth.objects:8} objects {growth.heap_bytes:9} heap bytes "
            f"{growth.resident_bytes / 2**20:7.2f} MiB resident  {name}"
        )

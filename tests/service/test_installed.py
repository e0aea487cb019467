"""The libraries of the service; without them, its other tests are not collected."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("aiohttp", "granian", "gunicorn", "orjson", "prometheus_client", "quart", "starlette")
MISSING = [name for name in NEEDED if find_spec(name) is None]


def test_the_libraries_of_the_service_are_installed() -> None:
    if MISSING:
        pytest.skip(f"the dependency group `service` is not installed: {', '.join(MISSING)}")

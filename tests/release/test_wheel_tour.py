"""The tour of a wheel finds nothing wrong with this checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.release import wheel_tour

if TYPE_CHECKING:
    import pytest


def test_the_tour_passes(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    wheel_tour.main(dsn)
    assert "a stream, a cancelled query, a pool" in capsys.readouterr().out

"""What is felt beside a fetch, and the memory of a stream, on a few rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benches import stream
from benches.hold import __main__ as hold
from benches.hold.child import quantiles

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MEGABYTE = 1_000_000


def test_a_loop_is_pinged_beside_a_fetch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--rows", "3000", "--loops", "asyncio", "--roads", "plain", "--modes", "columns"]
    assert hold.main([*words, "--output", str(tmp_path)]) == 0
    (case,) = json.loads((tmp_path / "results.json").read_text())["cases"]
    assert [size["rows"] for size in case["holds"]] == [1000, 3000]
    assert all(0 <= size["burst_s"] < 5 for size in case["holds"])
    assert case["answered_at_once"] in {True, False}
    assert set(case["pings"]) == {"sleep", "echo", "query"}
    for ping in case["pings"].values():
        assert ping["idle"]["count"] > 0
        assert 0 < ping["idle"]["p50"] <= ping["idle"]["p99"] <= ping["idle"]["max"]
    assert "3,000 rows: held" in capsys.readouterr().out


def test_quantiles() -> None:
    assert quantiles([]) == {"count": 0}
    told = quantiles([float(number) for number in range(101)])
    assert told == {"count": 101, "p50": 50.0, "p99": 99.0, "max": 100.0}


def test_a_stream_keeps_a_few_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stream.main(["--rows", "1000000", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    for colour in ("async", "sync"):
        told = results[colour]
        assert told["rows"] == 1_000_000
        assert told["batches"] == len(told["resident"]) == 16
        # The whole result has 24 MB, a batch 1.6.
        assert told["growth_bytes"] < 8 * MEGABYTE
        assert told["alive_max"] <= 3
    assert "1,000,000 rows in 16 batches" in capsys.readouterr().out

"""The performance page: its text, its pictures, and the programs behind it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from benches.performance import __main__ as performance, flame, page, plots, stacks
from benches.performance.goals import goals

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

SCRIPT = """\
        7f00 std::io::copy::<u8>::h0123456789abcdef+0x12 (/usr/lib/_core.so)
        7f01 PyEval_EvalFrame (/usr/lib/libpython3.11.so)
        7f02 _PyObject_Call (/usr/lib/libpython3.11.so)
        7f03 main (/usr/bin/python)

        ffff copy_to_user ([kernel.kallsyms])
        7f01 PyEval_EvalFrame (/usr/lib/libpython3.11.so)

        7f01 builtin___import__ (/usr/lib/libpython3.11.so)
"""


def case(**figures: float) -> dict[str, float]:
    known = {"wall_s": 1.0, "server_s": 0.0, "client_user_s": 0.0, "client_system_s": 0.0}
    return known | figures


def a_peer(title: str, kind: str, wall: float, base: float) -> dict[str, Any]:
    run = {"rows": 5, "wall_s": wall, "cpu_user_s": wall, "cpu_system_s": 0.0}
    ratio = {"median": wall / base, "minimum": wall / base}
    return {
        "title": title,
        "kind": kind,
        "median": {"wall_s": wall, "cpu_s": wall, "memory_ratio": 1.1},
        "ratios": {"drain": {"wall_s": ratio, "cpu_s": ratio}},
        "runs": [run],
    }


@pytest.fixture
def results() -> dict[str, Any]:
    """The files of a run, with figures that are easy to tell apart."""
    suite = {
        "machine": {"cpu": "a processor", "cores": 2, "system": "Linux", "python": "CPython"},
        "load": {"before": [0.1], "after": [0.2]},
        "server": "PostgreSQL 18.6 on Linux",
        "transport": "local TCP",
        "versions": {"asyncpg": "0.32.0"},
        "rounds": 1,
        "date": None,
        "base": "drain",
        "skipped": {"other": "not installed"},
        "results": {
            "seed": {
                "title": "18 columns",
                "rows": 5,
                "peers": {
                    "drain": a_peer("drain", "floor", 1.0, 1.0),
                    "colonnade-columns": a_peer("Colonnade columns", "columns", 1.04, 1.0),
                    "asyncpg-rows": a_peer("asyncpg rows", "rows", 9.0, 1.0),
                    "broken": {"title": "broken", "kind": "rows", "failure": "no such thing"},
                },
            }
        },
    }
    times = {
        "titles": {"colonnade-columns": "Colonnade columns"},
        "seconds": {"100": {"colonnade-columns": [0.001, 0.002, 0.003, 0.1]}},
    }
    worked = {
        "cases": [{"shape": "seed", "mode": "columns", **case(server_s=0.97)}],
        "stacks": {"seed-columns": ["Python;rows::append 3", "Python;read [kernel] 1"]},
    }
    return {"suite": suite, "boxes": times, "split": worked}


def test_the_page_says_what_the_files_say(results: dict[str, Any], tmp_path: Path) -> None:
    for name, of_step in results.items():
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "results.json").write_text(json.dumps(of_step))
    (tmp_path / "performance").mkdir()
    (tmp_path / "performance" / "bars-gone.svg").write_text("of an earlier run")
    written = tmp_path / "page.md"
    words = ["--only", "", "--figures", str(tmp_path / "kept.json"), "--page", str(written)]
    assert performance.main([*words, "--results", str(tmp_path / "results")]) == 0
    text = written.read_text()
    assert "| Colonnade columns | 1,040 | 1.04 | 1.0 | 1.10 |" in text
    assert "| broken | failed: no such thing | - | - | - |" in text
    assert "Not measured: other (not installed)." in text
    assert "1 round. " in text
    assert "**seed, columns**: limited by the server" in text
    pictures = {path.name for path in (tmp_path / "performance").iterdir()}
    assert pictures == {"bars-seed.svg", "sizes.svg", "flame-seed-columns.svg"}
    for name in pictures:
        assert f"(performance/{name})" in text
        ET.parse(tmp_path / "performance" / name)  # noqa: S314 - our own file
    # Without the results, what is kept of them and the pictures make the same page.
    assert performance.main([*words, "--results", str(tmp_path / "gone")]) == 0
    assert written.read_text() == text
    assert {path.name for path in (tmp_path / "performance").iterdir()} == pictures


def test_the_published_page_says_what_is_kept() -> None:
    """Except the instruction counts, which `make instructions-record` writes more often."""
    known = json.loads(performance.FIGURES.read_text())
    published = performance.PAGE.read_text()
    assert {"suite", "hold", "small", "many"} <= known.keys()
    made = page.page(known, plots.FLAMES)
    assert [part for part in made.strip().split("\n\n") if part not in published] == []


def test_a_missed_goal_is_reported(results: dict[str, Any]) -> None:
    found = {goal.what: goal.reached for goal in goals(results)}
    assert found == {
        "seed, local TCP: wall ÷ drain, our slowest": True,
        "seed, local TCP: client CPU ÷ drain, our highest": True,
        "seed, local TCP: peak memory ÷ columns": True,
        "seed: less wall and CPU than every peer, on asyncio": True,
    }
    results["suite"]["results"]["seed"]["peers"]["asyncpg-rows"]["median"]["wall_s"] = 1.0
    behind = [goal for goal in goals(results) if not goal.reached]
    assert [goal.found for goal in behind] == ["not than asyncpg rows"]


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"server_s": 0.95, "client_user_s": 0.3}, "limited by the server"),
        ({"client_user_s": 0.8, "client_system_s": 0.15}, "decoding and the event loop above all"),
        ({"client_user_s": 0.2, "client_system_s": 0.7}, "kernel's copying and pages above all"),
        ({"server_s": 0.5, "client_user_s": 0.4}, "alternate"),
        ({"server_s": 0.1}, "neither is busy"),
    ],
)
def test_the_limit_follows_from_the_shares_of_time(figures: dict[str, float], words: str) -> None:
    assert words in page.limit(case(**figures))


def test_stacks_are_folded() -> None:
    # Stacks of imports belong to the program's start, and are left out.
    assert stacks.fold(SCRIPT.splitlines()) == [
        "Python;copy_to_user [kernel] 1",
        "Python;io::copy 1",
    ]


def test_a_flame_graph_has_the_widths_of_its_samples() -> None:
    drawn = flame.draw("a <title>", ["Python;a::b 3", "Python;read [kernel] 1"])
    root = ET.fromstring(drawn)  # noqa: S314 - our own picture
    told = {each.text for each in root.iter("{http://www.w3.org/2000/svg}title")}
    assert told == {"Python: 100.0 %", "a::b: 75.0 %", "read [kernel]: 25.0 %"}
    assert (flame.kind_of("a::b"), flame.kind_of("read [kernel]")) == ("core", "kernel")

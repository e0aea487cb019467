"""The program that counts rooms, floors, circles and lines."""

from __future__ import annotations

import ast

import pytest

from tools.check import house

GRAPH = {"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set[str](), "e": {"a", "d"}}


def test_nodes_that_lead_to_each_other_are_a_circle() -> None:
    assert house.circles(GRAPH) == [["b", "c"]]
    assert house.circles({"a": {"a"}, "b": set()}) == []
    ring = {str(n): {str((n + 1) % 9)} for n in range(9)}
    assert house.circles(GRAPH | ring) == [sorted(ring), ["b", "c"]]


def test_a_floor_is_one_above_what_a_node_leads_to() -> None:
    assert house.floors(GRAPH) == {"d": 1, "b": 2, "c": 2, "a": 3, "e": 4}


def test_a_circle_is_named_by_its_folder() -> None:
    assert house.common_folder(["colonnade.jobs.a", "colonnade.jobs.b.c"]) == "colonnade.jobs"
    assert house.common_folder(["colonnade.jobs", "colonnade.jobs.b"]) == "colonnade.jobs"


def test_a_name_with_a_dot_is_a_room_of_its_folder() -> None:
    rooms = house.Rooms(["rows", "_driver.sql", "cli"])
    assert rooms.of(house.PACKAGE / "_driver" / "sql" / "quoting.py") == "_driver.sql"
    assert rooms.of(house.PACKAGE / "_driver" / "__init__.py") == "_driver"
    assert rooms.of(house.PACKAGE / "rows.py") == "rows"
    tree = ast.parse(
        "from colonnade import sync\nfrom .._driver.sql import x\nimport colonnade.rows"
    )
    path = house.PACKAGE / "cli" / "query.py"
    assert rooms.imported(path, tree) == {"_driver.sql", "rows"}


@pytest.mark.parametrize(
    ("name", "text", "language", "kind"),
    [
        ("colonnade/rows.py", "", "Python", "sources"),
        ("colonnade/_core.pyi", "", "Python", "sources"),
        ("colonnade/_driver/_sync/x.py", "# Generated from x\n", "Python", "generated"),
        ("crates/watch/src/watchdog/tests.rs", "", "Rust", "tests"),
        ("crates/session/tests/wrong_order.rs", "", "Rust", "tests"),
        ("crates/session/src/latest.rs", "", "Rust", "sources"),
        ("tests/unit/test_x.py", "", "Python", "tests"),
        ("tools/check/audit", "#!/usr/bin/env bash\n", "Shell", "beside"),
        ("docs/types.svg", "", None, "beside"),
    ],
)
def test_a_file_has_a_language_and_a_kind(
    name: str, text: str, language: str | None, kind: str
) -> None:
    assert (house.language_of(name, text), house.kind_of(name, text)) == (language, kind)


def test_all_of_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    house.main()
    printed = capsys.readouterr().out
    for word in ("entries", "rooms", "floors", "arrows", "circles", "Rust", "Markdown"):
        assert word in printed

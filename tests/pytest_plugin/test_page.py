"""The page about testing is a project: each block that names its file is run by pytest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools.pages import docs_snippets

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Project

pytest_plugins = ["pytester"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interfaces" / "testing.md"


def test_the_page(project: Project) -> None:
    snippets = [
        one
        for one in docs_snippets.snippets(PAGE)
        if one.language == "python" and one.no_run_reason is None
    ]
    for snippet in snippets:
        name = snippet.source.partition("\n")[0].removeprefix("# ")
        assert name.endswith(".py"), f"{PAGE}:{snippet.line} does not begin with its file's name"
        project.pytester.path.joinpath(name).write_text(snippet.source, "utf-8")
    tests = sum(snippet.source.count("def test_") for snippet in snippets)
    assert tests == 9
    project.run_alone().assert_outcomes(passed=tests)

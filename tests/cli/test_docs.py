"""`colonnade docs`: the pages are part of the package, and docstrings name them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from colonnade.cli.docs import pages
from tests.cli import program

ROOT = Path(__file__).resolve().parents[2]
# Neither click nor rich can be imported.
WITHOUT_LIBRARIES = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name in ("click", "rich") else find(name)
sys.modules |= {"click": None, "rich": None}
from colonnade import cli
sys.argv[:] = ["colonnade", "docs", *sys.argv[1:]]
sys.exit(cli.main())
"""


def test_the_contents_have_every_page() -> None:
    shown = program.run(None, "docs")
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    found = [path.stem for path in (ROOT / "docs").rglob("*.md")]
    # Each name stands once, whatever the folder, so that a name leads to one page.
    assert sorted(names) == sorted(set(found) - {"README"})
    assert len(found) == len(set(found))
    assert "Ten minutes with Colonnade" in shown.stdout
    # By subject, as the index has them.
    assert lines[0] == "Begin here"
    assert lines.index("Data") < lines.index("Reference")


@pytest.mark.parametrize(
    "name",
    [
        *("copy", "copy.md", "data/copy", "docs/data/copy.md"),
        # As other pages print their links to it.
        *("../data/copy.md", "copy.md#records-in", "../data/copy.md#records-in"),
    ],
)
def test_a_pipe_gets_the_page_as_it_is(name: str) -> None:
    assert program.run(None, "docs", name).stdout == (ROOT / "docs" / "data" / "copy.md").read_text(
        "utf-8"
    )


def test_a_page_that_is_not_there() -> None:
    shown = program.run(None, "docs", "colums")
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == "colonnade: there is no page 'colums': did you mean columns?\n"


@pytest.mark.parametrize(
    ("former", "now"),
    [
        *(("codecs", "types"), ("embedded", "testing"), ("from-asyncpg", "asyncpg")),
        *(("geo", "dataframes"), ("pipelines", "transactions"), ("pythons", "support")),
        *(("replication", "listening"), ("rows", "queries"), ("running", "support")),
        *(("statements", "queries"), ("struct-layout", "structs"), ("timing", "slow-requests")),
        *(("../service/timing.md", "metrics"), ("timing.md#phases", "slow-requests")),
    ],
)
def test_a_page_of_before_leads_to_the_one_that_has_it(former: str, now: str) -> None:
    with pytest.raises(pages.PageError, match=rf"did you mean .*\b{now}\b"):
        pages.page(former)


def test_a_name_like_no_other_leads_to_the_list() -> None:
    with pytest.raises(pages.PageError, match="no page 'qqq': colonnade docs lists them"):
        pages.page("qqq")


@pytest.mark.parametrize(
    "name", ["../../README.md", "/etc/hosts", "../ARCHITECTURE.md", "service/copy"]
)
def test_nothing_else_is_read(name: str) -> None:
    with pytest.raises(pages.PageError, match="there is no page"):
        pages.page(name)


def test_a_checkout_without_links_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "_pages"
    monkeypatch.setattr(pages, "FOLDER", link)
    with pytest.raises(pages.PageError, match="built without its pages"):
        pages.names()
    link.write_text("../docs")
    with pytest.raises(pages.PageError, match="without symbolic links"):
        pages.names()


def test_the_libraries_of_the_command_line_are_not_needed() -> None:
    command = [sys.executable, "-c", WITHOUT_LIBRARIES]
    shown = subprocess.run([*command, "queries"], capture_output=True, text=True, check=True)
    assert shown.stdout == (ROOT / "docs" / "data" / "queries.md").read_text("utf-8")
    refused = subprocess.run([*command, "querys"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "did you mean queries" in refused.stderr


def test_the_package_names_pages_that_it_has() -> None:
    known = set(pages.names())
    for path in sorted((ROOT / "colonnade").rglob("*.py")):
        text = path.read_text("utf-8")
        if path.parent.name != "docs":
            assert not re.search(r"docs/[\w/-]+\.md", text), f"{path}: no wheel has such a file"
            named = set(re.findall(r"`colonnade docs ([\w-]+)`", text))
            assert named <= known, path

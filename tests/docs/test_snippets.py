"""Every Python block of the README and the docs runs, and every relative link has a target."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.disque.fake.cluster import FakeCluster
from tools import docs_snippets

ROOT = Path(__file__).resolve().parents[2]
PAGES = docs_snippets.pages(ROOT)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?!https?:|mailto:|#)([^)#\s]+)")


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_blocks_run(page: Path, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_DSN", dsn)
    # Blocks write their files outside the checkout.
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as servers:
        if page.name == "disque.md":
            cluster = servers.enter_context(FakeCluster())
            monkeypatch.setenv("DISQUE_NODES", cluster.addresses)
        docs_snippets.run_page(page)


def test_links_lead_somewhere() -> None:
    front = [path for path in sorted(ROOT.glob("*.md")) if path not in PAGES]
    broken = [
        f"{page_id(page)}: {target}"
        for page in PAGES + front
        for target in LINK.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {
        (index.parent / target).resolve() for target in LINK.findall(index.read_text("utf-8"))
    }
    assert not set(PAGES) - listed - {ROOT / "README.md", index}
    assert "docs/README.md" in LINK.findall((ROOT / "README.md").read_text("utf-8"))


def write_page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_notebook_shows_what_it_says(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_DSN", dsn)
    # In a process of its own, where Jupyter's warnings are not ours.
    check = [sys.executable, "-m", "tools.notebooks", "--check"]
    ran = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_index_leads_to_every_notebook() -> None:
    listed = LINK.findall((ROOT / "docs" / "README.md").read_text("utf-8"))
    found = (ROOT / "docs").rglob("*.ipynb")
    assert {path.relative_to(ROOT / "docs").as_posix() for path in found} <= set(listed)


def test_blocks_share_a_namespace_and_may_await(tmp_path: Path) -> None:
    page = write_page(
        tmp_path,
        "```python\nimport asyncio\nx = await asyncio.sleep(0, 20)\n```\n\n"
        "- a list\n\n  ```python\n  assert x == 20\n  ```\n\n```sql\nselect 1\n```\n",
    )
    assert docs_snippets.run_page(page) == 2


def test_a_failure_names_the_line_of_the_page(tmp_path: Path) -> None:
    page = write_page(tmp_path, "# Title\n\n```python\nx = 1\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        docs_snippets.run_page(page)
    assert caught.traceback[-1].lineno == 4
    assert Path(caught.traceback[-1].path) == page


def test_a_block_that_is_not_run_still_compiles(tmp_path: Path) -> None:
    fence = "```python no-run: needs three machines\n"
    assert docs_snippets.run_page(write_page(tmp_path, f"{fence}x = cluster()\n```\n")) == 0
    with pytest.raises(SyntaxError):
        docs_snippets.run_page(write_page(tmp_path, f"{fence}x = (\n```\n"))


def test_a_block_prints_what_the_page_says(tmp_path: Path) -> None:
    block = "```python\nfor n in range(4):\n    print(n, id(n))\n```\n\n```text output\n{}```\n"
    assert docs_snippets.run_page(write_page(tmp_path, block.format("0 ...\n...\n3 ...\n"))) == 1
    with pytest.raises(docs_snippets.SnippetError, match=r"page.md:2: the page says"):
        docs_snippets.run_page(write_page(tmp_path, block.format("0 ...\n3 ...\n")))


def test_an_output_stands_behind_its_block(tmp_path: Path) -> None:
    page = "```python\nprint(1)\n```\n\nWords.\n\n```text output\n1\n```\n"
    with pytest.raises(docs_snippets.SnippetError, match="no block above prints this"):
        docs_snippets.snippets(write_page(tmp_path, page))


@pytest.mark.parametrize("info", ["python no-run", "python no-run:", "python skip"])
def test_a_fence_without_a_reason_is_refused(tmp_path: Path, info: str) -> None:
    with pytest.raises(docs_snippets.SnippetError, match="no-run: reason"):
        docs_snippets.snippets(write_page(tmp_path, f"```{info}\npass\n```\n"))


def test_an_open_block_is_refused(tmp_path: Path) -> None:
    with pytest.raises(docs_snippets.SnippetError, match="never closed"):
        docs_snippets.snippets(write_page(tmp_path, "```python\npass\n"))

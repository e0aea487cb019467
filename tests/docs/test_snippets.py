"""Every block of the README and the docs runs, and every relative link has a target."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.jobs.disque.fake.cluster import FakeCluster
from tools.pages import docs_snippets
from website.contents import sections

ROOT = Path(__file__).resolve().parents[2]
PAGES = docs_snippets.pages(ROOT)
# The README for a package index, and the site's first page.
FRONTS = [ROOT / "README-package-index.md", ROOT / "website" / "home.md"]
# The blocks for a shell that no test runs, and why. Everything else runs as it stands.
NOT_FOR_THE_TESTS = {
    "README.md": ["builds the extension, and runs every test", "builds the extension"],
    "README-package-index.md": [
        "builds the extension, and runs every test",
        "builds the extension",
    ],
    "website/home.md": ["builds the extension"],
    "docs/interfaces/command-line.md": ["builds the extension", "for zsh and fish"],
    "docs/reference/support.md": ["needs Python 3.14 and a running program"],
    "docs/interfaces/testing.md": ["builds the extension", "runs the tests of a project"],
    "docs/start/tutorial.md": ["builds the extension"],
}
EXTRAS_ASKED = re.compile(r"^\.\[([a-z,]+)\]$")
FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
# A link or a picture: its file, which is empty within a page, and its anchor.
ANY_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)")
NAMED = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md")
# A test of links, whose pages exist in its own folders only.
MADE_UP = "tests/release/test_release_check.py"
LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?!https?:|mailto:|#)([^)#\s]+)")


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [*PAGES, *FRONTS], ids=page_id)
def test_blocks_run(page: Path, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_DSN", dsn)
    # Blocks write their files outside the checkout.
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as servers:
        if page.name == "disque.md":
            cluster = servers.enter_context(FakeCluster())
            monkeypatch.setenv("DISQUE_NODES", cluster.addresses)
        docs_snippets.run_page(page, with_programs())


IMPORTED = re.compile(r"^\s*(?:import|from) ([A-Za-z]\w*)(?=[ .]|$)", re.MULTILINE)
PYTHON_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Libraries that an extra installs under another name, and names that are not libraries.
OF_EXTRAS = {"opentelemetry": "opentelemetry_api"}
HERE = {"colonnade", "examples", "generate_series"}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_what_a_block_needs_is_named(page: Path) -> None:
    """A library that is no extra of ours is named on the page, with how to install it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = [each for one in project["optional-dependencies"].values() for each in one]
    ours = {re.split(r"[^\w-]", each, maxsplit=1)[0].replace("-", "_") for each in needs}
    text = page.read_text("utf-8")
    needed = {name for block in PYTHON_BLOCK.findall(text) for name in IMPORTED.findall(block)}
    needed -= HERE | set(sys.stdlib_module_names)
    missing = {
        name
        for name in needed
        if OF_EXTRAS.get(name, name) not in ours
        and not re.search(rf"install[^\n]* \W?{name}\b", text)
    }
    assert missing == set()


def with_programs() -> dict[str, str]:
    """The environment of a shell that finds the programs of this environment."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def shell_blocks(page: Path) -> list[docs_snippets.Snippet]:
    return [one for one in docs_snippets.snippets(page) if one.language == "sh"]


def test_which_blocks_for_a_shell_are_not_run() -> None:
    marked = {
        page_id(page): [one.no_run_reason for one in shell_blocks(page) if one.no_run_reason]
        for page in [*PAGES, *FRONTS]
    }
    assert {page: reasons for page, reasons in marked.items() if reasons} == NOT_FOR_THE_TESTS


@pytest.mark.parametrize("page", NOT_FOR_THE_TESTS)
def test_a_block_that_is_not_run_names_what_there_is(page: str) -> None:
    """It is sound shell; each target is one of the Makefile's, each extra one of the package's."""
    blocks = [one.source for one in shell_blocks(ROOT / page) if one.no_run_reason]
    for block in blocks:
        subprocess.run(["bash", "-n", "-c", block], check=True)
    commands = [shlex.split(line, comments=True) for line in "".join(blocks).splitlines()]
    targets = [command[1] for command in commands if command[:1] == ["make"]]
    assert all(f"\n{one}:" in (ROOT / "Makefile").read_text("utf-8") for one in targets)
    extras = [one for words in commands for each in words for one in EXTRAS_ASKED.findall(each)]
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {one for each in extras for one in each.split(",")} <= declared[
        "optional-dependencies"
    ].keys()


def test_the_readme_names_every_extra() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    block = text[text.index("pip install") :].partition("```")[0]
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert declared["optional-dependencies"].keys() <= set(re.findall(r"\w+", block))


def without_code(page: Path) -> str:
    return FENCED.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The places of a page that a link may name, as GitHub makes them of its headings."""
    found: set[str] = set()
    for heading in HEADING.findall(without_code(page)):
        words = re.sub(r"\]\([^)]*\)", "]", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-"))
    return found


def test_links_lead_somewhere() -> None:
    """Every link of every page has its file, and the heading that it names."""
    others = [*ROOT.glob("*.md"), *(ROOT / "benches").glob("*.md")]
    others += [*(ROOT / "examples").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    others.append(ROOT / "website" / "home.md")
    broken = []
    for page in {*PAGES, *others}:
        # The start page of the site stands where docs/ begins.
        folder = ROOT / "docs" if page.name == "home.md" else page.parent
        for target, anchor in ANY_LINK.findall(without_code(page)):
            path = folder / target if target else page
            made_by_the_site = page.name == "home.md" and target.startswith("reference/colonnade")
            leads = path.exists() or made_by_the_site
            if leads and anchor and path.suffix == ".md":
                leads = anchor in anchors(path)
            if not leads:
                broken.append(f"{page_id(page)}: {target}#{anchor}")
    assert sorted(broken) == []


def test_a_page_that_a_file_names_is_there() -> None:
    """Sources, comments and the changelog name a page by its path in the repository."""
    told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    missing = [
        f"{name}: {page}"
        for name in told.stdout.decode().split("\0")
        if name.endswith((".md", ".py", ".rs", ".js", ".toml")) and name != MADE_UP
        for page in NAMED.findall((ROOT / name).read_text("utf-8"))
        if not (ROOT / page).exists()
    ]
    assert missing == []


def test_the_places_of_a_page(tmp_path: Path) -> None:
    text = "# A [link](x.md#y) and `n=`\n\n```sh\n# no heading\n```\n\n## In rows, and (as) 1.5\n"
    page = write_page(tmp_path, text)
    assert anchors(page) == {"a-link-and-n", "in-rows-and-as-15"}


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {
        (index.parent / target).resolve() for target in LINK.findall(index.read_text("utf-8"))
    }
    assert not set(PAGES) - listed - {ROOT / "README.md", index}
    assert "docs/README.md" in LINK.findall((ROOT / "README.md").read_text("utf-8"))


def test_each_heading_of_the_index_is_a_folder() -> None:
    folders = [
        {path.partition("/")[0] for each in pages for path in each.values()}
        for _, pages in sections()
    ]
    assert all(len(each) == 1 for each in folders)
    assert len(set().union(*folders)) == len(folders)


def write_page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_notebook_shows_what_it_says(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_DSN", dsn)
    # In a process of its own, where Jupyter's warnings are not ours.
    check = [sys.executable, "-m", "tools.pages.notebooks", "--check"]
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


SHELL = "```sh\necho $WORD\n```\n\n```text output\nten\n```\n"


def test_a_shell_runs_its_blocks(tmp_path: Path) -> None:
    page = write_page(tmp_path, SHELL)
    environment = {**os.environ, "WORD": "ten"}
    assert docs_snippets.run_page(page, environment) == 1
    assert docs_snippets.run_page(page) == 0
    with pytest.raises(docs_snippets.SnippetError, match=r"page.md:2: the page says"):
        docs_snippets.run_page(page, {**environment, "WORD": "eleven"})


@pytest.mark.parametrize("line", ['echo "n = $1" UA', "false | cat", "colonnade-no-such-program"])
def test_a_line_that_does_not_run_as_pasted(tmp_path: Path, line: str) -> None:
    page = write_page(tmp_path, f"# Title\n\n```sh\n{line}\n```\n")
    with pytest.raises(docs_snippets.SnippetError, match=r"page.md:4: exit status \d+ of"):
        docs_snippets.run_page(page, os.environ)


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

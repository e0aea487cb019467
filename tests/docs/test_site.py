"""The documentation site: it builds without a warning, and everything that it names is there."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tools.pages import browser, docs_snippets, look_at_site
from website import fences, reference

ROOT = Path(__file__).resolve().parents[2]

#: Pages of each kind, looked at by every run of these tests; `make site-check` looks at all.
SAMPLE = (
    "index.html",
    "start/notebooks/columns.html",
    "start/tutorial.html",
    "reference/types.html",
    "reference/colonnade.html",
)


# A program, fixtures, a folder of asyncpg's, and what `colonnade.observe` has the names of.
APART = (
    "colonnade.cli",
    "colonnade.pytest_plugin",
    "colonnade.pgproto",
    *(f"colonnade.observe.{room}" for room in ("beat", "loop", "metrics", "status", "timeline")),
)


class Parsed(HTMLParser):
    """The addresses and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and (link := found.get("href")) is not None:
            self.links.append(link)
        source = found.get("src") or (found.get("href") if tag == "link" else None)
        if source is not None and found.get("rel") not in {"canonical", "prev", "next"}:
            self.fetched.append(source)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("the group `site` is not installed: `make site-check` installs it")
    target = tmp_path_factory.mktemp("site") / "site"
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    ran = subprocess.run(
        [*build, "--config-file", "website/mkdocs.yml", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return target


@pytest.fixture(scope="module")
def parsed(site: Path) -> dict[Path, Parsed]:
    return {path: Parsed(path) for path in sorted(site.rglob("*.html"))}


def test_every_public_name_has_its_place(site: Path, parsed: dict[Path, Parsed]) -> None:
    wanted = {
        (site / page).with_suffix(".html"): names for page, names in reference.anchors().items()
    }
    missing = [
        name for path, names in wanted.items() for name in names if name not in parsed[path].anchors
    ]
    assert not missing
    assert sum(map(len, wanted.values())) > 1500


def test_every_public_package_has_a_page() -> None:
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "colonnade").rglob("__init__.py")
    }
    public = {each for each in packages if "._" not in each and not each.startswith(APART)}
    assert public <= set(reference.MODULES)


def test_links_lead_to_a_place(site: Path, parsed: dict[Path, Parsed]) -> None:
    assert list(_broken(site, parsed)) == []


def _broken(site: Path, parsed: dict[Path, Parsed]) -> Iterator[str]:
    for path, page in parsed.items():
        for link in page.links + page.fetched:
            parts = urllib.parse.urlsplit(link)
            where = f"{path.relative_to(site)}: {link}"
            if parts.scheme in {"http", "https"}:
                if not parts.netloc or re.search(r"\s", link):
                    yield where
            elif parts.scheme in {"mailto", "data"}:
                continue
            elif parts.scheme:
                yield where
            elif path.name != "404.html":  # Its addresses begin at the root of the host.
                target = (path.parent / urllib.parse.unquote(parts.path)).resolve()
                target = target if parts.path else path
                if not target.exists():
                    yield where
                elif parts.fragment and target in parsed:
                    anchor = urllib.parse.unquote(parts.fragment)
                    # The theme's own, which leads to the beginning.
                    if anchor not in parsed[target].anchors | {"__top"}:
                        yield where


def test_a_notebook_is_a_page_with_its_outputs(site: Path) -> None:
    notebooks = site / "start" / "notebooks"
    page = (notebooks / "columns.html").read_text("utf-8")
    assert "trips have no price" in page  # printed
    assert page.count('<div class="shown">') >= 3  # tables
    assert (notebooks / "columns-1.png").read_bytes().startswith(b"\x89PNG")
    assert (notebooks / "columns.ipynb").exists()


def test_nothing_comes_from_another_host(parsed: dict[Path, Parsed]) -> None:
    foreign = [
        f"{path.name}: {address}"
        for path, page in parsed.items()
        for address in page.fetched
        if urllib.parse.urlsplit(address).netloc
    ]
    assert not foreign


def test_the_start_page_runs(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_DSN", dsn)
    assert docs_snippets.run_page(ROOT / "website" / "home.md") == 1


def test_fences_are_told_to_the_site() -> None:
    page = "```python no-run: needs three machines\nx\n```\n\n```text output\n1\n```\n"
    assert fences.rewritten(page) == (
        '```python title="not run by the tests: needs three machines"\nx\n```\n\n'
        "``` { .text .output .no-copy }\n1\n```\n"
    )


def test_a_browser_has_no_complaint(site: Path) -> None:
    complaints = asyncio.run(look_at_site.look(_program(), site, SAMPLE))
    assert complaints == []


BAD = """<body data-md-color-scheme="default"><article><p>Words.</p>
<p style="width: 60px">Donaudampfschifffahrtsgesellschaftskapitaen</p>
<img src="missing.png"><div style="width: 3000px">wide</div>
<script>undefined_function()</script><script src="http://127.0.0.2:9/elsewhere.js"></script>
<input class="md-search__input"></article></body>"""


def test_a_bad_page_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(BAD)
    complaints = asyncio.run(look_at_site.look(_program(), tmp_path, ["index.html"]))
    words = "\n".join(complaint.words for complaint in complaints)
    for part in (
        "text leaves its box: <p",
        "a picture is missing: missing.png",
        "the page scrolls sideways: 3",
        "a script failed: ReferenceError",
        "fetched from another host: http://127.0.0.2:9/elsewhere.js",
        "not found: http://127.0.0.1",
        "the scheme is default",
        "nothing is found for fetch_columns",
    ):
        assert part in words


def _program() -> str:
    program = browser.installed()
    if program is None:
        pytest.skip(f"none of {', '.join(browser.NAMES)} is installed")
    return program

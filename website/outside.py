"""Pages that stand outside docs/: the start page, and the project's own files and examples."""

from __future__ import annotations

import functools
from pathlib import Path

from website import notebooks
from website.contents import DOCS, ROOT

_HERE = Path(__file__).resolve().parent

#: The pages of the project, by their title.
_PROJECT = {
    "All pages": "docs/README.md",
    "Read me": "README.md",
    "Architecture": "ARCHITECTURE.md",
    "Contributing": "CONTRIBUTING.md",
    "Changelog": "CHANGELOG.md",
    "Security policy": "SECURITY.md",
    "Benchmarks": "benches/README.md",
    "Examples": "examples/README.md",
}
_LANGUAGES = {".py": "python", ".yml": "yaml", ".toml": "toml", ".html": "html", ".js": "js"}


def navigation() -> list[dict[str, str]]:
    """Return the project's pages by their titles."""
    return [{title: site_path(path) or path} for title, path in _PROJECT.items()]


@functools.cache
def pages() -> dict[str, str]:
    """Return the texts of these pages by their paths on the site."""
    made = {"index.md": (_HERE / "home.md").read_text("utf-8")}
    made |= {path: shown.text for path, shown in notebooks.pages().items()}
    for front in _PROJECT.values():
        made[f"project/{front}"] = (ROOT / front).read_text("utf-8")
    for path in sorted((ROOT / "examples").rglob("*")):
        language = _LANGUAGES.get(path.suffix)
        if path.is_file() and path.name != "__init__.py" and language:
            name = path.relative_to(ROOT).as_posix()
            text = path.read_text("utf-8").rstrip()
            title = f"---\nsearch:\n  exclude: true\n---\n\n# {name}\n\n"
            made[f"project/{name}.md"] = f"{title}~~~ {language}\n{text}\n~~~\n"
    licence = (ROOT / "LICENSE").read_text("utf-8")
    made["project/LICENSE.md"] = f"# Licence\n\n~~~ text\n{licence}~~~\n"
    for path in sorted((ROOT / "examples").glob("*/README.md")):
        name = path.relative_to(ROOT).as_posix()
        made[f"project/{name}"] = path.read_text("utf-8")
    return made


def assets() -> dict[str, Path]:
    """Return the files of the site's look by their paths on the site."""
    return {f"site/{path.name}": path for path in sorted((_HERE / "assets").iterdir())}


def repository_path(page: str) -> str:
    """Return where the text of a page of the site stands in the repository."""
    if page.startswith("project/"):
        return page.removeprefix("project/")
    return f"docs/{page}"


def site_path(path: str) -> str | None:
    """Return where the site has a file of the repository; None if it has it not."""
    if (ROOT / path).is_dir():
        path = f"{path}/README.md"
    known = pages()
    for place in (f"project/{path}", f"project/{path}.md"):
        if place in known:
            return place
    inside = path.removeprefix("docs/")
    if inside == path or not (DOCS / inside).exists():
        return None
    return inside.replace(".ipynb", ".md")

"""The hooks that MkDocs calls while it builds the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from website import fences, links, names, notebooks, outside, reference
from website.contents import sections

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the navigation: the index of docs/ has the sections and the order of the pages."""
    config.nav = [
        {"Start": "index.md"},
        *({title: pages} for title, pages in sections()),
        {"API": reference.navigation()},
        {"Project": outside.navigation()},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and those that stand outside docs/."""
    index = files.get_file_from_path("README.md")
    if index is not None:
        files.remove(index)
    for path, text in {**outside.pages(), **reference.pages()}.items():
        files.append(File.generated(config, path, content=text))
    for shown in notebooks.pages().values():
        for path, picture in shown.pictures.items():
            files.append(File.generated(config, path, content=picture))
    for path, source in outside.assets().items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(
    markdown: str,
    *,
    page: Page,
    config: MkDocsConfig,  # noqa: ARG001 - MkDocs names it
    files: Files,  # noqa: ARG001 - as well
) -> str:
    """Turn what the repository's pages say in its own way into what the site understands."""
    return fences.rewritten(links.rewritten(markdown, page.file.src_uri))


def on_page_content(
    html: str,
    *,
    page: Page,
    config: MkDocsConfig,  # noqa: ARG001 - MkDocs names it
    files: Files,  # noqa: ARG001 - as well
) -> str:
    """Link names of the package to the reference; the project's own pages stay as they are."""
    source = page.file.src_uri
    return html if source.startswith("project/") else names.linked(html, source)

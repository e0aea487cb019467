"""The notebooks of docs/ as pages: their words, their cells, and what the cells show."""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from website.contents import DOCS


class Shown(NamedTuple):
    """A notebook on the site: the text of its page, and its pictures by their paths."""

    text: str
    pictures: dict[str, bytes]


@functools.cache
def pages() -> dict[str, Shown]:
    """Return the notebooks by the paths of their pages."""
    found = sorted(DOCS.rglob("*.ipynb"))
    return {
        path.relative_to(DOCS).with_suffix(".md").as_posix(): shown(
            json.loads(path.read_text("utf-8")), path.relative_to(DOCS)
        )
        for path in found
    }


def shown(notebook: dict[str, Any], place: Path) -> Shown:
    """Return a notebook as the text of a page; `place` is that of its file in docs/."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_output(output, place, pictures) for output in cell["outputs"]]
    # The first cell has the title, and says what the notebook is.
    parts[0] += f'\n\n<a href="{place.name}" download>Download the notebook</a>'
    return Shown("\n\n".join(parts) + "\n", pictures)


def _output(output: dict[str, Any], place: Path, pictures: dict[str, bytes]) -> str:
    forms = output.get("data", {})
    if "image/png" in forms:
        path = place.with_name(f"{place.stem}-{len(pictures) + 1}.png")
        pictures[path.as_posix()] = base64.b64decode("".join(forms["image/png"]))
        return f"![The picture that the cell above draws]({path.name})"
    if "text/html" in forms:
        html = "".join(forms["text/html"])
        # An empty line would end the block of HTML.
        return f'<div class="shown">{html.replace(chr(10) * 2, chr(10))}</div>'
    text = "".join(output.get("text") or forms["text/plain"]).rstrip("\n")
    return f"```text output\n{text}\n```"

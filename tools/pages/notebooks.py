"""Runs the notebooks of docs/ in a kernel of ipykernel, and keeps what they show.

    python -m tools.pages.notebooks            run them, and write what they show
    python -m tools.pages.notebooks --check    run them, and fail where they show something else

Pictures are compared by their kind alone: their bytes depend on versions and fonts.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "docs" / "start" / "notebooks"
CELL_WITHIN_S = 300


def main() -> int:
    """Run every notebook; return 1 if one shows something else than it has."""
    parser = argparse.ArgumentParser(prog="tools.pages.notebooks", description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if not _kept(path, check=check)]
    for path in stale:
        print(
            f"{path.relative_to(ROOT)} is out of date: python -m tools.pages.notebooks",
            file=sys.stderr,
        )
    return bool(stale)


def _kept(path: Path, *, check: bool) -> bool:
    """Run a notebook; write what it shows, or compare it."""
    stored = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    fresh = ran(stored)
    if not check:
        nbformat.write(fresh, path)  # type: ignore[no-untyped-call]
        return True
    before, after = shown(stored), shown(fresh)
    sys.stderr.writelines(difflib.unified_diff(before, after, "stored", "shown now"))
    return before == after


def ran(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook after a run in an empty folder, without what differs between runs."""
    notebook = nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=CELL_WITHIN_S, resources=where).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    return notebook


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what the cells of a notebook show, as lines."""
    lines = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for kind, value in sorted(_forms(output).items()):
                is_text = not kind.startswith("image/")
                lines += [f"{cell.id}: {kind}\n", *(value.splitlines(keepends=True) * is_text)]
    return lines


def _forms(output: nbformat.NotebookNode) -> dict[str, Any]:
    if output.output_type == "stream":
        return {output.name: output.text}
    if output.output_type == "error":
        return {"error": output.evalue}
    return dict(output.data)


if __name__ == "__main__":
    sys.exit(main())

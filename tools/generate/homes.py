"""Writes the module of each public name, `colonnade/_words/homes.py`, from the lazy faces.

A face is a module that calls `lazy_names.attach`. The imports that type checkers see in it are the
one list of its names; the written table tells `attach` the same.

    python -m tools.generate.homes            write the table
    python -m tools.generate.homes --check    fail when it is not up to date
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "colonnade"
TABLE = PACKAGE / "_words" / "homes.py"
HEADER = '''\
"""The public names of each lazy module, and where each is made.

Generated from the imports that type checkers see in these modules, by tools/generate/homes.py.
"""

from __future__ import annotations

'''


def homes_of(face: ast.Module) -> dict[str, str]:
    """The names that a face imports for type checkers, and the module of each."""
    blocks = (node for node in face.body if isinstance(node, ast.If))
    return {
        alias.name: _home(str(node.module), alias.name)
        for node in next(blocks).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name != "*"
    }


def _home(module: str, name: str) -> str:
    """The module that has a name: for a module, itself."""
    inside = ROOT.joinpath(*module.split("."), name)
    is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
    return f"{module}.{name}" if is_module else module


def render() -> str:
    """The whole text of the table."""
    lines = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "_lazy_names.attach(" in text:
            inside = path.relative_to(ROOT).with_suffix("").parts
            lines.append(f'    "{".".join(inside).removesuffix(".__init__")}": {{\n')
            homes = sorted(homes_of(ast.parse(text)).items())
            lines += [f'        "{name}": "{home}",\n' for name, home in homes]
            lines.append("    },\n")
    return f"{HEADER}HOMES = {{\n{''.join(lines)}}}\n"


def main(arguments: list[str]) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args(arguments)
    text = render()
    if not options.check:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    if TABLE.exists() and TABLE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TABLE.relative_to(ROOT)} is not up to date: run python -m tools.generate.homes")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

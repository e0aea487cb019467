"""Counts the house: its rooms, floors, arrows and circles, and its lines by language.

    python -m tools.check.house

A room is an entry of the package, a module or a folder; an arrow is a pair of rooms, the first of
which imports the second. Rooms stand on one floor more than the highest room that they import; a
circle of rooms is one floor. Imports for type checkers count, because readers follow them, too. The
faces of the package count only as entries: they collect public names, and see every room.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import itertools
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "colonnade"

LANGUAGES = {
    ".rs": "Rust",
    ".py": "Python",
    ".pyi": "Python",
    ".js": "JavaScript",
    ".sql": "SQL",
    ".md": "Markdown",
}
# The mark near the top of a generated file.
GENERATED = re.compile(r"^(?:# |<!-- )?Generated (?:by|from) ", re.MULTILINE)
GENERATED_WITHIN_LINES = 5
# Of Rust, the tests that have files of their own.
TESTS = re.compile(r"(?:^|/)tests?(?:/|\.rs$)")

#: The kinds of files: of the package and its crates, of their tests, beside them, or generated.
KINDS = ("sources", "tests", "beside", "generated")

#: The nodes that each node of a graph leads to.
Graph = Mapping[str, set[str]]


@functools.cache
def python_files() -> list[tuple[Path, ast.Module]]:
    """Every module of the package, as it is on the disk."""
    return [(path, ast.parse(path.read_text("utf-8"))) for path in sorted(PACKAGE.rglob("*.py"))]


@functools.cache
def imported_modules(path: Path, tree: ast.AST) -> set[str]:
    """Absolute dotted names of all imports; for `from a import b`, `a.b`."""
    package = ("colonnade", *path.relative_to(PACKAGE).parent.parts)
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


def module_name(path: Path) -> str:
    """The dotted name to import a file by."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("colonnade", *(part for part in parts if part != "__init__")))


class Rooms:
    """The rooms of the package; a name with a dot is a room of the folder before the dot."""

    def __init__(self, order: Sequence[str]) -> None:
        """Know the rooms, from the lowest."""
        self.order = order
        self.folders = {room.split(".")[0] for room in order if "." in room} - {*order}

    def entries(self) -> Rooms:
        """The same with each folder as one room."""
        return Rooms(list(dict.fromkeys(room.split(".")[0] for room in self.order)))

    def named(self, parts: Sequence[str]) -> str:
        """The room of a path below the package, or of a dotted name."""
        first, *rest = [part.removesuffix(".py") for part in parts]
        inner = f"{first}.{rest[0]}" if rest and rest[0] != "__init__" else first
        return inner if first in self.folders or inner in self.order else first

    def of(self, path: Path) -> str:
        """The room in which a file stands."""
        return self.named(path.relative_to(PACKAGE).parts)

    def imported(self, path: Path, tree: ast.Module) -> set[str]:
        """Rooms that a file imports, without its own; public names of the faces are none."""
        parts = [name.split(".") for name in imported_modules(path, tree)]
        rooms = {self.named(name[1:]) for name in parts if name[0] == "colonnade" and name[1:]}
        return rooms & {*self.order} - {self.of(path)}

    def arrows(self) -> dict[str, set[str]]:
        """The rooms that each room imports."""
        graph: dict[str, set[str]] = {room: set() for room in self.order}
        for path, tree in python_files():
            if self.of(path) in graph:
                graph[self.of(path)] |= self.imported(path, tree)
        return graph

    def upwards(self) -> list[tuple[str, str]]:
        """Arrows from a room to one that stands behind it in the order."""
        place = {room: at for at, room in enumerate(self.order)}
        graph = self.arrows()
        return sorted((a, b) for a in graph for b in graph[a] if place[b] > place[a])

    def modules(self) -> dict[str, set[str]]:
        """The modules that each module imports; only those of rooms count."""
        files = {
            module_name(path): (path, tree)
            for path, tree in python_files()
            if self.of(path) in self.order
        }
        return {
            name: {
                found
                for wanted in imported_modules(path, tree)
                # A name that is imported from a module counts as the module.
                for found in [wanted if wanted in files else wanted.rpartition(".")[0]]
                if found in files and found != name
            }
            for name, (path, tree) in files.items()
        }


def circles(graph: Graph) -> list[list[str]]:
    """Nodes that lead to each other, the largest circles first (Tarjan's algorithm)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in graph[node]:
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            at = stack.index(node)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in graph:
        if node not in number:
            visit(node)
    return sorted(found, key=lambda circle: (-len(circle), circle))


def floors(graph: Graph) -> dict[str, int]:
    """The floor of each node, which is one above the highest that it leads to."""
    one_of = {node: circle[0] for circle in circles(graph) for node in circle}
    joined: dict[str, set[str]] = defaultdict(set)
    for node, others in graph.items():
        name = one_of.get(node, node)
        joined[name] |= {one_of.get(other, other) for other in others} - {name}
    floor: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(joined).static_order():
        floor[name] = 1 + max((floor[other] for other in joined[name]), default=0)
    return {node: floor[one_of.get(node, node)] for node in graph}


def listed(folder: str = ".") -> list[str]:
    """The files that git lists."""
    command = ["git", "ls-files", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def height(graph: Graph) -> int:
    """How many floors there are."""
    return max(floors(graph).values())


def count(graph: Graph) -> int:
    """How many arrows there are."""
    return sum(map(len, graph.values()))


def entries() -> set[str]:
    """The files and folders at the top of the package."""
    return {name.split("/")[1] for name in listed("colonnade")}


def is_generated(text: str) -> bool:
    """Whether the first lines say so."""
    return bool(GENERATED.search("\n".join(text.splitlines()[:GENERATED_WITHIN_LINES])))


def language_of(name: str, text: str) -> str | None:
    """The language of a file; data and pictures have none."""
    if text.startswith("#!/") and "." not in Path(name).name:
        return "Shell"
    return LANGUAGES.get(Path(name).suffix)


def kind_of(name: str, text: str) -> str:
    """The kind of a file, of `KINDS`."""
    if is_generated(text):
        return "generated"
    top = name.partition("/")[0]
    if top in {"tests", "samples", "fuzz"} or (top == "crates" and TESTS.search(name)):
        return "tests"
    return "sources" if top in {"colonnade", "crates"} else "beside"


def lines() -> dict[str, Counter[str]]:
    """The lines of each language, by kind."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in listed():
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        text = path.read_text("utf-8", errors="replace")
        language = language_of(name, text)
        if language is not None:
            found[language][kind_of(name, text)] += text.count("\n")
    return dict(found)


def main() -> None:
    """Print all of it."""
    # The tests hold the order, which is a rule.
    from tests.tidy.test_direction import ORDER

    rooms = Rooms(ORDER).entries()
    arrows = rooms.arrows()
    print(f"{len(entries()):8,} entries in colonnade/")
    print(f"{len(arrows):8,} rooms")
    print(f"{height(arrows):8,} floors")
    print(f"{count(arrows):8,} arrows")
    print(f"{len(rooms.upwards()):8,} arrows upwards")
    for importer, room in rooms.upwards():
        print(f"           {importer} -> {room}")
    found = circles(rooms.modules())
    print(f"{len(found):8,} circles of modules")
    for circle in found:
        print(f"           {len(circle)} in {common_folder(circle)}")
    print("\n" + f"{'lines':12}" + "".join(f"{kind:>12}" for kind in KINDS))
    for language, counts in sorted(lines().items(), key=lambda each: -each[1].total()):
        print(f"{language:12}" + "".join(f"{counts[kind]:12,}" for kind in KINDS))


def common_folder(circle: Sequence[str]) -> str:
    """The innermost package that holds all modules of a circle, or is one of them."""
    parts = zip(*(name.split(".") for name in circle), strict=False)
    return ".".join(names[0] for names in itertools.takewhile(lambda n: len(set(n)) == 1, parts))


if __name__ == "__main__":
    main()

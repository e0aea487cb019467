"""Generates the blocking half of the package from the asynchronous half.

``colonnade/_driver/_async`` is the source of truth; ``colonnade/_driver/_sync`` is written here and
never edited. The difference between the two is the table below and nothing else. Where the
asynchronous side holds something that has no blocking counterpart, it stands between two comments
``# async-only: begin`` and ``# async-only: end``, and is left out; a file whose first line is
``# async-only: file`` has no blocking counterpart at all.

Tests are made in the same way, but not kept in git, where each change would be a change of two
files: tests/conftest.py calls `make_tests` before a run, and so does `make build`.

    python -m tools.generate.unasync            write
    python -m tools.generate.unasync --tests    write tests whose sources have changed
    python -m tools.generate.unasync --check    fail on drift and on an unused substitution
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import tokenize
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Source folder -> generated folder; a folder that does not exist yet is skipped.
KEPT = {
    "colonnade/_driver/_async": "colonnade/_driver/_sync",
    "colonnade/jobs/disque/_async": "colonnade/jobs/disque/_sync",
    "colonnade/jobs/_async": "colonnade/jobs/_sync",
    "colonnade/incremental/_async": "colonnade/incremental/_sync",
    "colonnade/serve/_async": "colonnade/serve/_sync",
}
MADE = {
    "tests/async": "tests/sync",
    "tests/jobs/async": "tests/jobs/sync",
    "tests/faults/_async": "tests/faults/_sync",
    "tests/jobs/disque/_async": "tests/jobs/disque/_sync",
}

# A run of tokens -> its replacement. The longest run wins, so a dotted name may refine a word.
CODE = {
    "async def": "def",
    "async with": "with",
    "async for": "for",
    "await": "",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "StopAsyncIteration": "StopIteration",
    "AsyncGenerator": "Generator",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "AbstractAsyncContextManager": "AbstractContextManager",
    "Awaitable[None]": "None",
    "Awaitable[Any]": "Any",
    "Awaitable[object]": "object",
    "Coroutine[Any, Any, R]": "R",
    "Coroutine[Any, Any, None]": "None",
    "_transport.asyncio": "_transport.threads",
    "transport.asyncio": "transport.threads",
    "pool_core.asyncio": "pool_core.threads",
    "gather.asyncio": "gather.threads",
    "_loan.asyncio": "_loan.threads",
    "_tasks.asyncio": "_tasks.threads",
    "_tasks.hub.asyncio": "_tasks.hub.threads",
    # httpx's names.
    "AsyncClient": "Client",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    # A pool's blocking `acquire` returns the connection itself.
    "-> PoolAcquireContext": "-> PoolConnectionProxy",
    "PoolAcquireContext(self, self._lent, timeout, priority)": "self._lent(timeout, priority)",
    "_async": "_sync",
    "aclose": "close",
    # Names in tests.
    "aiter": "iter",
    "anext": "next",
    "asynccontextmanager": "contextmanager",
    "asyncio.sleep": "time.sleep",
    "colonnade.connect": "colonnade.sync.connect",
    "colonnade.ColumnStream": "colonnade.sync.ColumnStream",
    "colonnade.Connection": "colonnade.sync.Connection",
    "colonnade.Pool": "colonnade.sync.Pool",
    "colonnade.create_pool": "colonnade.sync.create_pool",
    "from colonnade import jobs": "from colonnade.jobs import sync as jobs",
    "pytestmark = pytest.mark.every_loop": "",
}

# Comments and strings follow the table's distinctive words; a keyword is prose unless code follows.
TEXT = {
    re.compile(r"\bawait (?=[\w.]+\()"): "",
    re.compile(r"\ban (`*)async (?=(?:context|def|for|iter|with))"): r"a \1",
    re.compile(r"\basync (?=(?:def|for|with)\b)"): "",
} | {
    re.compile(rf"(?<!\w){re.escape(old)}(?!\w)"): new
    for old, new in CODE.items()
    if " " not in old and old != "await"
}

ASYNC_ONLY_FILE = "# async-only: file\n"
HEADER = (
    "# Generated from {source} by tools/generate/unasync.py.\n# Never edit it: run `make sync`.\n"
)
# Of a made file; the number is that of its source and of this program.
MADE_HEADER = "# Generated from {source} by tools/generate/unasync.py: {number:08x}.\n"

_SKIPPED = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_TEXTUAL = {tokenize.COMMENT, tokenize.STRING}
_TEXTUAL |= {getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


# Split into tokens to compare with slices; the longest first.
_RUNS = sorted(
    (
        ([t.string for t in _tokens(old) if t.type not in _SKIPPED], old, new)
        for old, new in CODE.items()
    ),
    key=lambda run: -len(run[0]),
)


def drop_async_only(source: str, path: str) -> str:
    """Leaves out the marked regions, markers included."""
    kept: list[str] = []
    dropping = False
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        marker = line.strip()
        if marker in {"# async-only: begin", "# async-only: end"}:
            if dropping == marker.endswith("begin"):
                raise SystemExit(f"{path}:{number}: {marker} does not pair with the one before")
            dropping = not dropping
        elif not dropping:
            kept.append(line)
    if dropping:
        raise SystemExit(f"{path}: an async-only region has no end")
    return "".join(kept)


def translate(source: str, used: Counter[str]) -> str:
    """Applies both tables; everything else stays unchanged, character by character."""
    tokens = [token for token in _tokens(source) if token.type not in _SKIPPED]
    edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    i = 0
    while i < len(tokens):
        for run, old, new in _RUNS:
            last = i + len(run) - 1
            if [token.string for token in tokens[i : last + 1]] == run:
                # A removed word takes the following space with it.
                end = tokens[last].end if new else tokens[last + 1].start
                edits.append((tokens[i].start, end, new))
                used[old] += 1
                i = last
                break
        else:
            text = tokens[i].string
            if tokens[i].type in _TEXTUAL and (new := _translate_text(text)) != text:
                edits.append((tokens[i].start, tokens[i].end, new))
        i += 1
    return _apply(source, edits)


def _translate_text(text: str) -> str:
    for pattern, new in TEXT.items():
        text = pattern.sub(new, text)
    return text


def _apply(source: str, edits: list[tuple[tuple[int, int], tuple[int, int], str]]) -> str:
    line_starts = [0]
    for line in source.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))
    pieces: list[str] = []
    at = 0
    for (first_line, first_column), (last_line, last_column), new in edits:
        pieces += [source[at : line_starts[first_line - 1] + first_column], new]
        at = line_starts[last_line - 1] + last_column
    return "".join(pieces) + source[at:]


def _formatted(source: str, path: Path) -> str:
    """The text after ruff's fixes and formatting.

    Under their new names imports sort differently or are no longer used, members of a union
    coincide, and lines get shorter.
    """
    for command in (["check", "--fix-only", "--select", "I,F401,PYI016"], ["format"]):
        source = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", path, "-"],
            input=source,
            capture_output=True,
            check=True,
            cwd=ROOT,
            encoding="utf-8",
        ).stdout
    return source


def _pairs(folders: Mapping[str, str]) -> Iterator[tuple[Path, Path]]:
    """Each source of the folders, with the file that is generated from it."""
    for source_folder, target_folder in folders.items():
        for path in sorted((ROOT / source_folder).rglob("*.py")):
            if not path.read_text("utf-8").startswith(ASYNC_ONLY_FILE):
                yield path, ROOT / target_folder / path.relative_to(ROOT / source_folder)


def _standing(folders: Mapping[str, str]) -> set[Path]:
    return {path for folder in folders.values() for path in (ROOT / folder).rglob("*.py")}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _translated(path: Path, used: Counter[str]) -> str:
    return translate(drop_async_only(path.read_text("utf-8"), _name(path)), used)


def generate(used: Counter[str]) -> dict[Path, str]:
    """Every file that is kept in a generated folder, with its text."""
    return {
        target: _formatted(HEADER.format(source=_name(path)) + _translated(path, used), target)
        for path, target in _pairs(KEPT)
    }


def differences(files: dict[Path, str]) -> list[Path]:
    """The missing, stale and superfluous files of the generated folders."""
    standing = _standing(KEPT)
    stale = [
        path
        for path, text in files.items()
        if path not in standing or path.read_text("utf-8") != text
    ]
    return stale + sorted(standing - files.keys())


def make_tests() -> list[Path]:
    """Write the tests whose sources have changed, and return them.

    They are not formatted, so an environment without ruff can make them, too.
    """
    program = Path(__file__).read_bytes()
    written: list[Path] = []
    left_over = _standing(MADE)
    for path, target in _pairs(MADE):
        number = zlib.crc32(path.read_bytes() + program)
        header = MADE_HEADER.format(source=_name(path), number=number)
        if target not in left_over or not target.read_text("utf-8").startswith(header):
            target.parent.mkdir(parents=True, exist_ok=True)
            # Whole or not at all, also for another run of the tests at this moment.
            unfinished = target.with_suffix(f".{os.getpid()}")
            unfinished.write_text(header + _translated(path, Counter()), "utf-8")
            unfinished.replace(target)
            written.append(target)
        left_over.discard(target)
    for path in left_over:
        path.unlink()
    return written


def main(arguments: list[str]) -> int:
    """Writes the generated files, or with ``--check`` prints the differences."""
    parser = argparse.ArgumentParser(description="Generate the blocking API from the async one.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    parser.add_argument("--tests", action="store_true", help="write only the tests")
    options = parser.parse_args(arguments)
    if options.tests:
        make_tests()
        return 0
    used: Counter[str] = Counter()
    files = generate(used)
    if options.check:
        problems = _problems(files, used)
        print(*problems, sep="\n", end="\n" if problems else "")
        return bool(problems)
    for path in differences(files):
        if path not in files:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        print(_name(path))
    for path in make_tests():
        print(_name(path))
    return 0


def _problems(files: dict[Path, str], used: Counter[str]) -> list[str]:
    """The drifted files, and the substitutions that neither the package nor a test uses."""
    for path, _ in _pairs(MADE):
        _translated(path, used)
    drifted = [
        f"{_name(path)}: not what its source generates; run `make sync`"
        for path in differences(files)
    ]
    unused = [old for old in CODE if not used[old]] if files else []
    program = "tools/generate/unasync.py"
    return drifted + [f"{program}: nothing uses the substitution {old!r}" for old in unused]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

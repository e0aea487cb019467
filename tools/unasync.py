"""Generates the blocking half of the package from the asynchronous half.

``colonnade/_driver/_async`` is the source of truth; ``colonnade/_driver/_sync`` is written here and
never edited. The difference between the two is the table below and nothing else. Where the
asynchronous side holds something that has no blocking counterpart, it stands between two comments
``# async-only: begin`` and ``# async-only: end``, and is left out; a file whose first line is
``# async-only: file`` has no blocking counterpart at all.

    python -m tools.unasync            write
    python -m tools.unasync --check    fail on drift, and on a substitution that nothing uses
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Source folder -> generated folder; a folder that does not exist yet is skipped.
FOLDERS = {
    "colonnade/_driver/_async": "colonnade/_driver/_sync",
    "colonnade/jobs/disque/_async": "colonnade/jobs/disque/_sync",
    "colonnade/jobs/_async": "colonnade/jobs/_sync",
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
    "Awaitable[None]": "None",
    "Awaitable[Any]": "Any",
    "Awaitable[object]": "object",
    "Coroutine[Any, Any, R]": "R",
    "Coroutine[Any, Any, None]": "None",
    "AsyncioTransport": "BlockingTransport",
    "_transport.asyncio": "_transport.blocking",
    "transport.asyncio": "transport.blocking",
    "supply.asyncio": "supply.threads",
    "gather.asyncio": "gather.threads",
    "_tasks.asyncio": "_tasks.threads",
    "_tasks.hub_asyncio": "_tasks.hub_threads",
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
HEADER = "# Generated from {source} by tools/unasync.py.\n# Never edit it: run `make sync`.\n"

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


def generate(used: Counter[str]) -> dict[Path, str]:
    """Every file that should stand in the generated folders, with its text."""
    files: dict[Path, str] = {}
    for source_folder, target_folder in FOLDERS.items():
        for path in sorted((ROOT / source_folder).rglob("*.py")):
            if path.read_text("utf-8").startswith(ASYNC_ONLY_FILE):
                continue
            target = ROOT / target_folder / path.relative_to(ROOT / source_folder)
            name = path.relative_to(ROOT).as_posix()
            body = translate(drop_async_only(path.read_text("utf-8"), name), used)
            files[target] = _formatted(HEADER.format(source=name) + body, target)
    return files


def differences(files: dict[Path, str]) -> list[Path]:
    """The missing, stale and superfluous files of the generated folders."""
    standing = {
        path for folder in FOLDERS.values() for path in sorted((ROOT / folder).rglob("*.py"))
    }
    stale = [
        path
        for path, text in files.items()
        if path not in standing or path.read_text("utf-8") != text
    ]
    return stale + sorted(standing - files.keys())


def main(arguments: list[str]) -> int:
    """Writes the generated files, or with ``--check`` prints the differences."""
    parser = argparse.ArgumentParser(description="Generate the blocking API from the async one.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    check = parser.parse_args(arguments).check
    used: Counter[str] = Counter()
    files = generate(used)
    problems = [
        f"{path.relative_to(ROOT)}: not what its source generates; run `make sync`"
        for path in differences(files)
    ]
    if files:
        problems += [
            f"tools/unasync.py: nothing uses the substitution {old!r}"
            for old in CODE
            if not used[old]
        ]
    if check:
        print(*problems, sep="\n", end="\n" if problems else "")
        return bool(problems)
    for path in differences(files):
        if path not in files:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

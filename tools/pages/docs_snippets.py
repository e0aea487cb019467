"""Finds and runs the Python blocks and the shell blocks of a Markdown page.

The blocks of a page run from top to bottom, those of Python in one namespace, on one event loop,
with top-level ``await`` as in a notebook, and those of ``sh`` as they stand, in a shell. A block
that cannot run says why on its fence:

    ```python no-run: needs a cluster of three machines

A block ``text output`` behind another block is what that block prints. A line ``...`` stands for
any lines, and ``...`` within a line for any characters.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import inspect
import io
import re
import subprocess
import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+)(?P<info>.*)$")
_OUTPUT = "text output"
_AS_IT_IS = contextlib.nullcontext()
_LANGUAGES = {"python": "python", "py": "python", "sh": "sh"}
_NO_RUN = re.compile(r"no-run(?:: *(?P<reason>\S.*))?$")


class SnippetError(Exception):
    """A block breaks the rules above."""


@dataclass(frozen=True)
class Snippet:
    """One block: its text, its first line's number, the reason if it is not run.

    `output` is what the page says that it prints, if it says so.
    """

    path: Path
    line: int
    source: str
    no_run_reason: str | None
    output: str | None = None
    language: str = "python"


def snippets(path: Path) -> list[Snippet]:
    """The page's blocks of Python and sh, in order; raises for a fence that breaks the rules."""
    found: list[Snippet] = []
    opening: re.Match[str] | None = None
    body: list[str] = []
    first_line = 0
    printable = False  # Nothing but empty lines stands between here and such a block.
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if opening is None:
            if fence:
                opening, body, first_line = fence, [], number + 1
            printable = printable and (fence is not None or not line.strip())
        elif fence and fence["ticks"] == opening["ticks"] and not fence["info"].strip():
            language, _, options = opening["info"].strip().partition(" ")
            if language in _LANGUAGES:
                reason = _no_run_reason(options.strip(), f"{path}:{first_line - 1}")
                snippet = Snippet(path, first_line, "\n".join(body) + "\n", reason)
                found.append(replace(snippet, language=_LANGUAGES[language]))
                printable = True
            elif opening["info"].strip() == _OUTPUT:
                if not printable:
                    raise SnippetError(f"{path}:{first_line - 1}: no block above prints this")
                found[-1] = replace(found[-1], output="\n".join(body) + "\n")
                printable = False
            opening = None
        else:
            body.append(line.removeprefix(opening["indent"]))
    if opening is not None:
        raise SnippetError(f"{path}:{first_line - 1}: this block is never closed")
    return found


def _no_run_reason(options: str, where: str) -> str | None:
    if not options:
        return None
    match = _NO_RUN.match(options)
    if match is None:
        raise SnippetError(f"{where}: unknown option {options!r}; there is only `no-run: reason`")
    if match["reason"] is None:
        raise SnippetError(f"{where}: a block that is not run says why: `no-run: reason`")
    return match["reason"]


def run_page(path: Path, shell: Mapping[str, str] | None = None) -> int:
    """Runs the page's blocks and returns how many ran; tracebacks point into the page.

    `shell` is the environment of the blocks of sh; without it, they are not run.
    """
    namespace: dict[str, object] = {
        "__builtins__": builtins,
        "__file__": str(path),
        "__name__": "__main__",
    }
    ran = 0
    with asyncio.Runner() as runner:
        for snippet in snippets(path):
            if snippet.language == "sh":
                if shell is not None and snippet.no_run_reason is None:
                    _compare(snippet, run_in_shell(snippet, shell))
                    ran += 1
                continue
            code = _compiled(snippet)
            if snippet.no_run_reason is not None:
                continue
            function = types.FunctionType(code, namespace)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed) if snippet.output is not None else _AS_IT_IS:
                if code.co_flags & inspect.CO_COROUTINE:
                    runner.run(function())
                else:
                    function()
            _compare(snippet, printed.getvalue())
            ran += 1
    return ran


def run_in_shell(snippet: Snippet, environment: Mapping[str, str]) -> str:
    """Runs a block of sh as it stands, and returns what it prints to standard output.

    Raises for a command that fails, and for a variable that is not set: `$1` in double quotes is
    one, and was meant for the server.
    """
    command = ["bash", "-euo", "pipefail", "-c", snippet.source]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        raise SnippetError(
            f"{snippet.path}:{snippet.line}: exit status {done.returncode} of\n{snippet.source}"
            f"{done.stderr.decode(errors='replace')}"
        )
    return done.stdout.decode()


def _compare(snippet: Snippet, printed: str) -> None:
    """Raise if a block printed something else than the page says."""
    if snippet.output is None:
        return
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*?") + r"\n"
        for line in snippet.output.splitlines()
    )
    if not re.fullmatch(pattern, _without_trailing_blanks(printed)):
        raise SnippetError(
            f"{snippet.path}:{snippet.line}: the page says that this block prints\n"
            f"{snippet.output}but it printed\n{printed}"
        )


def _without_trailing_blanks(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _compiled(snippet: Snippet) -> types.CodeType:
    # Leading blank lines give every statement its line number on the page.
    source = "\n" * (snippet.line - 1) + snippet.source
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: types.CodeType = compile(
        source, str(snippet.path), "exec", flags=flags, dont_inherit=True
    )
    return code


def pages(root: Path) -> list[Path]:
    """The README and every page below docs."""
    return [path for path in (root / "README.md",) if path.exists()] + sorted(
        (root / "docs").rglob("*.md")
    )

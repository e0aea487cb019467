"""Stacks of a program, sampled by `perf` and folded: one line for each stack, with its count."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Samples per second.
HERTZ = 299
TIMEOUT_S = 300.0
DEPTH_MAX = 40
#: The outermost kernel functions to keep: they tell which system call it was.
KERNEL_MAX = 7
#: A stack with a smaller share of all samples than this is left out.
SHARE_MIN = 0.002
_FRAME = re.compile(r"^\s+[0-9a-f]+ (.+) \((.*)\)$")
#: Parts of a symbol's name that the compiler adds.
_HASH = re.compile(r"::h[0-9a-f]{16}$")
_GENERIC = re.compile(r"<[^<>]*>")
#: Consecutive frames of the interpreter's own loop carry no information and become one.
_INTERPRETER = re.compile(
    r"^_?Py|^_?py|^(method_|cfunction_|slot_|partial_|gen_|vectorcall|object_|context_run|task_|"
    r"builtin_exec|subtype_dealloc|tupledealloc|list_dealloc|tp_dealloc|FutureObj_|TaskObj_)"
)
#: Frames of the interpreter's start-up, before the program.
_START = re.compile(r"^(_start|main$|__libc_start|\[\[unknown\]\])")
#: Frames of imports, which are not part of a fetch: their stacks are left out.
_IMPORTS = ("builtin___import__", "_imp_exec_dynamic", "builtin_compile", "dl_open", "_dl_")


def unavailable() -> str | None:
    """Return why no stacks can be sampled, or None."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    done = subprocess.run(
        ["perf", "stat", "-e", "cpu-clock", "true"], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else "perf may not be used here"


def sampled(program: Sequence[str], given: str) -> list[str]:
    """Run the program with `given` as its standard input, and fold its stacks."""
    with tempfile.TemporaryDirectory(prefix="colonnade-perf-") as directory:
        data = str(Path(directory) / "data")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HERTZ), "-o", data]
        record += ["--call-graph", "dwarf,16384", "--", *program]
        subprocess.run(
            record, input=given, text=True, check=True, capture_output=True, timeout=TIMEOUT_S
        )
        script = ["perf", "script", "--no-inline", "-F", "ip,sym,dso", "-i", data]
        done = subprocess.run(script, text=True, check=True, capture_output=True, timeout=TIMEOUT_S)
    return fold(done.stdout.splitlines())


def fold(lines: Iterable[str]) -> list[str]:
    """Turn the output of `perf script` into lines of frames, the outermost first."""
    counted: Counter[str] = Counter()
    frames: list[str] = []
    for line in [*lines, ""]:
        if found := _FRAME.match(line):
            frames.append(readable(found[1], found[2]))
        elif not line.strip() and frames:
            if not any(frame.startswith(_IMPORTS) for frame in frames):
                counted[";".join(_shortened(frames[::-1]))] += 1
            frames = []
    total = sum(counted.values())
    return [
        f"{stack} {count}" for stack, count in sorted(counted.items()) if count >= total * SHARE_MIN
    ]


def readable(symbol: str, library: str) -> str:
    """Shorten a function's name for readers."""
    name = _HASH.sub("", symbol.partition("+0x")[0])
    if name == "[unknown]":
        return f"[{Path(library).name}]"
    if "kernel" in library or library.startswith("["):
        return f"{name} [kernel]"
    if _INTERPRETER.match(name):
        return "Python"
    while _GENERIC.search(name):
        name = _GENERIC.sub("", name)
    parts = [part for part in name.replace(";", ",").split("::") if part and part != "{{closure}}"]
    short = "::".join(parts[-2:]) or symbol
    return f"core::{short}" if "_core" in library and "::" not in short else short


def _shortened(frames: list[str]) -> list[str]:
    """Merge repeated frames, and drop those of the start-up and deep kernel frames."""
    kept: list[str] = []
    kernel = 0
    for frame in frames:
        kernel += frame.endswith("[kernel]")
        if kernel <= KERNEL_MAX and not _START.match(frame) and (not kept or kept[-1] != frame):
            kept.append(frame)
    return kept[:DEPTH_MAX]

"""Measures the line and branch coverage of ``colonnade`` and of the crates.

Arguments go to pytest. The tests run in a copy of the checkout with a separately built extension,
so the ordinary build is not touched. Tables are printed; reports of all lines go to
``build/coverage``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "coverage"
TREE = BUILT / "tree"
PROFILES = BUILT / "profiles"
# Directories made by other targets: the copy shares servers, programs and environment.
LINKED = (".tools", ".venv", "build", "target")
# The stable compiler counts branches only with this hidden option.
RUST_FLAGS = "-Cinstrument-coverage -Zcoverage-options=branch -Copt-level=1"
# Tests, programs, code only for tests or fuzzers, and libraries are not measured.
RUST_LEFT_OUT = (
    r"/tests/|/tests\.rs$|/testing\.rs$|/fuzzing/|/examples/|/benches/|/\.cargo/|^/rustc/"
)

# The lines, branches or regions of a file: how many ran, and the total.
Counts = dict[str, tuple[int, int]]


def main(arguments: Sequence[str]) -> int:
    """Build, test and report; return pytest's exit status."""
    for old in (TREE, PROFILES):
        shutil.rmtree(old, ignore_errors=True)
    for old in BUILT.glob(".coverage*"):
        old.unlink()
    profdata, cov = _llvm_tool("llvm-profdata"), _llvm_tool("llvm-cov")
    environment = os.environ | {
        "RUSTC_BOOTSTRAP": "1",
        "RUSTFLAGS": RUST_FLAGS,
        "CARGO_TARGET_DIR": str(BUILT / "target"),
        "PYO3_PYTHON": sys.executable,
        # Concurrent processes share four files, which they lock.
        "LLVM_PROFILE_FILE": str(PROFILES / "%4m.profraw"),
        "COVERAGE_FILE": str(BUILT / ".coverage"),
        "PYTHONPATH": str(TREE),
    }
    extension = _built(
        ["build", "--lib", "-p", "colonnade-python", "--features", "extension-module"], environment
    )[-1]
    _copy_checkout(extension)
    pytest = [sys.executable, "-m", "coverage", "run", "-m", "pytest", *arguments]
    failed = subprocess.run(pytest, env=environment, cwd=TREE, check=False).returncode
    programs = _built(["test", "--no-run", "--workspace"], environment)
    rust = ["cargo", "test", "--quiet", "--workspace"]
    rust_failed = subprocess.run(rust, env=environment, cwd=ROOT, check=False).returncode

    _report("Python, by room", _python_files(environment))
    merged = str(BUILT / "rust.profdata")
    raw = sorted(map(str, PROFILES.glob("*.profraw")))
    _run([profdata, "merge", "-o", merged, *raw], environment, ROOT)
    objects = [part for program in [extension, *programs] for part in ("-object", str(program))]
    chosen = ["-instr-profile", merged, f"-ignore-filename-regex={RUST_LEFT_OUT}", *objects]
    _report("Rust, by crate and room", _rust_files([cov, "export", "-summary-only", *chosen]))
    html = ["-format=html", "-show-branches=count", f"-output-dir={BUILT / 'rust'}"]
    _run([cov, "show", *html, *chosen], environment, ROOT)
    print("Every line: build/coverage/python/index.html, build/coverage/rust/index.html")
    return failed or rust_failed


def _llvm_tool(name: str) -> str:
    """The path of the compiler's own tool: the file formats change with each version."""
    command = ["rustc", "--print", "target-libdir"]
    libraries = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    tool = Path(libraries).parent / "bin" / name
    if not tool.exists():
        sys.exit(f"coverage: there is no {name}: `rustup component add llvm-tools` installs it")
    return str(tool)


def _run(command: Sequence[str], environment: dict[str, str], folder: Path) -> str:
    """Run a program that must succeed, and return its output."""
    ran = subprocess.run(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    return ran.stdout


def _built(command: Sequence[str], environment: dict[str, str]) -> list[Path]:
    """Build with cargo, and return the programs and libraries that it reports."""
    json_lines = ["--quiet", "--message-format=json-render-diagnostics"]
    found: list[Path] = []
    for line in _run(["cargo", *command, *json_lines], environment, ROOT).splitlines():
        message: dict[str, Any] = json.loads(line)
        if message.get("executable"):
            found.append(Path(message["executable"]))
        elif "cdylib" in message.get("target", {}).get("crate_types", ()):
            found += [
                Path(name) for name in message["filenames"] if name.endswith((".so", ".dylib"))
            ]
    return found


def _copy_checkout(extension: Path) -> None:
    """Copy the sources, with the measured extension in place of the ordinary one."""

    def left_out(folder: str, names: list[str]) -> Iterable[str]:
        here = {".git", *LINKED} if Path(folder) == ROOT else set[str]()
        return [name for name in names if name in here or name.endswith(".so")]

    shutil.copytree(ROOT, TREE, symlinks=True, ignore=left_out)
    for name in LINKED:
        (TREE / name).symlink_to(ROOT / name)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    shutil.copy2(extension, TREE / "colonnade" / f"_core{suffix}")


def _python_files(environment: dict[str, str]) -> Iterator[tuple[list[str], Counts]]:
    """Have coverage.py write its reports, and return its figures for each file."""
    coverage = [sys.executable, "-m", "coverage"]
    # The reports look for the sources in the directory where they ran.
    _run([*coverage, "combine", "--quiet"], environment, TREE)
    _run([*coverage, "html", "--quiet", f"--directory={BUILT / 'python'}"], environment, TREE)
    report = BUILT / "python.json"
    _run([*coverage, "json", "--quiet", "-o", str(report)], environment, TREE)
    for name, file in json.loads(report.read_text("utf-8"))["files"].items():
        found = file["summary"]
        yield (
            [str(Path(name).parent)],
            {
                "lines": (found["covered_lines"], found["num_statements"]),
                "branches": (found["covered_branches"], found["num_branches"]),
            },
        )


def _rust_files(export: Sequence[str]) -> Iterator[tuple[list[str], Counts]]:
    """Return llvm-cov's figures for each file."""
    exported = subprocess.run(export, capture_output=True, text=True, check=True).stdout
    (BUILT / "rust.json").write_text(exported, "utf-8")
    for file in json.loads(exported)["data"][0]["files"]:
        summary = file["summary"]
        room = Path(file["filename"]).parent.relative_to(ROOT)
        yield (
            [str(Path(*room.parts[:2])), str(room)],
            {
                part: (summary[part]["covered"], summary[part]["count"])
                for part in ("lines", "regions", "branches")
            },
        )


def _report(title: str, files: Iterable[tuple[list[str], Counts]]) -> None:
    """Print a line for each room, and the total."""
    rooms: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for places, counts in files:
        for part, (ran, all_there) in counts.items():
            for place in (*places, "all"):
                rooms[place][part][0] += ran
                rooms[place][part][1] += all_there
    parts = list(rooms["all"])
    width = max(map(len, (title, *rooms)))
    print(f"\n{title:{width}}" + "".join(f"{part:>24}" for part in parts))
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        print(f"{room:{width}}" + "".join(map(_share, rooms[room].values())))


def _share(counts: Sequence[int]) -> str:
    ran, all_there = counts
    share = f"{100 * ran / all_there:.1f}%" if all_there else "-"
    return f"{f'{ran} of {all_there}':>16}{share:>8}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

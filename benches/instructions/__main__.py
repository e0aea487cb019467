"""Counts instructions under callgrind, and compares them with those that are recorded.

    python -m benches.instructions            checks; the exit status is 1 where something changed
    python -m benches.instructions --record   writes expected.tsv anew

What is counted: `columns`, a value that is decoded into a column, and `values`, one that is read by
itself, for every type, in Rust alone; `rows`, a value of a fetched row as a Python object; `query`,
a whole small query of the client. Load, clock and caches of the machine do not matter; the
compiler, the interpreter and the C library do. So the tolerance is narrow where they are those of
the record, and wide where they are not: then only what costs a half more is told from a compiler
that does something else.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benches.instructions import callgrind, figures, queries
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.instructions.figures import Key

ROOT = Path(__file__).parents[2]
EXPECTED = Path(__file__).parent / "expected.tsv"
PROGRAM = "decode_bench"
#: A part is one call of this function.
PROGRAM_OPTIONS = (
    "--collect-atstart=no",
    f"--toggle-collect={PROGRAM}::counted",
    f"--dump-after={PROGRAM}::counted",
)
#: How far a figure may be from the recorded one, as a fraction. What passes through the interpreter
#: and a socket depends a little on how the bytes come in.
NARROW = {"columns": 0.05, "values": 0.05, "rows": 0.1, "query": 0.1}
WIDE = dict.fromkeys(NARROW, 0.5)
#: The figures that depend on the interpreter too.
OF_PYTHON = {"rows", "query"}


def main(words: Sequence[str] | None = None) -> int:
    """Check or record, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.instructions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--record", action="store_true", help="write expected.tsv anew")
    parser.add_argument("--expected", type=Path, default=EXPECTED, metavar="FILE")
    arguments = parser.parse_args(words)
    if (reason := unavailable()) is not None:
        print(f"instructions: skipped, {reason}")
        return 0
    started = time.monotonic()
    try:
        found = measure()
    except (callgrind.CallgrindError, embedded.EmbeddedServerError) as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    print(f"instructions: {len(found)} cases counted in {time.monotonic() - started:.0f} s")
    if arguments.record:
        figures.write(arguments.expected, figures.Recorded(made_with(), found))
        print(f"instructions: recorded in {arguments.expected}")
        return 0
    return check(figures.read(arguments.expected), found)


def unavailable() -> str | None:
    """Say why nothing can be counted here, if so."""
    if platform.machine() != "x86_64":
        return f"the figures are those of x86_64, and this is {platform.machine()}"
    return callgrind.unavailable()


def measure() -> dict[Key, float]:
    """Count all cases."""
    subprocess.run(
        [
            "cargo",
            "build",
            "--quiet",
            "--release",
            "-p",
            "colonnade-columnar",
            "--example",
            PROGRAM,
        ],
        cwd=ROOT,
        check=True,
    )
    program = ROOT / "target/release/examples" / PROGRAM
    out, parts = callgrind.run([str(program), "--count"], PROGRAM_OPTIONS)
    # What is left behind the last call is a part of its own, and empty.
    found = figures.of_lines(out.splitlines(), parts[: len(out.splitlines())])
    with embedded.start() as server:
        command = [sys.executable, str(Path(queries.__file__))]
        out, parts = callgrind.run(command, queries.OPTIONS, server.socket_dsn)
    # Every second part lies between the end of a case and the beginning of the next.
    return found | figures.of_lines(out.splitlines(), parts[1::2])


def made_with() -> dict[str, str]:
    """Name what the figures depend on."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return {
        "rustc": rustc.stdout.strip(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libc": " ".join(platform.libc_ver()),
        "valgrind": callgrind.version(),
        # The C library and simdutf8 choose their loops by what the processor has.
        "vectors": callgrind.vectors(),
    }


def tolerances(recorded: figures.Recorded, present: dict[str, str]) -> dict[str, float]:
    """Choose the tolerance of each kind by what is not as it was at the time of the record."""
    changed = {name for name, value in present.items() if recorded.made_with.get(name) != value}
    for name in sorted(changed):
        then = recorded.made_with.get(name, "nothing")
        print(f"instructions: {name} is {present[name]}, and {then} in the record")
    of_rust = WIDE if changed - {"python"} else NARROW
    return {what: (WIDE if changed and what in OF_PYTHON else of_rust)[what] for what in NARROW}


def check(recorded: figures.Recorded, found: dict[Key, float]) -> int:
    """Print what is not as recorded."""
    allowed = tolerances(recorded, made_with())
    differences = list(figures.compare(recorded.figures, found, allowed))
    shown = ", ".join(f"{what} {100 * fraction:g} %" for what, fraction in allowed.items())
    print(f"instructions: {len(differences)} differ by more than the tolerance ({shown})")
    for difference in differences:
        print(f"  {difference}")
    if differences:
        print("instructions: where that is meant, make instructions-record writes them down")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

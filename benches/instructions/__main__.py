"""Counts instructions under callgrind and compares them with the recorded counts.

    python -m benches.instructions            check; the exit status is 1 if a count changed
    python -m benches.instructions --record   rewrite expected.tsv

Four kinds of case are counted. In Rust alone, for every type: `columns`, decoding a value into a
column, and `values`, reading a single value. Through Python: `rows`, a value of a fetched row as a
Python object, and `query`, a whole small query of the client. The counts do not depend on the
machine's load, clock or caches, but on the compiler, the interpreter and the C library. If these
are the recorded versions, the tolerance is narrow. Otherwise it is wide: a difference between
compilers cannot be told from a small regression, so only a change by half or more fails.
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
    from collections.abc import Mapping, Sequence

    from benches.instructions.figures import Key

ROOT = Path(__file__).parents[2]
EXPECTED = Path(__file__).parent / "expected.tsv"
PROGRAM = "decode_bench"
#: callgrind ends a part at each call of this function.
PROGRAM_OPTIONS = (
    "--collect-atstart=no",
    f"--toggle-collect={PROGRAM}::counted",
    f"--dump-after={PROGRAM}::counted",
)
#: Whether a growing buffer is copied depends on what earlier cases left in the heap, so buffers of
#: a page or more are kept out of it.
PROGRAM_VARIABLES = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4096"}
#: How far a figure may be from the recorded one, as a fraction. Figures that involve the
#: interpreter and a socket vary a little with the sizes of the socket reads.
NARROW = {"columns": 0.05, "values": 0.05, "rows": 0.1, "query": 0.1}
WIDE = dict.fromkeys(NARROW, 0.5)
#: The kinds of case that also depend on the interpreter.
OF_PYTHON = {"rows", "query"}


def main(words: Sequence[str] | None = None) -> int:
    """Check or record, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.instructions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--record", action="store_true", help="rewrite expected.tsv")
    parser.add_argument("--expected", type=Path, default=EXPECTED, metavar="FILE")
    arguments = parser.parse_args(words)
    if (reason := unavailable()) is not None:
        print(f"instructions: skipped, {reason}")
        return 0
    started = time.monotonic()
    try:
        found = count_in_rust() | count_in_python()
        if not arguments.record:
            recorded = figures.read(arguments.expected)
            allowed = tolerances(recorded, made_with())
            found = settled(recorded, found, allowed)
    except (callgrind.CallgrindError, embedded.EmbeddedServerError) as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    print(f"instructions: {len(found)} cases counted in {time.monotonic() - started:.0f} s")
    if arguments.record:
        figures.write(arguments.expected, figures.Recorded(made_with(), found))
        print(f"instructions: recorded in {arguments.expected}")
        return 0
    return check(recorded, found, allowed)


def unavailable() -> str | None:
    """Return why nothing can be counted on this machine, or None."""
    if platform.machine() != "x86_64":
        return f"the recorded figures are for x86_64, and this machine is {platform.machine()}"
    return callgrind.unavailable()


def count_in_rust() -> dict[Key, float]:
    """Count the cases of columns and values."""
    build = ["cargo", "build", "--quiet", "--release", "-p", "colonnade-columnar", "--example"]
    subprocess.run([*build, PROGRAM], cwd=ROOT, check=True)
    place = ROOT / "target/release/examples"
    command = [f"./{PROGRAM}", "--count"]
    out, parts = callgrind.run(command, PROGRAM_OPTIONS, place=place, variables=PROGRAM_VARIABLES)
    # callgrind adds an empty part after the last call.
    return figures.of_lines(out.splitlines(), parts[: len(out.splitlines())])


def count_in_python() -> dict[Key, float]:
    """Count the cases of rows and queries, which ask a server."""
    with embedded.start() as server:
        command = [sys.executable, str(Path(queries.__file__))]
        out, parts = callgrind.run(command, queries.OPTIONS, server.socket_dsn)
    # Every second part lies between the end of a case and the beginning of the next.
    return figures.of_lines(out.splitlines(), parts[1::2])


def settled(
    recorded: figures.Recorded, found: dict[Key, float], allowed: Mapping[str, float]
) -> dict[Key, float]:
    """Count what asks a server again if it differs from the record, and take the lesser figures.

    On a busy machine, answers arrive in more pieces, and each read costs instructions.
    """
    differences = figures.compare(recorded.figures, found, allowed)
    if not any(difference.key[0] in OF_PYTHON for difference in differences):
        return found
    print("instructions: rows and queries are counted again, because some differ")
    again = count_in_python()
    return {key: min(figure, again.get(key, figure)) for key, figure in found.items()}


def made_with() -> dict[str, str]:
    """Return the versions and features that the figures depend on."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return {
        "rustc": rustc.stdout.strip(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libc": " ".join(platform.libc_ver()),
        "valgrind": callgrind.version(),
        # The C library and simdutf8 choose their loops by the processor's vector instructions.
        "vectors": callgrind.vectors(),
    }


def tolerances(recorded: figures.Recorded, present: dict[str, str]) -> dict[str, float]:
    """Choose each kind's tolerance: wide if a version it depends on has changed."""
    changed = {name for name, value in present.items() if recorded.made_with.get(name) != value}
    for name in sorted(changed):
        then = recorded.made_with.get(name, "nothing")
        print(f"instructions: {name} is {present[name]}, and {then} in the record")
    of_rust = WIDE if changed - {"python"} else NARROW
    return {what: (WIDE if changed and what in OF_PYTHON else of_rust)[what] for what in NARROW}


def check(
    recorded: figures.Recorded, found: Mapping[Key, float], allowed: Mapping[str, float]
) -> int:
    """Print every figure that differs from the record."""
    differences = list(figures.compare(recorded.figures, found, allowed))
    shown = ", ".join(f"{what} {100 * fraction:g} %" for what, fraction in allowed.items())
    print(f"instructions: {len(differences)} differ by more than the tolerance ({shown})")
    for difference in differences:
        print(f"  {difference}")
    if differences:
        print("instructions: if the change is intended, run `make instructions-record`")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

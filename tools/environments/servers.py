"""Downloads other versions of PostgreSQL, and runs the suite against each of them.

    python -m tools.environments.servers --fetch        download missing versions and stop
    python -m tools.environments.servers                run the suite against every version
    python -m tools.environments.servers 13 16 -- -x    run it against some; the rest is pytest's
    python -m tools.environments.servers 13 -- tests/async/test_copy.py

Without paths, it runs the tests that talk to a server. A failure with one version does not stop
the others. At the end, a line for each version gives the result, with its failed tests below.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.support import releases

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [
    f"tests/{name}"
    for name in (
        *("async", "sync", "columns", "types", "dbapi", "adbc", "frames", "parallel", "threads"),
        *("security", "unit", "faults", "processes", "leaks", "libraries", "examples"),
    )
]


@dataclass
class Outcome:
    """The result of the run against one version."""

    major: int
    exit_code: int = 1
    closing: str = "interrupted"
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the closing line, and a line for each failure."""
        word = "passed" if self.exit_code == 0 else "FAILED"
        first = f"PostgreSQL {releases.RELEASES[self.major].version}: {word}: {self.closing}"
        return "\n    ".join([first, *self.failures])


def fetch() -> None:
    """Download every version, and report those that cannot be downloaded."""
    for major in releases.RELEASES:
        try:
            print(f"PostgreSQL {releases.installed(major).version}: there")
        except releases.NotToBeHadError as error:
            print(f"PostgreSQL {major}: cannot be had: {error}")


def run(outcome: Outcome, arguments: list[str]) -> None:
    """Run the suite against one version, and record the result in the outcome."""
    try:
        releases.installed(outcome.major)
    except releases.NotToBeHadError as error:
        outcome.closing = f"cannot be had: {error}"
        return
    command = [sys.executable, "-m", "pytest", "-q", f"--server={outcome.major}", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
            if line.startswith(("FAILED tests/", "ERROR tests/")):
                outcome.failures.append(line.strip())
    outcome.exit_code, outcome.closing = process.returncode, last


def run_all(majors: list[int], arguments: list[str]) -> list[Outcome]:
    """Run the suite against one version after the other, until Ctrl-C."""
    outcomes: list[Outcome] = []
    for place, major in enumerate(majors, start=1):
        version = releases.RELEASES[major].version
        clock = f"{datetime.now().astimezone():%H:%M:%S}"
        print(f"\n=== PostgreSQL {version} ({place} of {len(majors)}), at {clock}", flush=True)
        outcomes.append(Outcome(major))
        try:
            run(outcomes[-1], arguments)
        except KeyboardInterrupt:
            break
    return outcomes


def main() -> None:
    """Do what the arguments say."""
    words = sys.argv[1:]
    if words == ["--fetch"]:
        fetch()
        return
    split = words.index("--") if "--" in words else len(words)
    majors = [int(word) for word in words[:split]] or sorted(releases.RELEASES)
    arguments = words[split + 1 :]
    if not any((ROOT / word.partition("::")[0]).exists() for word in arguments):
        arguments = [*FOLDERS, *arguments]
    outcomes = run_all(majors, arguments)
    print(f"\n=== {len(outcomes)} of {len(majors)} versions")
    for outcome in outcomes:
        print(outcome)
    sys.exit(len(outcomes) < len(majors) or any(outcome.exit_code != 0 for outcome in outcomes))


if __name__ == "__main__":
    main()

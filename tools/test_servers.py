"""Downloads other versions of PostgreSQL, and runs the suite against each of them.

    python -m tools.test_servers --fetch        download what is not there yet, and nothing else
    python -m tools.test_servers                run the suite against every version
    python -m tools.test_servers 13 16 -- -x    run it against some, with arguments for pytest

What is run are the tests that talk to a server. The closing line of each version is printed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support import releases

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["tests/async", "tests/columns", "tests/dbapi", "tests/types"]


def fetch() -> None:
    """Download every version, as far as that can be done."""
    for major in releases.RELEASES:
        try:
            print(f"PostgreSQL {releases.installed(major).version}: there")
        except releases.NotToBeHadError as error:
            print(f"PostgreSQL {major}: cannot be had: {error}")


def run(major: int, arguments: list[str]) -> tuple[int, str]:
    """Run the suite against one version; return its exit code and its closing line."""
    command = [sys.executable, "-m", "pytest", "-q", f"--server={major}", *FOLDERS, *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return process.returncode, last


def main() -> None:
    """Do what the arguments say."""
    words = sys.argv[1:]
    if words == ["--fetch"]:
        fetch()
        return
    split = words.index("--") if "--" in words else len(words)
    majors = [int(word) for word in words[:split]] or sorted(releases.RELEASES)
    outcomes = {major: run(major, words[split + 1 :]) for major in majors}
    for major, (_, closing) in outcomes.items():
        print(f"PostgreSQL {releases.RELEASES[major].version}: {closing}")
    sys.exit(any(code != 0 for code, _ in outcomes.values()))


if __name__ == "__main__":
    main()

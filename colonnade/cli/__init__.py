"""The command line: `colonnade query`, `export`, `import`, `doctor`, `demo` and so on.

The commands need `click` and `rich`; the extra `cli` installs both. The driver needs neither, and
the version, the check of a probe and the pages of `docs` are shown without them.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_NEEDED = ("click", "rich")
_INTERRUPTED = 130


def main() -> int:
    """Run the command line and return its exit status."""
    if sys.argv[1:3] == ["observe", "check"]:
        # A probe runs it every few seconds: see there.
        from colonnade.cli.observe.check import run_if_plain

        status = run_if_plain(sys.argv[3:])
        if status is not None:
            return status
    import importlib.util

    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing and sys.argv[1:2] == ["docs"]:
        from colonnade.cli.docs.pages import run as show_docs

        return show_docs(sys.argv[2:])
    if missing and sys.argv[1:] == ["--version"]:
        from colonnade import __version__

        print(f"colonnade, version {__version__}")
        return 0
    if missing:
        from colonnade._words.extras import how_to_install

        print(
            f"colonnade: the command line needs {' and '.join(missing)}. Install them:\n"
            f"    {how_to_install('cli', 'embedded')}",
            file=sys.stderr,
        )
        return 1
    try:
        from colonnade.cli.app import run

        return run()
    except KeyboardInterrupt:
        # Reached only while the libraries load; the command handles later interrupts itself.
        return _INTERRUPTED

"""The command line, run in this process."""

from __future__ import annotations

from colonnade.cli.app import cli


def colonnade_program(*words: object) -> None:
    """Run `colonnade WORDS`; an error is raised, and the rest goes to standard error."""
    cli.main([str(word) for word in words], prog_name="colonnade", standalone_mode=False)

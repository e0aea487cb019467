"""`colonnade observe check`, which a container's probe runs every few seconds.

So it needs neither click nor rich in its usual form, and writes to the descriptors themselves: the
exit status must not depend on who reads the output.
"""

from __future__ import annotations

import os

from colonnade.observe.beat.beat_file import judge

#: Seconds, if the command line does not say.
MAX_AGE = 5.0
_ALIVE, _NOT_ALIVE = 0, 1
_OPTION = "--max-age"


def run_if_plain(words: list[str]) -> int | None:
    """Run the command for arguments in its usual form; None for all others, which click reads."""
    plain = _parsed(words)
    if plain is None:
        return None
    try:
        return run(*plain)
    except ValueError:
        # click words the complaint.
        return None


def run(path: str, max_age: float) -> int:
    """Say in one line whether the beat is alive, and return the exit status.

    Raises ValueError for a path or a number that cannot be used.
    """
    is_alive, said = judge(path, max_age)
    line = f"{'alive' if is_alive else 'not alive'}: {said}\n"
    try:  # noqa: SIM105 - contextlib takes longer to import than all the rest
        os.write(1 if is_alive else 2, line.encode("utf-8", "backslashreplace"))
    except OSError:
        pass
    return _ALIVE if is_alive else _NOT_ALIVE


def _parsed(words: list[str]) -> tuple[str, float] | None:
    paths: list[str] = []
    max_age = str(MAX_AGE)
    rest = iter(words)
    for word in rest:
        if word == _OPTION:
            max_age = next(rest, "")
        elif word.startswith(f"{_OPTION}="):
            max_age = word.removeprefix(f"{_OPTION}=")
        elif word.startswith("-"):
            return None
        else:
            paths.append(word)
    if len(paths) != 1:
        return None
    try:
        return paths[0], float(max_age)
    except ValueError:
        return None

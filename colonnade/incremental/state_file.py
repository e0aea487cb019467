"""The state in a file, which always has a whole one."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError
from colonnade.incremental.request import check_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from colonnade.incremental.request import State


def load_state(path: str | os.PathLike[str]) -> State | None:
    """Return the state that the file has, or None if there is no file yet."""
    try:
        state = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise InterfaceError(f"{os.fspath(path)} has no state: remove it to read everything again")
    return state


def save_state(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Replace the file's state; after a crash it has the old one or the new one, on disk.

    If the path is a symbolic link, the file that it names is replaced.
    """
    check_state(state)
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(2, "there is no such directory", str(place.parent))
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("x", encoding="utf-8") as file:
            json.dump(dict(state), file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    except BaseException:
        with suppress(FileNotFoundError):
            beside.unlink()
        raise
    if os.name == "posix":
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

"""Virtual environments for peers whose libraries conflict with the others or are large.

There is one environment for each set of requirements, in `build/peers`. `--install` creates them
with uv; without it, only existing ones are used.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benches.measure.peer import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.measure.peer import Peer

ROOT = Path(__file__).parent.parent
DIRECTORY = ROOT / "build/peers"
TIMEOUT_S = 300.0


def furnish(peer: Peer, *, make: bool, directory: Path = DIRECTORY) -> Peer:
    """Give a peer that cannot run here an environment of its own, if it names one."""
    if peer.unavailable is None or not peer.environment:
        return peer
    place = directory / _name(peer.environment)
    python = place / "bin" / "python"
    if not python.exists():
        if not make:
            return dataclasses.replace(
                peer, unavailable=f"{peer.unavailable}; --install creates its environment"
            )
        try:
            _make(place, peer.environment)
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(place, ignore_errors=True)
            return dataclasses.replace(peer, unavailable=f"no environment: {_words(error)}")
    return _look(peer, python)


def _name(requirements: Sequence[str]) -> str:
    """Return the same name for the same requirements on the same interpreter."""
    first = _distribution(requirements[0])
    text = "\n".join([sys.version, *requirements])
    return f"{first}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _distribution(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _make(place: Path, requirements: Sequence[str]) -> None:
    own = ROOT / ".tools/bin/uv"
    uv = str(own) if own.exists() else shutil.which("uv")
    if uv is None:
        raise FileNotFoundError("uv was not found: `make build` installs it")
    python = str(place / "bin" / "python")
    commands = [[uv, "venv", "--quiet", "--python", sys.executable, str(place)]]
    if requirements:
        commands.append([uv, "pip", "install", "--quiet", "--python", python, *requirements])
    for command in commands:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)


def _look(peer: Peer, python: Path) -> Peer:
    """Ask the environment whether the peer can run in it, and which versions it has."""
    done = subprocess.run(
        [str(python), "-m", "benches.environments", peer.module, *peer.environment],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    if done.returncode != 0:
        return dataclasses.replace(peer, unavailable=done.stderr.strip().splitlines()[-1])
    told = json.loads(done.stdout)
    return dataclasses.replace(
        peer, python=str(python), unavailable=told["unavailable"], installed=told["installed"]
    )


def _words(error: Exception) -> str:
    told = getattr(error, "stderr", None) or str(error)
    return str(told).strip().splitlines()[-1]


def main(words: Sequence[str]) -> None:
    """Answer `_look` from inside that environment."""
    module, *requirements = words
    peer = describe(module)
    names = map(_distribution, requirements)
    installed = {name: importlib.metadata.version(name) for name in names}
    print(json.dumps({"unavailable": peer.unavailable, "installed": installed}))


if __name__ == "__main__":
    main(sys.argv[1:])

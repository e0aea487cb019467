"""A peer: a module for one driver and one way of fetching, found by listing its package.

The module describes itself in constants and has three functions, coroutines or not:

    TITLE = "asyncpg rows"          its name in tables and figures KIND = "rows" its result:
    "columns" or "rows"; or "floor" for a yardstick REQUIRES = ("asyncpg",)         the modules it
    requires LOOP = "asyncio"                the event loop of its coroutines; asyncio when left
    out

    connect(dsn) -> connection      imports the driver here, so that listing peers imports none
    fetch(connection, sql) -> Fetched close(connection)

A module may have `prepare(connection, sql)`, which runs before the measurement instead of the
small query that warms up a connection.

A module may have `unavailable() -> str | None`, which returns the reason why it cannot run here. A
peer that is a separate program has `command(dsn, sql) -> list[str]` instead of the three
functions.

A module whose libraries conflict with others may have `ENVIRONMENT`, the requirements of a
separate virtual environment, which the suite creates if given `--install`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

KINDS = ("floor", "columns", "rows")


@dataclass(frozen=True)
class Peer:
    """One way to fetch a result."""

    name: str
    title: str
    kind: str
    module: str
    requires: tuple[str, ...]
    #: Why it cannot run here; `None` if it can.
    unavailable: str | None
    command: Callable[[str, str], list[str]] | None = None
    #: The requirements of an environment in which it could run.
    environment: tuple[str, ...] = ()
    #: The interpreter of that environment if the peer runs there, else that of this process.
    python: str | None = None
    #: Versions in that environment; `None` if the peer runs in this one.
    installed: Mapping[str, str] | None = None

    @property
    def is_yardstick(self) -> bool:
        """Whether others are compared with it: a floor, or Colonnade."""
        return self.kind == "floor" or self.name.startswith("colonnade")

    def versions(self) -> dict[str, str]:
        """Return the installed versions of the modules that the peer requires."""
        if self.installed is not None:
            return dict(self.installed)
        found = {}
        for module in self.requires:
            distribution = module.replace("_", "-")
            try:
                found[distribution] = importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError:
                continue
        return found


def discover(package: ModuleType) -> list[Peer]:
    """List all peers of a package, floors first, including those that cannot run here."""
    modules = pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    peers = [describe(module.name) for module in modules]
    return sorted(peers, key=lambda peer: (KINDS.index(peer.kind), peer.name))


def describe(name: str) -> Peer:
    """Describe the peer in the module of this name."""
    module = importlib.import_module(name)
    requires: tuple[str, ...] = module.REQUIRES
    missing = [need for need in requires if importlib.util.find_spec(need) is None]
    reason = f"not installed: {', '.join(missing)}" if missing else None
    if reason is None and hasattr(module, "unavailable"):
        reason = module.unavailable()
    return Peer(
        name=name.rpartition(".")[2].replace("_", "-"),
        title=module.TITLE,
        kind=module.KIND,
        module=name,
        requires=requires,
        unavailable=reason,
        command=getattr(module, "command", None),
        environment=getattr(module, "ENVIRONMENT", ()),
    )


def choose(peers: Iterable[Peer], names: Iterable[str]) -> list[Peer]:
    """Return the peers with these names, in this order; raise `ValueError` for an unknown name."""
    known = {peer.name: peer for peer in peers}
    chosen = []
    for name in names:
        if name not in known:
            raise ValueError(f"no peer is called {name!r}; there are {', '.join(known)}")
        chosen.append(known[name])
    return chosen


def able_to_run(peers: Iterable[Peer]) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers that can run here, and the names of the others with the reasons."""
    able = []
    skipped = {}
    for peer in peers:
        if peer.unavailable:
            skipped[peer.name] = peer.unavailable
        else:
            able.append(peer)
    return able, skipped

"""Public names that load the module they live in when somebody first asks for them (PEP 562)."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def loader(face: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A module's `__getattr__`: `homes` maps each name to its module, or to itself for a module.

    A name that was asked for once is an ordinary name of the module `face` from then on.
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(
                f"module {face!r} has no attribute {name!r}", name=name, obj=sys.modules[face]
            )
        module = import_module(home)
        value = module if home == f"colonnade.{name}" else getattr(module, name)
        setattr(sys.modules[face], name, value)
        return value

    return load


def homes_of(modules: Mapping[str, str]) -> dict[str, str]:
    """`{name: module}` of `{module: "names, separated by spaces"}`."""
    return {name: home for home, names in modules.items() for name in names.split()}

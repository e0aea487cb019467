"""Public names whose modules are imported at first use (PEP 562)."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def loader(face: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for the module `face`.

    `homes` maps each name to its module; a submodule, and a face's `sync`, map to themselves. A
    name that was loaded becomes an ordinary attribute of `face`.
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(
                f"module {face!r} has no attribute {name!r}", name=name, obj=sys.modules[face]
            )
        module = import_module(home)
        is_module = home in {f"colonnade.{name}", f"{face}.sync"}
        value = module if is_module else getattr(module, name)
        setattr(sys.modules[face], name, value)
        return value

    return load


def homes_of(modules: Mapping[str, str]) -> dict[str, str]:
    """Convert `{module: "names separated by spaces"}` to `{name: module}`."""
    return {name: home for home, names in modules.items() for name in names.split()}

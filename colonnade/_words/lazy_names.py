"""Public names whose modules are imported at first use (PEP 562).

A module with such names imports them for type checkers only; `make sync` writes from these imports
where each name is made (`homes.py`).
"""

from __future__ import annotations

import sys
from importlib import import_module

from colonnade._words.homes import HOMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def attach(face: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of the module `face`.

    A name that was loaded becomes an ordinary attribute of `face`.
    """
    homes = HOMES[face]

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

    def names() -> list[str]:
        return sorted({*vars(sys.modules[face]), *homes})

    return load, names, sorted(homes)

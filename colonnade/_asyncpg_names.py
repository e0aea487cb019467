"""Colonnade under asyncpg's name, for libraries that import asyncpg."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import MutableSequence

from colonnade import errors
from colonnade._async import connect_address

# What `from asyncpg import *` brings, beside every exception.
_STARRED = ("Connection", "Pool", "Record", "connect", "create_pool")
#: The release of asyncpg whose behaviour Colonnade has; libraries compare it with what they need.
ASYNCPG_VERSION = "0.32.0"

# Modules of asyncpg that other code imports, with Colonnade's module of the same name.
SUBMODULES = (
    "connection",
    "cursor",
    "exceptions",
    "pgproto",
    "pgproto.pgproto",
    "pgproto.types",
    "pool",
    "prepared_stmt",
    "protocol",
    "protocol.protocol",
    "transaction",
    "types",
)


def install_as_asyncpg() -> None:
    """Make `import asyncpg` give Colonnade, everywhere in this process from now on.

    Call it once, at the very start, before anything imports asyncpg: a library that holds the real
    one would go on with it. `asyncpg.__version__` is then "0.32.0", the release that Colonnade is
    compatible with. A second call does nothing.

    Raises InterfaceError where the real asyncpg has been imported already.
    """
    present = sys.modules.get("asyncpg")
    if isinstance(present, _AsyncpgModule):
        return
    loaded = sorted(name for name in sys.modules if name.split(".")[0] == "asyncpg")
    if loaded:
        raise errors.InterfaceError(
            "asyncpg has been imported already, and what holds it would not see Colonnade",
            detail=f"These modules are loaded: {', '.join(loaded[:5])}.",
            hint="Call colonnade.install_as_asyncpg() before the first import that needs asyncpg.",
        )
    modules = {f"asyncpg.{name}": _counterpart(name) for name in SUBMODULES}
    # Not public: tools replace a function in it.
    modules["asyncpg.connect_utils"] = connect_address
    sys.modules["asyncpg"] = _AsyncpgModule()
    sys.modules.update(modules)


def _counterpart(name: str) -> types.ModuleType:
    return importlib.import_module(f"colonnade.{name}")


class _AsyncpgModule(types.ModuleType):
    """`colonnade` under another name and version.

    A module of its own, so that `colonnade.__version__` stays what it is, and so that what replaces
    functions of asyncpg does that here alone.
    """

    def __init__(self) -> None:
        super().__init__("asyncpg", "Colonnade, under the name of asyncpg.")
        colonnade = importlib.import_module("colonnade")
        self.__version__ = ASYNCPG_VERSION
        self.__all__ = [*_STARRED, *errors.__all__]
        self.__file__ = colonnade.__file__
        # A package without a place: `import asyncpg.other` is a ModuleNotFoundError, and
        # `importlib.util.find_spec("asyncpg")` finds something.
        self.__path__: MutableSequence[str] = []
        self.__spec__ = importlib.machinery.ModuleSpec("asyncpg", None, is_package=True)
        for name in SUBMODULES:
            if "." not in name:
                setattr(self, name, _counterpart(name))
        self.connect_utils = connect_address

    def __getattr__(self, name: str) -> object:
        if name[0] == "_":
            raise AttributeError(f"module 'asyncpg' has no attribute {name!r}", name=name, obj=self)
        return getattr(importlib.import_module("colonnade"), name)

    def __dir__(self) -> list[str]:
        public = (name for name in dir(importlib.import_module("colonnade")) if name[0] != "_")
        return sorted({*vars(self), *public})

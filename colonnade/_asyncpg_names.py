"""Colonnade under asyncpg's name, for libraries that import asyncpg."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import MutableSequence

from colonnade import errors
from colonnade._driver._async import connect_address

# The names that `from asyncpg import *` imports, besides the exceptions.
_STARRED = ("Connection", "Pool", "Record", "connect", "create_pool")
#: The release of asyncpg that Colonnade is compatible with; libraries check it.
ASYNCPG_VERSION = "0.32.0"

# asyncpg's modules that other code imports; Colonnade has a module of the same name for each.
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
    """Make `import asyncpg` import Colonnade, everywhere in this process.

    Call it at the very start, before anything imports asyncpg: a library that has imported the real
    asyncpg would continue to use it. `asyncpg.__version__` is then "0.32.0", the release that
    Colonnade is compatible with. A second call does nothing.

    Raises InterfaceError if the real asyncpg was imported already.
    """
    present = sys.modules.get("asyncpg")
    if isinstance(present, _AsyncpgModule):
        return
    loaded = sorted(name for name in sys.modules if name.split(".")[0] == "asyncpg")
    if loaded:
        raise errors.InterfaceError(
            "asyncpg is already imported, and modules that imported it would continue to use it",
            detail=f"These modules are loaded: {', '.join(loaded[:5])}.",
            hint="Call colonnade.install_as_asyncpg() before the first import that needs asyncpg.",
        )
    modules = {f"asyncpg.{name}": _counterpart(name) for name in SUBMODULES}
    # Not public in asyncpg, but tracing tools replace a function in it.
    modules["asyncpg.connect_utils"] = connect_address
    sys.modules["asyncpg"] = _AsyncpgModule()
    sys.modules.update(modules)


def _counterpart(name: str) -> types.ModuleType:
    return importlib.import_module(f"colonnade.{name}")


class _AsyncpgModule(types.ModuleType):
    """`colonnade` under another name and version.

    A separate module, so that `colonnade.__version__` does not change, and so that tools which
    replace functions of asyncpg do not change `colonnade`.
    """

    def __init__(self) -> None:
        super().__init__("asyncpg", "Colonnade, under the name of asyncpg.")
        colonnade = importlib.import_module("colonnade")
        self.__version__ = ASYNCPG_VERSION
        self.__all__ = [*_STARRED, *errors.__all__]
        self.__file__ = colonnade.__file__
        # A package without a directory: `import asyncpg.other` raises ModuleNotFoundError, and
        # `importlib.util.find_spec("asyncpg")` works.
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

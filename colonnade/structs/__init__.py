"""Typed records as bytes: ``@struct`` classes, whose instances are kept in ``bytea``.

    from colonnade.structs import Struct, struct

    @struct
    class Facts(Struct):
        number: int
        created: "datetime64[s]"
        author: str | None
        labels: list[str] = []

An instance is a view over its bytes: it is a parameter as it is, and a column of such bytes becomes
columns in one native pass. See `colonnade docs structs`.
"""

from __future__ import annotations

from colonnade._words import lazy_names as _lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Type checkers see here what `_HOMES` loads.
    from colonnade.structs.annotations import Ascii, Extra, Fixed
    from colonnade.structs.base import Struct
    from colonnade.structs.decorator import struct
    from colonnade.structs.sql import create_sql

_HOMES = _lazy_names.homes_of(
    {
        "colonnade.structs.annotations": "Ascii Extra Fixed",
        "colonnade.structs.decorator": "struct",
        "colonnade.structs.sql": "create_sql",
        "colonnade.structs.base": "Struct",
    }
)

__all__ = ["Ascii", "Extra", "Fixed", "Struct", "create_sql", "struct"]

__getattr__ = _lazy_names.loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

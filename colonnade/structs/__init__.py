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
    from colonnade.structs.annotations import Ascii as Ascii, Extra as Extra, Fixed as Fixed
    from colonnade.structs.base import Struct as Struct
    from colonnade.structs.decorator import struct as struct
    from colonnade.structs.sql import create_sql as create_sql

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _lazy_names.attach(__name__)

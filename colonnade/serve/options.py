"""The options of `TableResponse`, for the classes that pass them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from colonnade.formats.dialects import Csv, Numbers


class Options(TypedDict, total=False):
    """The keyword arguments of `colonnade.serve.TableResponse`, explained there."""

    formats: Sequence[str] | None
    numbers: Numbers
    csv: Csv
    etag: str | None
    filename: str | None
    headers: Mapping[str, str] | None
    json_rows_max: int
    stall_timeout: float | None

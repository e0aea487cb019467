"""Without an optional library, calls that need it say how to install it, and the rest works."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from colonnade._words.extras import how_to_install
from colonnade.columns import Columns

if TYPE_CHECKING:
    from tests.columns.conftest import Fetch

QUERY = "select 1 as i, 'x' as t, null::text as n, 1.5 as d, now() as z, '1'::json as j"


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("numpy", lambda cols: cols["i"]),
        ("numpy", lambda cols: cols["t"]),
        ("numpy", Columns.to_numpy),
        ("numpy", Columns.to_structured),
        ("numpy", lambda cols: cols.null_mask("i")),
        ("pandas", Columns.to_pandas),
        ("polars", Columns.to_polars),
        ("pyarrow", Columns.to_arrow),
        ("pyarrow", lambda cols: cols.to_pandas("arrow")),
        ("pyarrow", lambda cols: cols.to_pandas(decimals="decimal")),
    ],
)
def test_advice(
    fetch: Fetch,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    use: Callable[[Columns], Any],
) -> None:
    cols = fetch(QUERY)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=re.escape(f"needs {library}: {how_to_install(library)}")):
        use(cols)


def test_rows_and_tables_need_nothing(fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    cols = fetch(QUERY)
    for library in ("numpy", "pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
    assert cols[:1].to_pylist()[0]["t"] == "x"
    assert cols.to_pydict()["n"] == [None]
    assert "NULL" in repr(cols)
    assert "NULL" in cols._repr_html_()
    assert cols.__arrow_c_stream__() is not None


def test_pandas_without_pyarrow(fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    cols = fetch(QUERY)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = cols.to_pandas()
    assert str(frame["t"].dtype) == "str"
    assert frame["t"].tolist() == ["x"]
    assert frame["n"].isna().tolist() == [True]
    assert str(frame["d"].dtype) == "float64"
    assert str(cols.to_pandas(decimals="object")["d"].dtype) == "object"
    assert cols.to_pandas("nullable")["t"].dtype.storage == "python"


def test_nested_columns_in_pandas_without_pyarrow(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    cols = fetch("select array[1, null] as a, '[1,2)'::int4range as r, '101'::bit(3) as b")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = cols.to_pandas()
    assert [str(dtype) for dtype in frame.dtypes] == ["object", "object", "str"]
    assert frame["a"][0] == [1, None]
    assert frame["r"][0] == cols.to_pydict()["r"][0]
    assert frame["b"][0] == "101"

"""The format that a request gets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from colonnade.formats.streams import STREAMS
from colonnade.serve.negotiation import chosen

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
NDJSON = "application/x-ndjson"
CSV = "text/csv"


def type_for(accept: str | None, query: str = "") -> str | None:
    offers = [form for form in STREAMS if form.name in {"arrow", "parquet"}]
    choice = chosen(query, accept, offers)
    return None if choice is None else choice.content_type


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, ARROW),
        ("", ARROW),
        ("*/*", ARROW),
        ("application/*", ARROW),
        (PARQUET, PARQUET),
        ("text/html", None),
        ("text/html,application/xhtml+xml,*/*;q=0.8", ARROW),
        (f"{ARROW};q=0.5, {PARQUET}", PARQUET),
        (f"{ARROW};q=0.5, {PARQUET};q=0.5", ARROW),
        (f"{PARQUET};q=0.9, */*;q=0.1", PARQUET),
        (f"*/*, {ARROW};q=0", PARQUET),
        (f"{ARROW};q=0", None),
        (f"{ARROW};codecs=zstd", f"{ARROW}; codecs=zstd"),
        (f'{ARROW};codecs="zstd"', f"{ARROW}; codecs=zstd"),
        (f"{ARROW};codecs=brotli", None),
        (f"{ARROW};codecs=zstd, {ARROW};q=0.5", f"{ARROW}; codecs=zstd"),
        (f"{ARROW};codecs=zstd;q=0.1, {ARROW}", ARROW),
        (f"{ARROW};codecs=brotli, {ARROW};q=0.5", ARROW),
        (f"{ARROW.upper()} ; Q=1", ARROW),
        (f"{ARROW}; CODECS=ZSTD", f"{ARROW}; codecs=zstd"),
        (f"{PARQUET}; charset=UTF-8", PARQUET),
        (f"{PARQUET}; charset=latin-1", PARQUET),
        ("nonsense, ;;, q=1, " + PARQUET, PARQUET),
        (f"{PARQUET};q=nonsense", PARQUET),
        ("*/*;q=0", None),
        ("x" * 10_000 + "/y, */*", None),
    ],
)
def test_the_accept_header_decides(accept: str | None, expected: str | None) -> None:
    assert type_for(accept) == expected


JSON = "application/json"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        # Headers that clients send of their own accord.
        (f"{JSON}, text/plain, */*", JSON),
        (f"{JSON};charset=utf8, */*", JSON),
        (f"{JSON}; charset=iso-8859-1", JSON),
        (f"{JSON}; charset=UTF-8, */*; q=0.8", JSON),
        (f"{JSON};odata=verbose", JSON),
        (f"{JSON}; indent=4", JSON),
        (f"text/html, image/gif, {JSON}; indent=4, *; q=.2, */*; q=.2", JSON),
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", ARROW),
        ("*", ARROW),
        ("*;q=0.1", ARROW),
        # A form that nobody offers says less than the format itself.
        (f"{JSON};odata=verbose;q=0.1, {JSON};q=0.9, {ARROW};q=0.5", JSON),
        (f"{JSON};odata=verbose;q=0, */*;q=0.1, {ARROW};q=0", JSON),
        (f"{JSON};odata=verbose;q=0", None),
        (f"{JSON};charset=utf-8;q=0, */*;q=0.1, {ARROW};q=0", f"{CSV}; csv=rfc4180"),
        # A parameter of the format decides, whatever stands beside it.
        (f"{ARROW};codecs=zstd;charset=binary", f"{ARROW}; codecs=zstd"),
        (f"{ARROW};codecs=brotli;charset=binary", None),
        # Weights come first, then what is named, then the order of the offers.
        (f"{JSON};q=0.5, {ARROW};q=0.9", ARROW),
        (f"{JSON};q=0.9, {ARROW};q=0.5, */*;q=0.9", JSON),
        (f"text/csv, {JSON}", JSON),
        ("text/*, */*;q=0.9", f"{CSV}; csv=rfc4180"),
        ("application/*, text/csv", f"{CSV}; csv=rfc4180"),
    ],
)
def test_json_for_whom_asks_for_it(accept: str, expected: str | None) -> None:
    offers = [form for form in STREAMS if form.name in {"arrow", "json", "csv"}]
    choice = chosen("", accept, offers)
    assert (None if choice is None else choice.content_type) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("format=parquet", PARQUET),
        ("format=arrow&codecs=lz4", f"{ARROW}; codecs=lz4"),
        ("codecs=lz4", ARROW),
        ("format=arrow&codecs=brotli", None),
        ("format=", None),
        ("format=xlsx", None),
        ("a=1&format=parquet&b=%ff", PARQUET),
    ],
)
def test_the_query_wins(query: str, expected: str | None) -> None:
    assert type_for(ARROW, query) == expected


@given(st.text())
def test_no_header_is_an_error(accept: str) -> None:
    type_for(accept)


@given(st.text(alphabet='*/;,=q.01"\\ abc'))
def test_nothing_that_looks_like_a_header_is_an_error(accept: str) -> None:
    type_for(accept)


@pytest.mark.parametrize(
    ("accept", "query", "expected"),
    [
        (NDJSON, "", f"{NDJSON}; numbers=javascript"),
        (f"{NDJSON};numbers=exact", "", f"{NDJSON}; numbers=exact"),
        (f'{NDJSON};numbers="exact";end=true', "", f"{NDJSON}; numbers=exact; end=true"),
        (f"{NDJSON};numbers=exact;q=0.5, {NDJSON}", "", f"{NDJSON}; numbers=javascript"),
        (f"{NDJSON};numbers=rounded", "", None),
        (f"{CSV};csv=copy", "", f"{CSV}; csv=copy"),
        (None, "format=ndjson&numbers=exact", f"{NDJSON}; numbers=exact"),
        (None, "format=csv&csv=copy&header=absent", f"{CSV}; csv=copy; header=absent"),
        (None, "format=csv&csv=excel", None),
    ],
)
def test_dialects(accept: str | None, query: str, expected: str | None) -> None:
    offers = [form for form in STREAMS if form.name in {"ndjson", "csv"}]
    choice = chosen(query, accept, offers)
    assert (None if choice is None else choice.content_type) == expected


def test_a_server_may_prefer_another_dialect() -> None:
    offers = [
        form.preferring({"numbers": "exact", "csv": "copy"})
        for form in STREAMS
        if form.name in {"ndjson", "csv"}
    ]
    for accept, expected in (
        (None, f"{NDJSON}; numbers=exact"),
        (NDJSON, f"{NDJSON}; numbers=exact"),
        (CSV, f"{CSV}; csv=copy"),
        (f"{NDJSON};numbers=javascript", f"{NDJSON}; numbers=javascript"),
        (f"{CSV};csv=rfc4180, {NDJSON};q=0.1", f"{CSV}; csv=rfc4180"),
    ):
        choice = chosen("", accept, offers)
        assert choice is not None
        assert choice.content_type == expected

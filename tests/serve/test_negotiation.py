"""Which format a request gets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from colonnade.formats.streams import STREAMS
from colonnade.serve.negotiation import chosen

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"


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
        (f"{PARQUET}; charset=latin-1", None),
        ("nonsense, ;;, q=1, " + PARQUET, PARQUET),
        (f"{PARQUET};q=nonsense", PARQUET),
        ("*/*;q=0", None),
        ("x" * 10_000 + "/y, */*", None),
    ],
)
def test_the_accept_header_decides(accept: str | None, expected: str | None) -> None:
    assert type_for(accept) == expected


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

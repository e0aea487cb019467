"""numeric as floats in pandas, compared with the server's cast and pandas' own read_sql."""

from __future__ import annotations

import math
import struct
import sys
import warnings
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import hypothesis
import pandas as pd
import pytest
import sqlalchemy
from hypothesis import strategies as st

import colonnade
import colonnade.sync
from colonnade import read_sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.filterwarnings("ignore::colonnade.InexactDecimalWarning")

# Numbers with all digits of a float, or of the middle between two floats.
EXACT = Context(prec=2000)
LEAST = math.ulp(0.0)
# The middle above the largest float, and all larger numbers, are out of range.
HALF = EXACT.divide(Decimal(math.ulp(sys.float_info.max)), Decimal(2))
BEYOND = EXACT.add(Decimal(sys.float_info.max), HALF)

EDGES = """VALUES (1, 'NaN'), (2, 'Infinity'), (3, '-Infinity'), (4, '1e100'), (5, '-1e100'),
                  (6, '1e400'), (7, '-1e400'), (8, '1e-320'), (9, '1e-400'), (10, '-1e-400'),
                  (11, '0'), (12, '-0.00'), (13, NULL), (14, '0.1'), (15, '12345678901234567.89'),
                  (16, '1.7976931348623158e308'), (17, '1.7976931348623159e308'),
                  (18, '1e131071'), (19, '1e-16383'), (20, '9007199254740993')"""
QUERY = f"SELECT v::numeric AS v FROM ({EDGES}) AS x (k, v) ORDER BY k"


@pytest.fixture(scope="module")
def psycopg_engine(dsn: str) -> Iterator[sqlalchemy.Engine]:
    url = dsn.replace("postgresql://", "postgresql+psycopg://")
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    with colonnade.sync.connect(dsn) as connection:
        yield connection


def bits(floats: Sequence[float]) -> list[str | bytes]:
    """The bits of floats for comparison; every NaN gives the same bits."""
    return ["NaN" if math.isnan(value) else struct.pack("d", value) for value in floats]


@pytest.mark.parametrize("rows", [None, 3])
def test_pandas_reads_the_same(
    dsn: str, psycopg_engine: sqlalchemy.Engine, rows: int | None
) -> None:
    want = pd.read_sql(QUERY, psycopg_engine)["v"]
    assert want.dtype == "float64"
    options: dict[str, Any] = {} if rows is None else {"batch_rows": rows}
    made: Any = read_sql(QUERY, dsn, **options)
    frames = [made] if rows is None else list(made)
    assert {str(frame["v"].dtype) for frame in frames} == {"float64"}
    got = [value for frame in frames for value in frame["v"].tolist()]
    assert bits(got) == bits(want.tolist())


def middle(float_: float) -> Decimal:
    """The exact middle between a float and the next one."""
    following = Decimal(math.nextafter(float_, math.inf))
    return EXACT.divide(EXACT.add(Decimal(float_), following), Decimal(2))


def beside(float_: float, sign: int) -> Decimal:
    """Numbers beside a middle by one far digit, which alone decides the rounding."""
    return EXACT.add(middle(float_), Decimal((sign, (1,), -1100)))


FINITE = st.floats(min_value=0, max_value=math.nextafter(sys.float_info.max, 0))
SUBNORMAL = st.floats(min_value=0, max_value=sys.float_info.min)
MIDDLES = (FINITE | SUBNORMAL).flatmap(
    lambda one: st.sampled_from([middle(one), beside(one, 0), beside(one, 1)])
)
WRITTEN = st.builds(
    lambda digits, exponent: Decimal(f"{digits}e{exponent}"),
    st.integers(0, 10**40) | st.integers(0, 10**17),
    st.integers(-360, 290),
)


def in_range(value: Decimal) -> bool:
    """Whether the server can cast it: a result of 0 or infinity is an error there."""
    return not value or (value > Decimal(LEAST) and value < BEYOND)


# Integers of four base-10000 digits that no float holds, and powers of ten that floats hold:
# dividing one by the other would round twice.
FOUR_GROUPS = st.builds(
    lambda digits, groups: Decimal(f"{digits}e{4 * groups}"),
    st.integers(2**53 + 1, 10**16 - 1),
    st.integers(-5, 5),
)
NUMBERS = st.tuples(
    (MIDDLES | WRITTEN | FOUR_GROUPS).filter(in_range), st.sampled_from([1, -1])
).map(lambda pair: pair[0] if pair[1] > 0 else pair[0].copy_negate())


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.given(values=st.lists(NUMBERS, min_size=1, max_size=12))
@hypothesis.example(values=[middle(LEAST), beside(LEAST, 0), beside(LEAST, 1)])
@hypothesis.example(values=[middle(1.0), beside(1.0, 0), beside(1.0, 1), Decimal(2**53 + 1)])
@hypothesis.example(values=[Decimal("999999999999.9999"), Decimal("900719925474.0993")])
@hypothesis.example(values=[EXACT.subtract(BEYOND, Decimal(1)), Decimal(sys.float_info.max)])
def test_the_server_casts_to_the_same(
    connection: colonnade.sync.Connection, values: list[Decimal]
) -> None:
    rows = ", ".join(f"({place}, '{value:f}'::numeric)" for place, value in enumerate(values))
    query = f"SELECT v, v::float8 AS cast FROM (VALUES {rows}) AS x (k, v) ORDER BY k"
    frame = read_sql(query, connection)
    assert bits(frame["v"].tolist()) == bits(frame["cast"].tolist())


@pytest.mark.parametrize("sign", ["", "-"])
def test_what_the_server_does_not_cast(connection: colonnade.sync.Connection, sign: str) -> None:
    for digits, want in [(f"{BEYOND:f}", math.inf), ("1e-400", 0.0)]:
        query = f"SELECT '{sign}{digits}'::numeric AS v"
        with pytest.raises(colonnade.PostgresError, match="out of range"):
            connection.fetchval(f"SELECT v::float8 FROM ({query}) AS x")
        with pytest.warns(colonnade.InexactDecimalWarning, match='"v"'):
            frame = read_sql(query, connection)
        assert bits(frame["v"].tolist()) == bits([-want if sign else want])


LATER = """SELECT CASE k WHEN 3 THEN 'NaN' WHEN 4 THEN 1e100
                         WHEN 5 THEN 1234567890123456789012345678901234567890
                         WHEN 6 THEN '-Infinity' ELSE 1.5 END::numeric AS v,
                  CASE k WHEN 5 THEN 0.1234567890123456789012345678901234567890 ELSE 1 END AS w,
                  0.1 AS held
           FROM generate_series(1, 6) AS k"""
WANTED = [1.5, 1.5, math.nan, 1e100, 1234567890123456789012345678901234567890.0, -math.inf]


@pytest.mark.parametrize("dtypes", ["numpy", "nullable", "arrow"])
def test_a_stream_whose_later_batches_bring_what_the_first_had_no_room_for(
    dsn: str, dtypes: Any
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frames = list(read_sql(LATER, dsn, batch_rows=2, dtypes=dtypes))
    assert len(frames) == 3
    assert len({tuple(map(str, frame.dtypes)) for frame in frames}) == 1
    assert bits([value for frame in frames for value in frame["v"].tolist()]) == bits(WANTED)
    (one,) = caught
    assert one.category is colonnade.InexactDecimalWarning
    text = str(one.message)
    assert '"v" (row 4: 1234567890123456789012345678901234567890)' in text
    assert '"w" (row 4: 0.1234567890' in text
    assert "held" not in text

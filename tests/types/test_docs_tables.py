"""The tables of docs/reference/types.md agree with the driver."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from samples import SAMPLES, base_type
from tests.columns.every_type import EVERY
from tests.types import oracle
from tests.types.test_every_type import OUTPUT_ONLY
from tests.types.test_schema import CASTS, TEXTS
from tests.types.test_type_table import MADE_OTHERWISE
from tools.generate import type_table

if TYPE_CHECKING:
    from colonnade import Columns
    from colonnade.sync import Connection

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGE = REFERENCE / "types.md"


def table(heading: str, page: Path = PAGE) -> list[list[str]]:
    """The cells of the first table below a heading of a page, without its head."""
    below = page.read_text("utf-8").split(f"\n{heading}\n")[1].splitlines()
    lines: list[str] = []
    for line in below:
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            break
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(cell: str) -> list[str]:
    """The code in a cell."""
    return cell.split("`")[1::2]


BY_SCHEMA = "### Other types by `schema`"
IN_COLUMNS = [(name, row) for row in table("## In columns") for name in code(row[0])]
IN_ROWS = [(name, row) for row in table("## In rows and as parameters") for name in code(row[0])]
SAMPLED = {sample.base: sample for sample in SAMPLES}


def is_said(given: str, said: str) -> bool:
    """Whether the table has this type; its dots stand for the parts of a type."""
    pattern = re.escape(said).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, given) is not None


def column_of(link: Connection, sql_type: str) -> Columns:
    if sql_type in MADE_OTHERWISE:
        return link.fetch_columns(MADE_OTHERWISE[sql_type])
    if sql_type in OUTPUT_ONLY:
        return link.fetch_columns(f"SELECT NULL::{sql_type} AS v")
    sample = SAMPLED.get(sql_type) or SAMPLED.get(base_type(sql_type))
    text = sample.values[0] if sample else EVERY[sql_type][0]
    return link.fetch_columns(f"SELECT $1::text::{sql_type} AS v", text)


@pytest.mark.parametrize(("sql_type", "row"), IN_COLUMNS)
def test_in_columns(link: Connection, has_xml: bool, sql_type: str, row: list[str]) -> None:
    if sql_type == "xml" and not has_xml:
        pytest.skip("this server was built without XML")
    columns = column_of(link, sql_type)
    with warnings.catch_warnings():
        # Decimals of 256 bits go to Polars with a warning.
        warnings.simplefilter("ignore")
        polars = columns.to_polars()["v"].dtype
    shown = str(polars).replace(", time_zone=None", "")
    for keyword in ("precision=", "scale=", "time_unit=", "time_zone="):
        shown = shown.replace(keyword, "")
    arrow, *extension = code(row[1])
    assert is_said(columns.fields[0].arrow_type, arrow)
    kind = oracle.arrow_table(columns)["v"].type
    assert [getattr(kind, "extension_name", "")] == (extension or [""])
    numpy = columns["v"].dtype
    assert code(row[2]) == ([] if numpy.names else [str(numpy)])
    assert is_said(str(columns.to_pandas()["v"].dtype), *code(row[3]))
    # For a nested type, the table has only the outermost name.
    (said_polars,) = code(row[4])
    assert said_polars == (shown if "(" in said_polars else shown.partition("(")[0])


@pytest.mark.parametrize(("sql_type", "row"), IN_ROWS)
def test_in_rows(link: Connection, has_xml: bool, sql_type: str, row: list[str]) -> None:
    """The table has the class of a row's value, or its form if it has no name."""
    sample = SAMPLED.get(sql_type)
    if sample is None or (sql_type == "xml" and not has_xml):
        pytest.skip("no value of it can be made here")
    for text in sample.values:
        value = link.fetchval(f"SELECT $1::text::{sample.sql_type}", text)
        kind = type(value).__name__
        kinds = {kind, kind.replace("IPv6", "IPv4"), "(" if kind == "tuple" else kind}
        assert any(kind in row[1] for kind in kinds), (kind, row[1])


def test_the_page_is_what_the_tool_writes() -> None:
    page = PAGE.read_text("utf-8")
    assert type_table.written(page) == page


def said(cast: str) -> str:
    """The table's notation of a cast: any unit, any zone, cells of twelve."""
    cast = re.sub(r"(timestamp|duration)\[(s|ms|us|ns)\b", r"\1[unit", cast)
    cast = re.sub(r"([US])80", r"\g<1>12", cast.replace(", UTC", ", zone"))
    return cast.partition("(")[0]


def test_casts() -> None:
    rows = {sql_type: code(casts) for types, casts in table(BY_SCHEMA) for sql_type in code(types)}
    assert [code(casts) for types, casts in table(BY_SCHEMA) if types == "any"] == [list(TEXTS)]
    for sql_type, known in CASTS.items():
        base = "bpchar" if sql_type == "char(5)" else base_type(sql_type)
        wanted = {said(cast) for cast in known} - set(TEXTS)
        assert {said(cast) for cast in rows.get(base, [])} == wanted, sql_type

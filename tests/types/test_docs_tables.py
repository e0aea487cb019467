"""The tables of docs/types.md say what the driver does."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.columns.every_type import EVERY
from tests.types import oracle
from tests.types.corpus import BY_TYPE, SAMPLES
from tests.types.test_schema import CASTS, TEXTS

if TYPE_CHECKING:
    from colonnade.sync import Connection

PAGE = Path(__file__).resolve().parents[2] / "docs" / "types.md"


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, its head left out."""
    below = PAGE.read_text("utf-8").split(f"\n{heading}\n")[1].splitlines()
    lines: list[str] = []
    for line in below:
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            break
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(cell: str) -> list[str]:
    """What stands in a cell as code."""
    return cell.split("`")[1::2]


BY_SCHEMA = "### Other types by `schema`"
IN_COLUMNS = table("## In columns")


def is_said(given: str, said: str) -> bool:
    """Dots in the table stand for what a type is made of."""
    pattern = re.escape(said).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, given) is not None


@pytest.mark.parametrize("row", IN_COLUMNS, ids=lambda row: row[0])
def test_in_columns(link: Connection, has_xml: bool, row: list[str]) -> None:
    sql_type = code(row[0])[0]
    if sql_type == "xml" and not has_xml:
        pytest.skip("this server was built without XML")
    known = EVERY.get(sql_type) or BY_TYPE.get(sql_type, BY_TYPE["numeric"]).values
    text = known[0]
    columns = link.fetch_columns(f"SELECT $1::text::{sql_type} AS v", text)
    with warnings.catch_warnings():
        # Decimals of 256 bits go to Polars with a word about it.
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
    # Of a nested type only the outermost word is said.
    (said_polars,) = code(row[4])
    assert said_polars == (shown if "(" in said_polars else shown.partition("(")[0])


def test_every_type_is_in_the_table() -> None:
    listed = {code(row[0])[0].partition("(")[0] for row in IN_COLUMNS}
    assert {oracle.base_type(sample.sql_type) for sample in SAMPLES} <= listed | {"char"}


def said(cast: str) -> str:
    """How the table says a cast: with any unit, any zone, cells of twelve."""
    cast = re.sub(r"(timestamp|duration)\[(s|ms|us|ns)\b", r"\1[unit", cast)
    cast = re.sub(r"([US])80", r"\g<1>12", cast.replace(", UTC", ", zone"))
    return cast.partition("(")[0]


def test_casts() -> None:
    rows = {sql_type: code(casts) for types, casts in table(BY_SCHEMA) for sql_type in code(types)}
    assert [code(casts) for types, casts in table(BY_SCHEMA) if types == "any"] == [list(TEXTS)]
    for sql_type, known in CASTS.items():
        base = "bpchar" if sql_type == "char(5)" else oracle.base_type(sql_type)
        wanted = {said(cast) for cast in known} - set(TEXTS)
        assert {said(cast) for cast in rows.get(base, [])} == wanted, sql_type

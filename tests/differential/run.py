"""Triples of a value, the door that it goes in by, and the door that it comes back by."""

from __future__ import annotations

import collections
import contextlib
import io
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import adbc_driver_manager
import click
import hypothesis
import psycopg
import sqlalchemy.exc
from hypothesis import HealthCheck, Phase, strategies as st

from colonnade import dbapi
from colonnade.errors import InterfaceError, PostgresError
from tests.differential.accepted import accepted, never_right
from tests.differential.structs import CLASSES
from tests.differential.ways_in import WAYS_IN, NoFileError
from tests.differential.ways_out import WAYS_OUT
from tests.differential.world import ARRAYS, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.differential.world import World

#: Errors that say what is wrong, and where.
NAMED = (
    PostgresError,
    InterfaceError,
    dbapi.Error,
    sqlalchemy.exc.DBAPIError,
    adbc_driver_manager.Error,
    click.ClickException,
    NoFileError,
)
#: An array has no arrays as elements, and no order to split rows by.
NOT_OF_ARRAYS = {"list parameter", "parallel by value"}
MANY = 6
SHOWN = 40
SAID_EVERY = 4


@dataclass(frozen=True)
class Case:
    """Values of one type and shape, and their ways: a triple for each value."""

    sql_type: str
    shape: str
    role: str
    way_in: str
    way_out: str
    texts: tuple[str | None, ...]


@dataclass(frozen=True)
class Fault:
    """A triple that came back as another value, or without a reason."""

    case: Case
    stage: str
    meant: str
    came: str
    error: str = ""
    """The class of an error that names nothing."""

    @property
    def key(self) -> tuple[str, ...]:
        """Faults of one key have one cause, as far as can be told."""
        way = self.case.way_in if self.stage == "in" else self.case.way_out
        if self.error:
            return self.error, self.came[:40], self.stage, way
        return self.case.sql_type.partition("(")[0], self.case.shape, self.stage, way

    def __str__(self) -> str:
        way = self.case.way_in if self.stage == "in" else self.case.way_out
        return (
            f"{self.case.sql_type} {self.case.shape}, {self.stage} by {way}, as"
            f" {self.case.role!r}: {self.meant[:300]!r} became {self.came[:300]!r}"
        )


@dataclass
class Tally:
    """How the triples of a run ended."""

    triples: int = 0
    equal: int = 0
    accepted: collections.Counter[str] = field(default_factory=collections.Counter)
    refused: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    faults: dict[tuple[str, ...], Fault] = field(default_factory=dict)
    repeated: collections.Counter[tuple[str, ...]] = field(default_factory=collections.Counter)


def faults(world: World, case: Case, tally: Tally) -> Iterator[Fault]:
    """Send the values of a case on their way, all at once, or singly if one is refused."""
    try:
        yield from list(_faults(world, case, tally))
    except NAMED as error:
        if len(case.texts) == 1:
            kind = (case.sql_type, f"{case.shape}, {case.way_in} -> {case.way_out}")
            tally.triples += 1
            tally.refused[kind] += 1
            tally.reasons[kind] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
            return
        for text in case.texts:
            yield from faults(world, _single(case, text), tally)
    except Exception as error:  # noqa: BLE001
        if len(case.texts) == 1:
            tally.triples += 1
            meant = "NULL" if case.texts[0] is None else case.texts[0]
            came = f"{type(error).__name__}: {error}"
            yield Fault(case, _stage(error), meant, came, type(error).__name__)
            return
        for text in case.texts:
            yield from faults(world, _single(case, text), tally)


def _single(case: Case, text: str | None) -> Case:
    return replace(case, texts=(text,))


def _stage(error: Exception) -> str:
    """Whether the error came on the way in."""
    place = error.__traceback__
    while place is not None:
        if place.tb_frame.f_code.co_filename.endswith("ways_in.py"):
            return "in"
        place = place.tb_next
    return "out"


def _faults(world: World, case: Case, tally: Tally) -> Iterator[Fault]:
    tables = world.tables(case.sql_type, case.shape)
    subject = world.subject(case.role)
    world.fill(tables, case.sql_type, case.shape, case.texts)
    into, back = WAYS_IN[case.way_in], WAYS_OUT[case.way_out]
    numeric = case.sql_type.startswith("numeric")
    with contextlib.redirect_stderr(io.StringIO()):
        into.run(world, subject, tables)
    exact = not numeric or into.keeps_zeros
    wrong = {row[0]: row for row in world.differing(tables.source, tables.middle, exact=exact)}
    found = [_fault(case, "in", row, tally) for row in wrong.values()]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            back.run(world, subject, tables)
    except NAMED:
        if not any(found):
            raise
    else:
        exact = not numeric or back.keeps_zeros
        changed = world.differing(tables.middle, tables.end, exact=exact)
        found.extend(_fault(case, "out", row, tally) for row in changed)
    tally.triples += len(case.texts)
    tally.equal += len(case.texts) - len(found)
    yield from (fault for fault in found if fault is not None)


def _fault(case: Case, stage: str, row: tuple[int, str, str], tally: Tally) -> Fault | None:
    number, meant, came = row
    fault = Fault(_single(case, case.texts[number - 1]), stage, meant, came)
    reason = accepted(fault)
    if reason is None:
        return fault
    tally.accepted[reason] += 1
    return None


@st.composite
def cases(draw: Callable[..., Any], world: World) -> Case:
    """Draw a case: the simplest has one value, of the first type, by the first doors."""
    sql_type = draw(st.sampled_from(list(world.samples)))
    sample, edges = world.samples[sql_type]
    shape = draw(st.sampled_from(world.shapes(sql_type)))
    role = draw(st.sampled_from(list(SETTINGS)))
    closed = never_right(sample.base, shape)
    if shape in ARRAYS:
        closed |= NOT_OF_ARRAYS
    way_in = draw(st.sampled_from([way for way in WAYS_IN if way not in closed]))
    tables = world.tables(sql_type, shape)
    if tables.column not in CLASSES or tables.dimensions > 1:
        closed.add("structs")
    way_out = draw(st.sampled_from([way for way in WAYS_OUT if way not in closed]))
    text = st.sampled_from(edges)
    if sample.column_texts is not None:
        text = text | sample.column_texts
    if sample.texts is not None:
        text = text | sample.texts
    count = draw(st.sampled_from((1, MANY, 2 * MANY)))
    texts = draw(st.lists(st.none() | text | text | text | text, min_size=count, max_size=count))
    return Case(sql_type, shape, role, way_in, way_out, tuple(texts))


def simpler(world: World, fault: Fault) -> Iterator[Case]:
    """Cases like that of a fault, the simplest first."""
    case = fault.case
    _, edges = world.samples[case.sql_type]
    (text,) = case.texts
    other: dict[str, Any] = {"way_out": "rows"} if fault.stage == "in" else {"way_in": "parameters"}
    for change in ({"role": "plain", **other}, {"role": "plain"}, other):
        if any(getattr(case, name) != value for name, value in change.items()):
            yield replace(case, **change)
    if text is not None:
        shorter = [text[: len(text) // 2], text[1:], text[:-1]]
        for other_text in sorted({*edges, *shorter}, key=lambda each: (len(each), each)):
            if len(other_text) < len(text):
                yield replace(case, texts=(other_text,))


def shrunk(world: World, fault: Fault) -> Fault:
    """The simplest fault of the same key that is soon found."""
    for case in simpler(world, fault):
        for found in faults_or_nothing(world, case, Tally()):
            if found.key == fault.key:
                return shrunk(world, found)
    return fault


def faults_or_nothing(world: World, case: Case, tally: Tally) -> list[Fault]:
    """The faults of a case; none if the server does not accept its values."""
    try:
        return list(faults(world, case, tally))
    except psycopg.errors.DataError:
        return []


def run(world: World, seed: int, triples: int, say: Callable[[str], None]) -> Tally:
    """Run at least this many triples; each kind of fault is shrunk, said and kept once."""
    tally = Tally()
    chunk = 0
    while tally.triples < triples:
        _chunk(world, seed + chunk, tally, triples, say)
        chunk += 1
        if chunk % SAID_EVERY == 0:
            say(f"{tally.triples} triples so far")
    return tally


def _chunk(world: World, seed: int, tally: Tally, triples: int, say: Callable[[str], None]) -> None:
    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=200,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(cases(world))
    def search(case: Case) -> None:
        if tally.triples >= triples:
            return
        for fault in faults_or_nothing(world, case, tally):
            if fault.key in tally.faults:
                tally.repeated[fault.key] += 1
            else:
                tally.faults[fault.key] = shrunk(world, fault)
                say(str(tally.faults[fault.key]))

    search()


def shown(tally: Tally) -> str:
    """The counts of a run, in lines."""
    refused = collections.Counter[str]()
    for (sql_type, _), count in tally.refused.items():
        refused[sql_type] += count
    return "\n".join(
        [
            (
                f"{tally.triples} triples: {tally.equal} equal, {sum(tally.refused.values())}"
                f" refused by name, {sum(tally.accepted.values())} accepted,"
                f" {len(tally.faults)} kinds of fault"
                f" ({sum(tally.repeated.values())} more triples of them)"
            ),
            "refused by type: " + json.dumps(dict(refused.most_common())),
            "accepted: " + json.dumps(dict(tally.accepted.most_common())),
            *(
                f"refused {count}: {kind[0]} {kind[1]}: {tally.reasons[kind]}"
                for kind, count in tally.refused.most_common(SHOWN)
            ),
        ]
    )

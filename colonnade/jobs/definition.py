"""The definition of a queue: its name, the types of its payload, and its rules."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from colonnade._driver.sql.quoting import NAME_BYTES_MAX, is_name, quote_identifier
from colonnade._words.arguments import check_choice, check_count, check_name, check_seconds
from colonnade._words.shown import class_name, package_name, shown
from colonnade.jobs.errors import QueueDefinitionError
from colonnade.jobs.retry import Retry

REGISTRY = "colonnade_queues"
DEAD_SUFFIX = "_dead"
KEY_SUFFIX = "_key"
STAGING_SUFFIX = "_stg"
LayoutName: TypeAlias = Literal["rows", "segments"]
_SHOWN = (
    *("job_id", "job_priority", "job_attempts", "job_trace", "job_ready_at", "job_token"),
    *("job_expires_at", "job_waits_until", "job_key", "job_errors", "job_reason", "job_died_at"),
    *("job_lost", "job_room"),
)
OWN_PREFIX = "job_"
# Layout -> the names that its tables or statements have besides the payload's. A new queue refuses
# every name with the prefix; a payload that is there already may have others.
OWN_COLUMNS: dict[str, frozenset[str]] = {
    "rows": frozenset((*_SHOWN, "job_ordinal", "job_place", "job_call", "job_after")),
    "segments": frozenset(
        (
            *_SHOWN,
            *("job_slot", "job_place", "job_add", "job_first", "job_last", "job_count"),
            *("job_done", "job_left", "job_is_leased", "job_chunk", "job_group", "job_ordinal"),
            "job_call",
        )
    ),
}
# Layout -> the columns of the first table that are not the payload's.
STORED_COLUMNS: dict[str, tuple[str, ...]] = {
    "rows": (
        *("job_id", "job_ready_at", "job_waits_until", "job_token", "job_expires_at"),
        *("job_priority", "job_attempts", "job_lost", "job_key", "job_after", "job_trace"),
        "job_errors",
    ),
    "segments": ("job_slot", "job_add", "job_id", "job_errors"),
}
_TYPE = re.compile(r'(?!.*--)[\w\s.,()\[\]"%-]+', re.DOTALL)
_QUOTED = re.compile(r'"[^"]*"')
# Dead letters keep a job's values: they could not be written, or only once.
_REFUSED = re.compile(r"\b(generated|unique|primary|references)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Definition:
    """A queue as it was declared. Names are the database's, exactly."""

    schema: str
    name: str
    payload: Mapping[str, str]
    """The payload's columns: name -> SQL type."""
    retry: Retry = field(default_factory=Retry)
    ttl: float | None = None
    max_length: int | None = None
    layout: LayoutName = "rows"

    def __post_init__(self) -> None:
        check_identifier("schema", self.schema)
        _check_queue_name(self.name)
        check_choice("layout", self.layout, OWN_COLUMNS)
        _check_payload(self.payload, self.own_columns)
        given: object = self.retry
        if not isinstance(given, Retry):
            msg = f"retry must be a jobs.Retry, not {class_name(given)}"
            raise TypeError(msg)
        if self.ttl is not None:
            check_seconds("ttl", self.ttl)
        if self.max_length is not None:
            check_count("max_length", self.max_length)

    @property
    def settings(self) -> str:
        """The rules as JSON, as the table of queues stores them."""
        rules = {"retry": asdict(self.retry), "ttl": self.ttl, "max_length": self.max_length}
        return json.dumps(rules, sort_keys=True)

    @property
    def table(self) -> str:
        """The table of the jobs, quoted, with its schema."""
        return f"{quote_identifier(self.schema)}.{quote_identifier(self.name)}"

    @property
    def dead_table(self) -> str:
        """The table of the dead letters, quoted, with its schema."""
        return f"{quote_identifier(self.schema)}.{quote_identifier(self.name + DEAD_SUFFIX)}"

    @property
    def staging_table(self) -> str:
        """The table through which some jobs are added, quoted, with its schema."""
        return f"{quote_identifier(self.schema)}.{quote_identifier(self.name + STAGING_SUFFIX)}"

    @property
    def own_columns(self) -> frozenset[str]:
        """The names of columns that are the queue's."""
        return OWN_COLUMNS[self.layout]

    @property
    def channel(self) -> str:
        """The channel of the queue's notifications: any name of a queue fits into it."""
        digest = blake2b(f"{self.schema}\0{self.name}".encode(), digest_size=12).hexdigest()
        return f"colonnade_jobs_{digest}"

    def __str__(self) -> str:
        return f'"{self.schema}.{self.name}"'


def settings_from(text: str) -> dict[str, Any]:
    """Return the keyword arguments of `Definition` that `Definition.settings` wrote.

    Additions of a newer version of this package to the policy of retries are left out. Raises
    QueueDefinitionError for anything else.
    """
    known = {each.name for each in fields(Retry)}
    try:
        rules = json.loads(text)
        retry = {name: value for name, value in rules["retry"].items() if name in known}
        return {**rules, "retry": Retry(**retry)}
    except (ValueError, TypeError, KeyError, AttributeError):
        msg = f"the table of queues has no rules of a queue, but {shown(text)}: write them anew"
        raise QueueDefinitionError(msg) from None


def check_new(definition: Definition) -> None:
    """Raise ValueError if a column of the payload has a name that is the queue's to give.

    Queues that older versions made may have some: they are only opened.
    """
    for name in definition.payload:
        if name.startswith(OWN_PREFIX):
            raise _own_name(name)


def as_payload(given: object) -> dict[str, str]:
    """Return a payload as it was given. Raises TypeError for anything but a mapping."""
    if not isinstance(given, Mapping):
        msg = (
            "a payload must map names of columns to SQL types, such as "
            f"{{'user_id': 'int8 NOT NULL'}}, not {class_name(given)}"
        )
        raise TypeError(msg)
    return dict(given)


def columns_ddl(payload: Mapping[str, str]) -> str:
    """The columns of a payload, as a definition of a table has them."""
    return ",\n".join(f"    {quote_identifier(name)} {kind}" for name, kind in payload.items())


def check_identifier(option: str, name: object) -> None:
    """Raise TypeError or ValueError unless `name` can name an object of the database."""
    check_name(option, name)
    if not is_name(str(name)):
        msg = f"{option} must have 1 to {NAME_BYTES_MAX} bytes, and no NUL: {shown(name)}"
        raise ValueError(msg)


def check_connection(verb: str, connection: object) -> None:
    """Raise TypeError for anything but a connection of this driver, such as a pool."""
    # asyncpg's connections have most other methods; of both, a pool lends out a wrapper.
    if hasattr(connection, "is_in_transaction") and hasattr(connection, "copy_columns_to_table"):
        return
    kind, package = class_name(connection), package_name(type(connection))
    given = kind if package in {"", "builtins", "colonnade"} else f"{package}'s {kind}"
    msg = f"{verb} needs a connection, such as Colonnade's pool.acquire() returns, not {given}"
    if package == "sqlalchemy":
        msg += (
            ". With Colonnade's dialect, it is connection.connection.driver_connection, of an "
            "AsyncConnection (await connection.get_raw_connection()).driver_connection"
        )
    raise TypeError(msg)


def check_ids(ids: object, kind: str) -> None:
    """Raise TypeError unless the elements of `ids`, by NumPy's `kind`, are whole numbers."""
    if kind == "b":
        msg = "ids must be whole numbers, not True and False: batch.ids[mask] are those of a mask"
        raise TypeError(msg)
    if kind not in "iu":
        msg = f"ids must be whole numbers, such as batch.ids, not {class_name(ids)}"
        raise TypeError(msg)


def _check_queue_name(name: object) -> None:
    check_identifier("name", name)
    text = str(name)
    if not is_name(text + DEAD_SUFFIX):
        most = NAME_BYTES_MAX - len(DEAD_SUFFIX)
        msg = f"the name of a queue must have at most {most} bytes: {shown(name)}"
        raise ValueError(msg)
    if text == REGISTRY or text.endswith((DEAD_SUFFIX, KEY_SUFFIX)):
        msg = (
            f"a queue cannot be named {shown(name)}: {REGISTRY}, and names that end with "
            f"{DEAD_SUFFIX} or {KEY_SUFFIX}, are the library's own"
        )
        raise ValueError(msg)


def _check_payload(payload: Mapping[str, str], own_columns: frozenset[str]) -> None:
    if not payload:
        msg = "a payload needs at least one column"
        raise ValueError(msg)
    for name, kind in payload.items():
        check_identifier("a payload's column", name)
        given: object = kind
        if not isinstance(given, str):
            msg = f"the type of {shown(name)} must be a str in SQL, such as 'int8', not "
            raise TypeError(msg + shown(given))
        if name in own_columns:
            raise _own_name(name)
        _check_type(name, kind)


def _own_name(name: str) -> ValueError:
    msg = (
        f"a payload's column cannot be named {name}: names that begin with {OWN_PREFIX} are the "
        "queue's own"
    )
    return ValueError(msg)


def _check_type(name: str, kind: str) -> None:
    """Refuse a type that could end the column's definition; the server checks the rest."""
    depth = 0
    is_quoted = False
    for sign in kind:
        if sign == '"':
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += (sign == "(") - (sign == ")")
            if depth < 0 or (sign == "," and depth == 0):
                break
    else:
        if depth == 0 and not is_quoted and _TYPE.fullmatch(kind):
            _check_constraints(name, kind)
            return
    msg = f'the type of "{name}" must be one SQL type, such as "numeric(12, 2)", not {shown(kind)}'
    raise ValueError(msg)


def _check_constraints(name: str, kind: str) -> None:
    refused = _REFUSED.search(_QUOTED.sub("", kind))
    if refused is not None:
        msg = (
            f'the type of "{name}" cannot have {refused[0].upper()}: the table of the dead letters '
            "has the same columns, and must take every job"
        )
        raise ValueError(msg)

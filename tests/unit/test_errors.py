"""The exception tree: names, fallbacks, texts, pickling, and the generated module."""

from __future__ import annotations

import contextlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import pytest

from colonnade import errors
from colonnade.errors import _sqlstate

ROOT = Path(__file__).resolve().parents[2]

Item = TypeVar("Item")

UNIQUE_VIOLATION = {
    "S": "FEHLER",
    "V": "ERROR",
    "C": "23505",
    "M": "duplicate key",
    "D": "Key (id)=(1) already exists.",
    "H": "Choose another.",
    "s": "public",
    "t": "users",
    "n": "users_pkey",
    "P": "15",
    "F": "nbtinsert.c",
    "L": "664",
    "R": "_bt_check_unique",
    "?": "a field of a later protocol",
}


def copied(item: Item) -> Item:
    """``item`` after pickling and unpickling."""
    copy: Item = pickle.loads(pickle.dumps(item))  # noqa: S301
    return copy


def test_generated_module_is_up_to_date() -> None:
    tool = ROOT / "tools" / "generate" / "sqlstates.py"
    run = subprocess.run(
        [sys.executable, tool, "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout


def test_every_sqlstate_has_exactly_one_class() -> None:
    states = [getattr(_sqlstate, name).sqlstate for name in _sqlstate.__all__]
    assert len(states) == len(set(states)) == 262


def test_every_class_hangs_under_its_two_character_class() -> None:
    for name in _sqlstate.__all__:
        cls = getattr(_sqlstate, name)
        root = errors.error_class(cls.sqlstate[:2] + "000")
        if issubclass(cls, errors.PostgresError) and root is not errors.UnknownPostgresError:
            assert issubclass(cls, root)


def test_names_equal_asyncpgs() -> None:
    """Existing ``except`` clauses keep working: same names, same SQLSTATEs, same bases."""
    theirs = pytest.importorskip("asyncpg").exceptions
    for name in theirs.__all__:
        ours, other = getattr(errors, name), getattr(theirs, name)
        assert getattr(ours, "sqlstate", None) == getattr(other, "sqlstate", None), name
        public = [base.__name__ for base in other.__mro__ if base.__name__ in theirs.__all__]
        lineage = [base.__name__ for base in ours.__mro__]
        assert [base for base in lineage if base in public] == public, name
        builtin = {base for base in other.__mro__ if base.__module__ == "builtins"}
        assert builtin <= set(ours.__mro__), name


def test_attributes_and_constructors_are_asyncpgs() -> None:
    theirs = pytest.importorskip("asyncpg").exceptions
    for name in theirs.__all__:
        ours, other = getattr(errors, name), getattr(theirs, name)
        # asyncpg's constructor from the protocol's fields; ours is a function, `from_fields`.
        missing = {key for key in dir(other) if key[0] != "_"} - set(dir(ours)) - {"new"}
        assert not missing, name
        with contextlib.suppress(ValueError):  # a class without its own constructor
            taken = inspect.signature(other).parameters
            assert not taken.keys() - inspect.signature(ours).parameters.keys(), name


def test_texts_are_asyncpgs() -> None:
    theirs = pytest.importorskip("asyncpg").exceptions
    cases = [
        ("InterfaceError", {"detail": "because", "hint": "do"}),
        ("InterfaceError", {"detail": "because"}),
        ("InterfaceWarning", {"hint": "do"}),
        ("UnsupportedServerFeatureError", {}),
        ("OutdatedSchemaCacheError", {"schema": "s", "data_type": "t", "position": "1"}),
    ]
    for name, options in cases:
        ours, other = getattr(errors, name)("no", **options), getattr(theirs, name)("no", **options)
        assert (str(ours), repr(ours), ours.args) == (str(other), repr(other), other.args)
        assert vars(ours) == vars(other)
    ours, other = (module.UniqueViolationError("no") for module in (errors, theirs))
    assert str(ours) == str(other)
    for error in (ours, other):
        error.detail, error.hint = "because", "do"
    assert str(ours) == str(other)


def test_fields_become_attributes() -> None:
    error = errors.from_fields(UNIQUE_VIOLATION, "insert into users values (1)")
    assert type(error) is errors.UniqueViolationError
    assert isinstance(error, errors.IntegrityConstraintViolationError)
    assert error.sqlstate == "23505"
    assert error.constraint_name == "users_pkey"
    assert error.severity == "FEHLER"
    assert error.severity_en == "ERROR"
    assert error.position == "15"
    assert error.server_source_function == "_bt_check_unique"
    assert error.context is None
    assert error.query == "insert into users values (1)"
    assert error.as_dict()["table_name"] == "users"
    assert len(error.as_dict()) == len(UNIQUE_VIOLATION) - 1


def test_text_has_detail_and_hint() -> None:
    error = errors.from_fields(UNIQUE_VIOLATION)
    assert str(error) == (
        "duplicate key\nDETAIL:  Key (id)=(1) already exists.\nHINT:  Choose another."
    )
    assert repr(error) == (
        "UniqueViolationError('duplicate key', sqlstate='23505', schema_name='public', "
        "table_name='users', constraint_name='users_pkey')"
    )


@pytest.mark.parametrize(
    ("sqlstate", "cls"),
    [
        ("23505", errors.UniqueViolationError),
        ("23ABC", errors.IntegrityConstraintViolationError),
        ("57014", errors.QueryCanceledError),
        ("28P01", errors.InvalidPasswordError),
        ("53300", errors.TooManyConnectionsError),
        ("XXABC", errors.InternalServerError),
        ("ZZ123", errors.UnknownPostgresError),
        ("01000", errors.UnknownPostgresError),  # RAISE EXCEPTION may carry any code
        ("", errors.UnknownPostgresError),
    ],
)
def test_class_of_an_error(sqlstate: str, cls: type[errors.PostgresError]) -> None:
    error = errors.from_fields({"C": sqlstate, "M": "no"})
    assert type(error) is cls
    assert error.sqlstate == sqlstate


@pytest.mark.parametrize("sqlstate", ["42P05", "26000"])
def test_a_mixed_up_statement_hints_at_the_pooler(sqlstate: str) -> None:
    error = errors.from_fields({"C": sqlstate, "M": "no"})
    assert error.hint is not None
    assert "pgbouncer" in error.hint
    assert "statement_cache_size=0" in str(error)
    assert errors.from_fields({"C": sqlstate, "M": "no", "H": "own"}).hint == "own"


def test_a_connection_that_the_server_closed() -> None:
    """The error has the class of every broken connection; its cause is the server's error."""
    error = errors.closed_by_server({"C": "57P01", "V": "FATAL", "M": "administrator command"})
    assert type(error) is errors.ConnectionDoesNotExistError
    assert str(error) == "connection was closed in the middle of operation: administrator command"
    assert isinstance(error.__cause__, errors.AdminShutdownError)
    assert error.__cause__.severity_en == "FATAL"
    assert not error.safe_to_retry
    assert errors.closed_by_server({"C": "57P05", "M": "idle"}).safe_to_retry


def test_no_fields_at_all() -> None:
    error = errors.from_fields({})
    assert type(error) is errors.UnknownPostgresError
    assert str(error) == ""


@pytest.mark.parametrize("sqlstate", ["99999", "23505"])
def test_a_warning_with_a_foreign_code(sqlstate: str) -> None:
    warning = errors.log_message_from_fields({"V": "WARNING", "C": sqlstate, "M": "look"})
    assert type(warning) is errors.PostgresWarning
    assert warning.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("sqlstate", "cls"),
    [
        ("00000", errors.PostgresLogMessage),
        ("01000", errors.PostgresWarning),
        ("01P01", errors.DeprecatedFeature),
        ("01ABC", errors.PostgresWarning),
        ("02000", errors.NoData),
        ("23505", errors.PostgresLogMessage),  # RAISE NOTICE may carry any code
    ],
)
def test_class_of_a_notice(sqlstate: str, cls: type[errors.PostgresLogMessage]) -> None:
    notice = errors.log_message_from_fields({"V": "NOTICE", "C": sqlstate, "M": "look", "H": "so"})
    assert type(notice) is cls
    assert notice.sqlstate == sqlstate
    assert str(notice) == "NOTICE: look\nHINT:  so"
    assert copied(notice).as_dict() == notice.as_dict()


def test_stale_plan_is_known_by_its_function_not_its_text() -> None:
    fields = {"C": "0A000", "M": "gecachter Plan", "R": "RevalidateCachedQuery"}
    error = errors.from_fields(fields)
    assert type(error) is errors.InvalidCachedStatementError
    assert error.safe_to_retry
    other = errors.from_fields({"C": "0A000", "M": "no", "R": "elsewhere"})
    assert type(other) is errors.FeatureNotSupportedError
    assert not other.safe_to_retry


@pytest.mark.parametrize("sqlstate", sorted(errors.RETRYABLE_SQLSTATES))
def test_safe_to_retry(sqlstate: str) -> None:
    assert errors.from_fields({"C": sqlstate}).safe_to_retry


@pytest.mark.parametrize("sqlstate", ["57P01", "57P02", "57014", "08006", "23505", "40003"])
def test_not_safe_to_retry(sqlstate: str) -> None:
    assert not errors.from_fields({"C": sqlstate}).safe_to_retry


@pytest.mark.parametrize(
    "error",
    [
        errors.from_fields(UNIQUE_VIOLATION, "insert"),
        errors.UniqueViolationError("made by hand"),
        errors.InterfaceError("no", detail="because", hint="do"),
        errors.ClientConfigurationError("no", hint="do"),
        errors.DecodeError("price", "numeric", 7, "NaN has no decimal form"),
        errors.EncodeError("$1: an int is expected"),
        errors.OutdatedSchemaCacheError("changed", schema="s", data_type="t", position="1"),
        errors.RemoteProtocolError("garbage"),
        errors.InterfaceWarning("hm", hint="do"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_pickles(error: Exception) -> None:
    copy = copied(error)
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert repr(copy) == repr(error)
    assert copy.__dict__ == error.__dict__
    assert copy.args == error.args


def test_families_of_the_client() -> None:
    assert issubclass(errors.ClientConfigurationError, (errors.InterfaceError, ValueError))
    assert issubclass(errors.SchemaError, ValueError)
    assert issubclass(errors.LocalProtocolError, errors.InterfaceError)
    assert not issubclass(errors.LocalProtocolError, errors.InternalClientError)
    assert issubclass(errors.RemoteProtocolError, errors.ProtocolError)
    assert not issubclass(errors.RemoteProtocolError, errors.InterfaceError)
    assert issubclass(errors.EncodeError, errors.DataError)
    assert issubclass(errors.DecodeError, errors.DataError)
    assert issubclass(errors.InvalidPasswordError, errors.InvalidAuthorizationSpecificationError)
    assert errors.TargetServerAttributeNotMatched("none").safe_to_retry


def test_interface_error_texts() -> None:
    error = errors.InterfaceError("no", detail="because", hint="do")
    assert str(error) == "no\nDETAIL:  because\nHINT:  do"
    other = error.with_msg("still no")
    assert type(other) is errors.InterfaceError
    assert str(other) == "still no\nDETAIL:  because\nHINT:  do"


def test_decode_error_names_the_place() -> None:
    error = errors.DecodeError("price", "numeric", 7, "NaN has no decimal form")
    assert str(error) == 'column "price" (numeric), row 7: NaN has no decimal form'
    assert (error.column, error.type_name, error.row) == ("price", "numeric", 7)
    assert error.sqlstate == "22000"


def test_public_path() -> None:
    assert errors.UniqueViolationError.__module__ == "colonnade.errors"
    assert errors.InterfaceError.__module__ == "colonnade.errors"
    assert len(errors.__all__) == len(set(errors.__all__))

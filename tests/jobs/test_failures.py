"""Reasons are bounded, and no error of a stranger keeps one from being made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade.jobs.failures import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable


class DetailsError(Exception):
    """An error whose notes cannot be read."""

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        raise SystemExit("no notes")


class CtrlCError(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


def raised(deed: Callable[[], None]) -> BaseException:
    try:
        deed()
    except BaseException as error:  # noqa: BLE001 - any
        return error
    raise AssertionError


def recurses() -> None:
    recurses()


def raises_a_long_text() -> None:
    raise ValueError("x" * 5_000_000)


def raises_a_large_group() -> None:
    leaves = [ValueError("y" * 1000) for _ in range(100)]
    raise ExceptionGroup("many", [ExceptionGroup("nested", leaves), *leaves])


def raises_in_a_circle() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


@pytest.mark.parametrize(
    "deed", [recurses, raises_a_long_text, raises_a_large_group, raises_in_a_circle]
)
def test_a_reason_is_bounded(deed: Callable[[], None]) -> None:
    assert len(reason_of(raised(deed))) <= 2000


def test_a_long_text_leaves_room_for_the_place() -> None:
    assert reason_of(raised(raises_a_long_text)).endswith(" in raised")


def test_errors_that_cause_each_other_are_told_once() -> None:
    assert reason_of(raised(raises_in_a_circle)).count("ValueError") == 2


def test_a_large_group_says_how_many_more() -> None:
    errors = [ValueError(str(number)) for number in range(9)]
    reason = reason_of(ExceptionGroup("many", errors))
    assert reason.endswith("one is ValueError: 4 | and 4 more")


def test_details_that_cannot_be_read_are_left_out() -> None:
    reason = reason_of(DetailsError("no detail"))
    assert reason == "DetailsError: no detail | its details cannot be read: SystemExit"


def test_an_error_that_is_handled_is_told() -> None:
    def deed() -> None:
        try:
            vars()["inner"]
        except KeyError:
            raise ValueError("outer")  # noqa: B904 - that is the case

    assert " | while handling KeyError: 'inner' | at " in reason_of(raised(deed))


def test_ctrl_c_amid_a_text_is_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt):
        reason_of(CtrlCError())

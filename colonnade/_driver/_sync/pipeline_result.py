# Generated from colonnade/_driver/_async/pipeline_result.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The results of a pipeline's queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable


# The type of the query's result.
T_co = TypeVar("T_co", covariant=True)


class PipelineResult(Generic[T_co]):
    """The result of one query of a pipeline, which may still be on its way.

    `await` it within the block, which sends the waiting queries and waits for it, or read
    `result()` after the block.
    """

    def __init__(self, wait_for: Callable[[PipelineResult[Any]], None]) -> None:
        self._wait_for = wait_for
        self._is_done = False
        self._is_asked_for = False
        self._value: Any = None
        self._error: Exception | None = None

    def is_done(self) -> bool:
        """Whether the answer, or an error, has come."""
        return self._is_done

    def is_unasked_failure(self) -> bool:
        """Whether it is an error that was never read."""
        return self._error is not None and not self._is_asked_for

    def result(self) -> T_co:
        """The query's result; raises the query's error.

        Raises InterfaceError if the answer has not come yet.
        """
        if not self._is_done:
            msg = "the result is not there yet: wait for it, or leave the pipeline's block first"
            raise InterfaceError(msg)
        self._is_asked_for = True
        if self._error is not None:
            raise self._error
        value: T_co = self._value
        return value

    def wait(self) -> T_co:
        """Send the pipeline's waiting queries, wait for this one, and return its result."""
        if not self._is_done:
            self._wait_for(self)
        return self.result()

    def __repr__(self) -> str:
        """Whether the result has come, and whether it is an error."""
        if not self._is_done:
            return f"<{type(self).__name__} pending>"
        return f"<{type(self).__name__} {'done' if self._error is None else repr(self._error)}>"

    def settle(self, value: Any = None, error: Exception | None = None) -> None:
        """The pipeline has the answer, or an error in its place."""
        self._value = value
        self._error = error
        self._is_done = True

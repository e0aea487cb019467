"""The block of a monitor or a writer: entering starts it, leaving stops it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Running(ABC):
    """It runs from `start` to `stop`, or within a block, `with` or `async with`."""

    @abstractmethod
    def start(self) -> None:
        """Begin, or raise RuntimeError if it runs already."""

    @abstractmethod
    def stop(self) -> None:
        """End; does nothing if it does not run."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *exception: object) -> None:
        self.stop()

"""A server's version and run-time parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from colonnade.types import ServerVersion

# The first number that may be a version: "PostgreSQL 17.2 (Debian 17.2-1)", "16beta1", "8.0.2".
_VERSION = (
    r"(?ia)(?<![\d.])(?P<numbers>\d+(?:\.\d+){0,2})(?P<level>[a-z]+)?(?P<serial>(?<=[a-z])\d+)?"
)
# Since PostgreSQL 10 the second number is the minor release.
_TWO_NUMBERS_SINCE = 10
_DIGITS_MAX = 9


def parse_server_version(text: str) -> ServerVersion:
    """Parse `server_version`, and ignore the text that vendors add to it.

    From PostgreSQL 10 on, `minor` is 0 and `micro` is the minor release: 18.6 is
    (18, 0, 6, "final", 0), and 9.6.24 is (9, 6, 24, "final", 0). Raises ValueError if the text has
    no version number.
    """
    found = re.search(_VERSION, text)
    if found is None or max(map(len, re.findall(r"\d+", found[0]))) > _DIGITS_MAX:
        raise ValueError(f"no version of PostgreSQL in {text[:100]!r}")
    first, second, third, *_ = *map(int, found["numbers"].split(".")), 0, 0
    if first >= _TWO_NUMBERS_SINCE:
        # Some vendors write 13.0.2 and count their own releases in the third number.
        second, third = 0, second
    level = (found["level"] or "final").lower()
    return ServerVersion(first, second, third, level, int(found["serial"] or 0))


class ServerSettings(Mapping[str, str]):
    """The run-time parameters that the server reports, such as `server_version` and `TimeZone`.

    They are attributes and items. Their values are current, because the server reports each change.
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read

    def __getattr__(self, name: str) -> str:
        try:
            return self._read()[name]
        except KeyError:
            raise AttributeError(f"the server has not reported a setting {name!r}") from None

    def __getitem__(self, name: str) -> str:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._read()})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {dict(self._read())!r}>"

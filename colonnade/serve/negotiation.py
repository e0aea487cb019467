"""Which format a client gets, by its request (RFC 9110, section 12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from colonnade.formats.streams import StreamFormat

#: A longer header is refused: nobody has so many wishes.
_ACCEPT_LENGTH_MAX = 8192


@dataclass(frozen=True)
class Choice:
    """A format with the values of its parameters."""

    format: StreamFormat
    parameters: Mapping[str, str]

    @property
    def content_type(self) -> str:
        """The value of the header Content-Type."""
        return self.format.content_type(self.parameters)

    @property
    def is_compressed(self) -> bool:
        """Whether the bytes are compressed."""
        return self.format.is_compressed(self.parameters)

    @property
    def shares_memory(self) -> bool:
        """Whether the bytes are those of the batches."""
        return self.format.shares_memory(self.parameters)


@dataclass(frozen=True)
class _Range:
    """One media range of an Accept header."""

    media_type: str
    parameters: Mapping[str, str]
    quality: float

    def specificity(self) -> tuple[int, int]:
        """A more specific range wins over a wider one, whatever their order."""
        stars = self.media_type.count("*")
        return -stars, len(self.parameters)


def chosen(query: str, accept: str | None, offers: Sequence[StreamFormat]) -> Choice | None:
    """Choose among the offered formats; None if the client accepts none of them.

    `?format=` of the query wins, because a browser's address bar cannot set headers; the format's
    own parameters can follow it: ``?format=arrow&codecs=zstd``. Otherwise the Accept header
    decides. Of formats that are equally welcome, the one offered first wins.
    """
    wishes = dict(parse_qsl(query, keep_blank_values=True))
    name = wishes.get("format")
    if name is not None:
        for offer in offers:
            if offer.name == name:
                asked = {key: wishes[key] for key in offer.parameters if key in wishes}
                return _choice(offer, asked)
        return None
    return _by_accept(accept, offers)


def _by_accept(accept: str | None, offers: Sequence[StreamFormat]) -> Choice | None:
    if accept is None or not accept.strip():
        return _choice(offers[0], {})
    if len(accept) > _ACCEPT_LENGTH_MAX:
        return None
    ranges = list(_ranges(accept))
    best: Choice | None = None
    best_quality = 0.0
    for offer in offers:
        found = _best_of(offer, ranges)
        if found is not None and found[1] > best_quality:
            best, best_quality = found
    return best


def _best_of(offer: StreamFormat, ranges: Iterable[_Range]) -> tuple[Choice, float] | None:
    """The most welcome form of one format, and its quality.

    A range with parameters is about that form alone; one without is about the default form, unless
    a more specific range refuses it.
    """
    forms: list[tuple[Choice, _Range]] = []
    for each in ranges:
        if _matches(each.media_type, offer):
            choice = _choice(offer, each.parameters)
            if choice is not None:
                forms.append((choice, each))
    verdicts: dict[str, tuple[Choice, _Range]] = {}
    for choice, each in forms:
        known = verdicts.get(choice.content_type)
        if known is None or each.specificity() > known[1].specificity():
            verdicts[choice.content_type] = choice, each
    welcome = [(choice, each.quality) for choice, each in verdicts.values() if each.quality > 0]
    return max(welcome, key=lambda form: form[1], default=None)


def _matches(media_range: str, offer: StreamFormat) -> bool:
    if media_range == "*/*" or media_range in {offer.media_type, *offer.aliases}:
        return True
    kind, _, rest = media_range.partition("/")
    return rest == "*" and kind == offer.media_type.partition("/")[0]


def _choice(offer: StreamFormat, asked: Mapping[str, str]) -> Choice | None:
    parameters = offer.settled(asked)
    return None if parameters is None else Choice(offer, parameters)


def _ranges(accept: str) -> Iterable[_Range]:
    """The ranges that follow the grammar; others are skipped, as RFC 9110 asks of a server."""
    for text in _split(accept, ","):
        media_type, *pairs = (part.strip() for part in _split(text, ";"))
        if "/" not in media_type:
            continue
        quality = 1.0
        parameters = {}
        for pair in pairs:
            name, _, value = pair.partition("=")
            name, value = name.strip().lower(), _unquoted(value.strip())
            if name == "q":
                quality = _quality(value)
                break
            # All text is UTF-8, and clients say so out of habit.
            if name and (name, value.lower()) != ("charset", "utf-8"):
                parameters[name] = value.lower()
        yield _Range(media_type.lower(), parameters, quality)


def _split(text: str, separator: str) -> list[str]:
    """Split outside quoted strings."""
    if '"' not in text:
        return text.split(separator)
    parts = [""]
    is_quoted = is_escaped = False
    for letter in text:
        if letter == separator and not is_quoted:
            parts.append("")
            continue
        parts[-1] += letter
        if is_escaped:
            is_escaped = False
        elif letter == '"':
            is_quoted = not is_quoted
        else:
            is_escaped = is_quoted and letter == "\\"
    return parts


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1].replace("\\", "")
    return value


def _quality(text: str) -> float:
    """A weight from 0 to 1; anything else is as welcome as no weight at all."""
    try:
        quality = float(text)
    except ValueError:
        return 1.0
    return quality if 0.0 <= quality <= 1.0 else 1.0

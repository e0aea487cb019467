"""Chooses the format that a client gets, by its request (RFC 9110, section 12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from colonnade.formats.streams import StreamFormat

#: A longer header is refused: no client has so many wishes.
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

    @property
    def stars(self) -> int:
        """How wide it is: 0 if it names a format."""
        return self.media_type.count("*")


@dataclass(frozen=True)
class _Wish:
    """A form of a format that a range is about."""

    choice: Choice
    range: _Range
    known: Mapping[str, str]
    """The parameters of the range that the format has."""

    @property
    def specificity(self) -> tuple[int, int, int]:
        """A more specific range wins over a wider one, in any order.

        One with a parameter that the format does not have is about a form that nobody offers, so it
        says less than one without.
        """
        unknown = len(self.range.parameters) - len(self.known)
        return -self.range.stars, len(self.known), -unknown

    @property
    def refuses_another_form(self) -> bool:
        """Whether it refuses a form that nobody offers."""
        return self.range.quality == 0 and len(self.known) < len(self.range.parameters)


def chosen(query: str, accept: str | None, offers: Sequence[StreamFormat]) -> Choice | None:
    """Choose among the offered formats; None if the client accepts none of them.

    `?format=` of the query wins, because a browser's address bar cannot set headers; the format's
    own parameters can follow it: ``?format=arrow&codecs=zstd``. Otherwise the Accept header
    decides, and the query is the application's. Of formats that are equally welcome, one that the
    client names wins over one that stands for any, then the one offered first.
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


def unknown_values(query: str, accept: str | None, offers: Sequence[StreamFormat]) -> str:
    """Return the choices of each parameter for which a refused request has an unknown value."""
    wishes = dict(parse_qsl(query, keep_blank_values=True))
    if "format" in wishes:
        asked = [(offer, wishes) for offer in offers if offer.name == wishes["format"]]
    else:
        ranges = _ranges(accept if accept and len(accept) <= _ACCEPT_LENGTH_MAX else "")
        asked = [
            (offer, dict(each.parameters))
            for each in ranges
            for offer in offers
            if each.media_type in {offer.media_type, *offer.aliases}
        ]
    told = {
        f"{key} of {offer} must be {' or '.join(known)}"
        for offer, values in asked
        for key, known in offer.parameters.items()
        if key in values and values[key] not in known
    }
    return "; ".join(sorted(told))


def _by_accept(accept: str | None, offers: Sequence[StreamFormat]) -> Choice | None:
    if accept is None or not accept.strip():
        return _choice(offers[0], {})
    if len(accept) > _ACCEPT_LENGTH_MAX:
        return None
    ranges = list(_ranges(accept))
    welcome = [wish for offer in offers for wish in _wishes(offer, ranges)]
    best = max(welcome, key=lambda wish: (wish.range.quality, -wish.range.stars), default=None)
    return None if best is None else best.choice


def _wishes(offer: StreamFormat, ranges: Iterable[_Range]) -> Iterable[_Wish]:
    """The welcome forms of one format, each with the range that decides about it.

    A range with parameters of the format is about that form alone; one without is about the default
    form, unless a more specific range refuses it.
    """
    verdicts: dict[str, _Wish] = {}
    for each in ranges:
        if not _matches(each.media_type, offer):
            continue
        # As servers do, others are ignored: `charset=iso-8859-1`, `indent=4`, `odata=verbose`.
        known = {key: value for key, value in each.parameters.items() if key in offer.parameters}
        choice = _choice(offer, known)
        if choice is None:
            continue
        wish = _Wish(choice, each, known)
        best = verdicts.get(choice.content_type)
        is_best = best is None or wish.specificity > best.specificity
        if is_best and not wish.refuses_another_form:
            verdicts[choice.content_type] = wish
    return [wish for wish in verdicts.values() if wish.range.quality > 0]


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
        if media_type == "*":
            # Java's own client sends this.
            media_type = "*/*"
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

"""The formats in which a result is sent while it is fetched, listed in `STREAMS`.

Media types and their parameters are those of HTTP: ``application/vnd.apache.arrow.stream;
codecs=zstd``. An encoder releases the interpreter while it works, so it may run in a thread.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from colonnade import formats
from colonnade._core.formats import Encoder, arrow_poison
from colonnade.formats.dialects import KNOWN, OF_HTTP
from colonnade.formats.format import UnsuitableFormatError
from colonnade.formats.parquet import ParquetStream
from colonnade.formats.text import csv_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from colonnade import Columns

__all__ = ["STREAMS", "StreamEncoder", "StreamFormat"]


class StreamEncoder(Protocol):
    """Encodes the batches of one result, which has at least one."""

    def encode(self, batch: Columns, /) -> Iterable[bytes]:
        """Return the bytes that can be sent after this batch, in pieces of at most 256 KiB.

        Raises UnsuitableFormatError if the format cannot hold the table.
        """
        raise NotImplementedError

    def finish(self) -> Iterable[bytes]:
        """Return the end, which tells a reader that the result is complete."""
        raise NotImplementedError

    def spoil(self) -> bytes:
        """Return bytes that make readers refuse a failed result; often a missing end is enough."""
        raise NotImplementedError


@dataclass(frozen=True)
class StreamFormat:
    """A format for sending."""

    name: str
    title: str
    ending: str
    """The ending of file names."""
    media_type: str
    open: Callable[[Mapping[str, str]], StreamEncoder]
    """Makes an encoder; takes the parameters of the media type."""
    library: str | None = None
    """The package that the format requires."""
    aliases: tuple[str, ...] = ()
    """Other media types in use for the same bytes."""
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of each parameter."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """The value of a parameter that nobody asks for, if it is not the first one."""
    told: frozenset[str] = frozenset()
    """The parameters that the header always names; others only if not the default."""
    is_at_end: bool = False
    """Whether the encoder returns nothing before the end, because it writes column after column."""
    is_compressed: Callable[[Mapping[str, str]], bool] = lambda _: False
    """Whether the bytes are compressed with these parameters, so that HTTP must not do it again."""
    shares_memory: Callable[[Mapping[str, str]], bool] = lambda _: False
    """Whether the bytes with these parameters are those of the batch, and no copy."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_there(self) -> bool:
        """Whether the package that the format requires is installed."""
        return self.library is None or find_spec(self.library) is not None

    def settled(self, asked: Mapping[str, str]) -> dict[str, str] | None:
        """Return the value of every parameter; None if one that was asked for is unknown."""
        values = {
            name: self.defaults.get(name, known[0]) for name, known in self.parameters.items()
        }
        for name, value in asked.items():
            if value not in self.parameters.get(name, ()):
                return None
            values[name] = value
        return values

    def preferring(self, defaults: Mapping[str, str]) -> StreamFormat:
        """Return the same format with the default values of those parameters that it has."""
        own = {name: value for name, value in defaults.items() if name in self.parameters}
        return replace(self, defaults={**self.defaults, **own}) if own else self

    def content_type(self, parameters: Mapping[str, str]) -> str:
        """Return the value of the header, with its parameters."""
        told = (
            f"; {name}={value}"
            for name, value in parameters.items()
            if name in self.told or value != self.parameters[name][0]
        )
        return "".join([self.media_type, *told])


class NativeStream:
    """An encoder of the core."""

    def __init__(self, encoder: Encoder, poison: bytes = b"") -> None:
        self._encoder = encoder
        self._poison = poison

    def encode(self, batch: Columns) -> Iterable[bytes]:
        """Return the bytes of a batch."""
        try:
            return self._encoder.encode(batch._batch)  # noqa: SLF001 - its memory leaves
        except ValueError as error:
            raise UnsuitableFormatError(str(error)) from None

    def finish(self) -> Iterable[bytes]:
        """Return the end."""
        return self._encoder.finish()

    def spoil(self) -> bytes:
        """Return the message that no reader accepts, if the format has one."""
        return self._poison


def _arrow(parameters: Mapping[str, str]) -> StreamEncoder:
    return NativeStream(Encoder.arrow_stream(parameters["codecs"]), arrow_poison())


def _ndjson(parameters: Mapping[str, str]) -> StreamEncoder:
    has_mark = parameters["end"] == "true"
    return NativeStream(Encoder.ndjson(parameters["numbers"], end_mark=has_mark))


def _csv(parameters: Mapping[str, str]) -> StreamEncoder:
    return NativeStream(csv_encoder(parameters["csv"], header=parameters["header"] == "present"))


_ARROW = formats.by_name("arrow")
_PARQUET = formats.by_name("parquet")

STREAMS: list[StreamFormat] = [
    StreamFormat(
        _ARROW.name,
        _ARROW.title,
        _ARROW.endings[0],
        _ARROW.media_type,
        _arrow,
        parameters={"codecs": _ARROW.codecs},
        is_compressed=lambda parameters: parameters["codecs"] != "none",
        shares_memory=lambda parameters: parameters["codecs"] == "none",
    ),
    StreamFormat(
        _PARQUET.name,
        _PARQUET.title,
        _PARQUET.endings[0],
        _PARQUET.media_type,
        lambda _: ParquetStream(),
        library=_PARQUET.library,
        is_compressed=lambda _: True,
    ),
    StreamFormat(
        "json",
        "JSON, column by column",
        ".json",
        "application/json",
        lambda _: NativeStream(Encoder.json_columns()),
        is_at_end=True,
    ),
    StreamFormat(
        formats.NDJSON.name,
        formats.NDJSON.title,
        formats.NDJSON.endings[0],
        formats.NDJSON.media_type,
        _ndjson,
        aliases=("application/jsonl", "application/ndjson"),
        parameters={"numbers": KNOWN["numbers"], "end": ("false", "true")},
        told=frozenset({"numbers"}),
    ).preferring(asdict(OF_HTTP)),
    StreamFormat(
        formats.CSV.name,
        formats.CSV.title,
        formats.CSV.endings[0],
        formats.CSV.media_type,
        _csv,
        parameters={"csv": KNOWN["csv"], "header": ("present", "absent")},
        told=frozenset({"csv"}),
    ).preferring(asdict(OF_HTTP)),
]

"""A request's body, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from spanview.display.units import count

_MAX_REASONS: Final = 5
"""Reasons that are told from each other."""
_OTHER_REASONS: Final = "other reasons"
_MAX_NAME: Final = 60
"""Characters of a span's name."""


class Signal(StrEnum):
    """What a request is about; the values are what the protocol's paths say."""

    TRACES = "traces"
    METRICS = "metrics"
    LOGS = "logs"


SERVICES: Final = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
}
"""What takes requests over gRPC, each by its method `Export`."""


class Encoding(StrEnum):
    """How a body is written: the content type that says so."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Body:
    """What one request has sent, decompressed."""

    data: bytes | bytearray
    encoding: Encoding
    signal: Signal = Signal.TRACES


@dataclass(frozen=True, slots=True)
class Refused:
    """A span that isn't kept."""

    reason: str
    name: str = ""
    """As far as it is known."""


@dataclass(slots=True)
class Acceptance:
    """What has become of the spans of a body."""

    accepted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """How many spans were refused for each reason."""
    firsts: dict[str, str] = field(default_factory=dict)
    """The first of these, as `span 3, checkout`."""

    @property
    def refused(self) -> int:
        """How many spans were refused."""
        return self.reasons.total()

    @property
    def reason(self) -> str:
        """Why spans were refused, and which was the first for each reason; empty where none was."""
        return "; ".join(
            f"{count(spans, 'span')}: {reason} ({'' if spans == 1 else 'the first is '}{self.firsts[reason]})"
            for reason, spans in self.reasons.items()
        )

    def refuse(self, span: Refused) -> None:
        """Count a span that is refused; the spans of a body come in their order."""
        is_known = span.reason in self.reasons or len(self.reasons) < _MAX_REASONS
        reason = span.reason if is_known else _OTHER_REASONS
        name = f", {span.name[:_MAX_NAME]}" if span.name else ""
        self.firsts.setdefault(reason, f"span {self.accepted + self.refused + 1:,}{name}")
        self.reasons[reason] += 1


class MalformedError(Exception):
    """A body isn't what its content type and path say."""


class TooLargeError(MalformedError):
    """A body takes more memory when it is decoded than there is for one."""


class RefusedError(Exception):
    """A span isn't one of the protocol, or can't be kept; the text says why."""

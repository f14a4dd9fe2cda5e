"""A request's body, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Signal(StrEnum):
    """What a request is about; the values are what the protocol's paths say."""

    TRACES = "traces"
    METRICS = "metrics"
    LOGS = "logs"


class Encoding(StrEnum):
    """How a body is written: the content type that says so."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Body:
    """What one request has sent, decompressed."""

    data: bytes
    encoding: Encoding
    signal: Signal = Signal.TRACES


@dataclass(slots=True)
class Acceptance:
    """What has become of the spans of a body."""

    accepted: int = 0
    refused: int = 0
    reason: str = ""
    """Why the first one was refused."""

    def refuse(self, reason: str, number: int = 1) -> None:
        """Count what is refused."""
        self.refused += number
        self.reason = self.reason or reason


class MalformedError(Exception):
    """A body isn't what its content type and path say."""


class RefusedError(Exception):
    """A span isn't one of the protocol, or can't be kept; the text says why."""

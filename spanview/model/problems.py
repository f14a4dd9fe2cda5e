"""What can be wrong: warnings on a span, problems of a file, and the one base error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, StrEnum


class Warnings(IntFlag):
    """What is wrong with one span; the store keeps it as one small integer a span."""

    DUPLICATE_ID = 1
    """Another record has the same ids but different contents."""
    CYCLE = 2
    """The parent chain runs in a circle, which was cut above this span."""
    NO_END = 4
    """The record has no usable end time."""
    NEGATIVE_DURATION = 8
    """The end lies before the start."""
    BAD_ID = 16
    """The trace id, span id or parent id is invalid."""
    CLOCK_SKEW = 32
    """The span starts more than 2 µs before its parent."""
    DETAIL_LOST = 64
    """The record can't be read again: the file was cut, replaced or removed."""
    ODD_VALUE = 128
    """A field has a value of the wrong type, which was left out."""

    def names(self) -> list[str]:
        """Return the names of the warnings as JSON has them, in the order of their definition."""
        return [flag.name.lower() for flag in Warnings if flag in self and flag.name]


NO_WARNINGS = Warnings(0)


class Severity(StrEnum):
    """How bad a problem is; `check` ends with status 1 from WARNING up."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ProblemKind(StrEnum):
    """The kinds of problems that a file or the watcher can have."""

    TORN = "torn"
    PARTIAL = "partial"
    SKIPPED = "skipped"
    NO_SPANS = "no_spans"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    WATCHER = "watcher"


SEVERITIES = dict.fromkeys(ProblemKind, Severity.WARNING) | {
    ProblemKind.SKIPPED: Severity.INFO,
    ProblemKind.NO_SPANS: Severity.INFO,
    ProblemKind.UNREADABLE: Severity.ERROR,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One stretch of a file, or one file, of which something could not be read."""

    kind: ProblemKind
    file: str
    offset: int
    """Bytes from the start of the file."""
    length: int
    """Bytes; 0 where the problem is the file's as a whole."""
    detail: str
    """One sentence for a person."""

    @property
    def severity(self) -> Severity:
        """The severity of this kind of problem."""
        return SEVERITIES[self.kind]

    def to_json(self) -> dict[str, object]:
        """Return the problem as the exports and `check --json` have it."""
        return {
            "file": self.file,
            "offset": self.offset,
            "length": self.length,
            "kind": self.kind.value,
            "severity": self.severity.value,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a folder, as DESIGN of the trace-tree format fixes them."""

    files: int = 0
    bytes: int = 0
    spans: int = 0
    traces: int = 0
    roots: int = 0
    missing_parents: int = 0
    duplicates: int = 0
    torn: int = 0
    skipped: int = 0


class SpanviewError(Exception):
    """The base of all errors that spanview raises on purpose; its text is one line for a person."""


class NoSuchPathError(SpanviewError):
    """A PATH that was given doesn't exist, or none of the default places does."""


class QueryError(SpanviewError):
    """A query, a time or an id that can't be understood.

    Args:
        text: What the mistake is in, where that is one text.
        position: Its character in that text, from 0.
    """

    def __init__(self, message: str, text: str = "", position: int | None = None) -> None:
        super().__init__(message)
        self.text = text
        self.position = position


class TraceNotFoundError(SpanviewError):
    """A trace id that fits no trace, or several."""


class DiffError(SpanviewError):
    """What is to be compared isn't clear, or is empty."""


class ExportError(SpanviewError):
    """The export's target can't be written, or there is nothing that can be written to it."""


class CollectError(SpanviewError):
    """A cluster can't do what it is asked to: none answers, or its files, or the folder for them, can't be used."""


class ReceiveError(SpanviewError):
    """Nothing can be received: a port is taken, or the folder for what is received can't be written to."""


class PushError(SpanviewError):
    """Spans can't be sent: there is nowhere to send them to, or what is there doesn't take them."""

"""What lists of traces are sorted by, what marks traces in them, and what is known of those of one root name."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.index.lives import OpenEnd


class TraceColumn(StrEnum):
    """What traces can be sorted by, in words."""

    START = "start"
    DURATION = "duration"
    SPANS = "spans"
    ERRORS = "errors"
    ROOT = "root name"


class FailedSilently(NamedTuple):
    """How something failed in a trace without an error."""

    label: str
    """In a word or two."""
    lasted: bool
    """Whether no retry made all of it good."""
    newest_ns: int
    """When the newest of it ended, or was lost, in nanoseconds since 1970; `NO_TIME` where that isn't known."""


class TraceGroup(NamedTuple):
    """Traces of one root name."""

    name: str | None
    """None for traces whose root is missing."""
    traces: int
    """How many traces, with those that lack a start or an end, which are left out of all durations."""
    failed: int
    """Traces in which something failed, with an error or without, that no retry made good."""
    incomplete: int | None
    """Of the traces that were looked at; None where none was."""
    p50_ns: int | None
    """None, as are the other durations, where no trace has one."""
    p95_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    total_ns: int
    """Sum of the durations."""
    histogram: tuple[int, ...]
    """How many durations have each power of ten of nanoseconds."""
    newest_ns: int
    """The latest start, or `NO_TIME`."""
    open_ns: Mapping[int, OpenEnd] = {}
    """The durations, until now or as far as they were seen, of traces that lack an end, and whether one runs."""

    @property
    def share(self) -> float:
        """What share of the traces has failed, from 0 to 1."""
        return self.failed / self.traces

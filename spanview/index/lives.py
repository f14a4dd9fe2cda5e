"""What processes tell of spans, as far as a store can ask: which run, wait or are lost, and since when."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class State(StrEnum):
    """What has become of a span that has not ended, or of a call that has not begun to run."""

    RUNNING = "running"
    WAITING = "waiting"
    """Of a call without an attempt, one that may still come; it may run, too, where nothing is written at its start."""
    LOST = "lost"


class OpenEnd(Enum):
    """What the time is until which something without an end is known to have run."""

    RUNS = "so far"
    EARLIEST = "at least"
    """It was last seen then: it ended then, or later."""
    LATEST = "at most"
    """It had ended by then, as its caller heard."""


def most_open(ends: Iterable[OpenEnd]) -> OpenEnd:
    """Return what is known of the end of several things together: of what ends last, as far as that may be."""
    return min(ends, key=[*OpenEnd].index)


class Lives(Protocol):
    """Knows what has become of spans without an end, and of calls without an attempt."""

    def rows_in(self, *states: State) -> list[frozenset[int]]:
        """Return the rows of the spans that are in each state now."""

    def known_until(self) -> Mapping[int, int]:
        """Return until when spans without an end are known to have run, by row, in nanoseconds since 1970."""

    def unended(self) -> Mapping[int, Any]:
        """Return what has become of spans without an end, by row, as `analysis.ray.unended.Unended` has it."""

    def living(self) -> Any:
        """Return which traces may still grow, as `analysis.ray.running.Living` has it."""

    def is_open(self, row: int) -> bool | None:
        """Return whether a call without an attempt may still get one; None where processes don't show it."""

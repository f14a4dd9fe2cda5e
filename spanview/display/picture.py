"""A trace's waterfall as something to be drawn: rows, and where their bars lie on the line of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Stretch: TypeAlias = tuple[float, float]
"""Where something begins and ends, as shares of the time that is drawn; what lies outside is cut off."""


@dataclass(frozen=True, slots=True)
class PictureRow:
    """One row of a waterfall; all its texts are safe to print."""

    depth: int
    arrow: str
    """Two cells: whether something hangs below, and whether it is shown."""
    name: str
    marks: tuple[str, ...]
    """What follows the name: the longest first, then the same where there is less room."""
    lasted: tuple[str, ...]
    """How long it took: the longest text first, then the same where there is less room."""
    about: str
    """What is said of the span where one asks."""
    color: int
    """A small number that rows of one colour have in common."""
    waited: tuple[str, ...] = ()
    """How long it waited, like how long it took; empty where there are no calls."""
    bar: Stretch | None = None
    own: tuple[Stretch, ...] = ()
    """Where nothing below it runs, by time."""
    lit: tuple[Stretch, ...] = ()
    """Where it is on the critical path, waiting included, by time."""
    waits: tuple[Stretch, ...] = ()
    """Where it waited before it ran; of similar siblings, where more of them wait than run, by time."""
    wait_parts: tuple[tuple[str, float, float], ...] = ()
    """What its wait was for, where that is certain: a letter for each part, and where it begins and ends."""
    inferred: Stretch | None = None
    """Where something was not seen, but must have been."""
    runs: Stretch | None = None
    """Of a span that runs: until now."""
    is_open: bool = False
    """Whether what is inferred is a span without an end."""
    events: tuple[float, ...] = ()
    is_error: bool = False
    density: tuple[float, ...] = ()
    """Of similar siblings in one row: how many run in each equal part of the time, as shares of the most."""
    failures: tuple[float, ...] = ()
    """Where some of them failed, by time; of many, some."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn of one trace."""

    name: str
    """Of its root."""
    title: str
    first_ns: int
    """Where the line of time begins, in nanoseconds after the trace's start."""
    last_ns: int
    rows: tuple[PictureRow, ...]
    left_out: str
    """How much is not drawn, in words; empty where everything is."""
    color_by: str
    legend: tuple[tuple[int, str], ...]
    """What the colours mean."""
    is_lit: bool
    """Whether the critical path is lit."""
    has_calls: bool = False
    """Whether Ray calls are rows, so that there is a column for what they waited."""
    answer: tuple[str, ...] = ()
    """Where the trace's time went: the longest text first, then the same where there is less room; or nothing."""

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns before the bars."""
        return heads_of_rows(has_calls=self.has_calls)


def heads_of_rows(*, has_calls: bool) -> tuple[str, ...]:
    """Return the heads of a waterfall's columns: of names, of what calls waited where there are any, of durations."""
    return ("CALL", "WAIT", "RUN") if has_calls else ("SPAN", "DURATION")

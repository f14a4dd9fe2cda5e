"""Like siblings that are one row, and how many spans run at each time.

spans     |===|   |==|
             |=====|
parts     |--|--|--|--|--|
run        1  2  2  2  0
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from operator import sub
from typing import TYPE_CHECKING, Final, Self

from spanview.analysis.intervals import most_at_once
from spanview.analysis.percentiles import rank_of
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.index.table import SpanTable
    from spanview.tui.widgets.window import Window

FEWEST_IN_RUN: Final = 10
"""So many like siblings are worth folding."""


def known_times(spans: SpanTable, rows: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the starts and the ends of the spans that have both."""
    rows = [*rows]
    starts, ends = [*map(spans.start_ns.__getitem__, rows)], [*map(spans.end_ns.__getitem__, rows)]
    if NO_TIME in starts or NO_TIME in ends:
        known = [pair for pair in zip(starts, ends, strict=True) if NO_TIME not in pair]
        starts, ends = [start for start, _ in known], [end for _, end in known]
    return starts, ends


@dataclass(frozen=True, slots=True)
class Timed:
    """Starts and ends of some spans, each sorted by itself: enough to tell how many run at a time."""

    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, spans: SpanTable, rows: Iterable[int]) -> Self:
        """Return the times of the spans that have both; one that ends before it starts ends at its start."""
        starts, ends = known_times(spans, rows)
        return cls(array("q", sorted(starts)), array("q", sorted(map(max, starts, ends))))

    @classmethod
    def ended(cls, spans: SpanTable, rows: Iterable[int]) -> Self:
        """Return just the ends of spans, of those that have one."""
        ends = array("q", sorted(end for end in map(spans.end_ns.__getitem__, rows) if end != NO_TIME))
        return cls(ends, ends)

    def profile(self, window: Window, width: int) -> list[int]:
        """Return how many spans touch each of `width` equal parts of a window."""
        begin, length = window.start_ns, window.length_ns
        # The last part has the window's end, too.
        edges = [begin + -(-part * length // width) for part in range(width)] + [begin + length + 1]
        started = [bisect_left(self.starts, edge) for edge in edges[1:]]
        ended = [bisect_left(self.ends, edge) for edge in edges[:-1]]
        return [*map(sub, started, ended)]


def marked(counts: Sequence[int]) -> list[bool]:
    """Return which parts of a line are marked as having something; of many, those that have most round them."""
    if 4 * sum(map(bool, counts)) <= len(counts):
        return [*map(bool, counts)]
    marks = [False] * len(counts)
    for first in range(0, len(counts), 4):
        group = counts[first : first + 4]
        marks[first + group.index(max(group))] = max(group) > 0
    return marks


class Run:
    """Siblings of one name and kind, with no other sibling between them in the order of their starts.

    Args:
        members: The siblings, by start.
        positions: The position of the first one, and the first position behind them and all that hangs below them.
        own: The rows of the siblings; of each that is a Ray call, the row of its PRODUCER, else `NO_ROW`.
    """

    def __init__(
        self,
        spans: SpanTable,
        rows: Sequence[int],
        members: list[int],
        positions: tuple[int, int],
        own: Mapping[int, int],
    ) -> None:
        self._spans = spans
        self._all = rows
        self._own = [*own]
        self._submitted = [(submitted, row) for row, submitted in own.items() if submitted != NO_ROW]
        self.members = members
        self.first, self.end = positions
        self.hidden = 0
        """How many spans hang below them."""

    @cached_property
    def timed(self) -> Timed:
        """When how many of them, and of what hangs below them, run."""
        return Timed.of(self._spans, self._all[self.first : self.end])

    @cached_property
    def failures(self) -> Timed:
        """When those of them, and of what hangs below them, ended that failed."""
        rows = self._all[self.first : self.end]
        return Timed.ended(self._spans, compress(rows, map(ERROR.__eq__, map(self._spans.status.__getitem__, rows))))

    @cached_property
    def most_at_once(self) -> int | None:
        """How many of them run at once at the most; None where one has no start or no end, for then nobody knows."""
        starts, ends = known_times(self._spans, self._own)
        return most_at_once(starts, [*map(max, starts, ends)]) if len(starts) == len(self._own) else None

    @cached_property
    def figures(self) -> dict[str, int]:
        """How long they took, in nanoseconds, by the name of each figure; empty where none has both times."""
        starts, ends = known_times(self._spans, self._own)
        return _figures(map(sub, ends, starts))

    @cached_property
    def waits(self) -> dict[str, int]:
        """How long the siblings waited that are Ray calls, in nanoseconds, by each figure; empty if none is."""
        starts, ends = self._spans.start_ns, self._spans.end_ns
        pairs = ((ends[submitted], starts[row]) for submitted, row in self._submitted)
        return _figures(max(0, start - end) for end, start in pairs if NO_TIME not in (start, end))


def _figures(lengths: Iterable[int]) -> dict[str, int]:
    lengths = sorted(lengths)
    if not lengths:
        return {}
    p50, p95 = (lengths[rank_of(len(lengths), percent)] for percent in (50, 95))
    return {"min": lengths[0], "p50": p50, "p95": p95, "max": lengths[-1], "total": sum(lengths)}

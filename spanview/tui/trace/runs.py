"""Like siblings that are one row, and how many spans run at each time.

spans     |===|   |==|
             |=====|
parts     |--|--|--|--|--|
run        1  2  2  2  0
"""

from __future__ import annotations

from functools import cached_property
from itertools import compress
from operator import sub
from typing import TYPE_CHECKING, Final

from spanview.analysis.intervals import Timed, known_times, most_at_once_of_each
from spanview.analysis.percentiles import rank_of
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.index.table import SpanTable

FEWEST_IN_RUN: Final = 10
"""So many like siblings are worth folding."""


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
        import numpy as np

        starts, ends = (np.array(times, np.int64) for times in known_times(self._spans, self._own))
        of_all = np.zeros(len(starts), np.int64)
        return most_at_once_of_each(starts, ends, of_all, 1)[0] if len(starts) == len(self._own) else None

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

"""When something runs: the union of intervals, and how many overlap at a time.

spans    |===|    |==|
           |===|          |
covered  |=====|  |==|    (an interval without length covers nothing, but is kept)
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, compress
from operator import gt, sub
from typing import TYPE_CHECKING, NamedTuple, Self

from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spanview.analysis.window import Window
    from spanview.index.arrays import Places
    from spanview.index.table import SpanTable


class Covered(NamedTuple):
    """Intervals that don't touch, in order, in nanoseconds."""

    starts: Sequence[int]
    ends: Sequence[int]
    sums: Sequence[int]
    """The lengths of all intervals before each one, and of all."""

    @classmethod
    def by(cls, starts: Sequence[int], ends: Sequence[int]) -> Self:
        """Return what intervals, ordered by start, cover; one that ends before it starts counts as empty."""
        reached = [*accumulate(map(max, starts, ends), max)]
        # A covered interval ends where the next one starts after all previous ends.
        gaps = [*map(gt, starts[1:], reached)]
        begins, stops = [*starts[:1]], [*compress(reached, gaps), *reached[-1:]]
        begins += compress(starts[1:], gaps)
        sums = [*accumulate(map(sub, stops, begins), initial=0)]
        return cls(compact(begins), compact(stops), compact(sums))

    def between(self, start: int, end: int) -> int:
        """Return how many nanoseconds of a stretch are covered."""
        return self._until(end) - self._until(start)

    def _until(self, ns: int) -> int:
        number = bisect_left(self.starts, ns)
        return self.sums[number] - (max(0, self.ends[number - 1] - ns) if number else 0)


class Levels(NamedTuple):
    """How many intervals run at each time."""

    times: NDArray[np.int64]
    """When the number changes, in nanoseconds, ascending."""
    counts: NDArray[np.int64]
    """The number from each of these times on."""

    @classmethod
    def of(cls, starts: Places, ends: Places) -> Self:
        """Return how many of some intervals run when; none of them has no length, or ends before it starts."""
        import numpy as np

        times, changes = np.append(ends, starts), np.repeat((-1, 1), len(starts))
        # What ends as another starts is over.
        order = np.lexsort((changes, times))
        return cls(times[order], np.cumsum(changes[order]))

    def most_between(self, edges: Sequence[int]) -> list[int]:
        """Return how many run at once at the most from each of some times to the next one; they are in order."""
        import numpy as np

        indices = np.searchsorted(self.times, np.asarray(edges, np.int64), "right")
        most = np.append(0, self.counts)[indices[:-1]]
        within = np.maximum.reduceat(np.append(self.counts[: indices[-1]], 0), indices[:-1])
        counts: list[int] = np.where(indices[1:] > indices[:-1], np.maximum(most, within), most).tolist()
        return counts


def time_between(start_ns: int, end_ns: int) -> int | None:
    """Return the nanoseconds from one time to another; None where one of them is `NO_TIME`."""
    return None if NO_TIME in (start_ns, end_ns) else end_ns - start_ns


def most_at_once_of_each(starts: Places, ends: Places, of: Places, size: int) -> list[int]:
    """Return how many intervals of each owner overlap at most.

    One that ends as another starts is over; one that takes no time, or ends before it starts, counts at its start.

    Args:
        of: The owner of each interval, a number below `size`.
    """
    import numpy as np

    ends = np.maximum(starts, ends)
    times, owners, changes = np.append(ends, starts), np.append(of, of), np.repeat((-1, 1), len(starts))
    # At the same time, ends come first, then starts, then the ends of what takes no time.
    turns = np.append(np.where(ends > starts, 0, 2), np.ones(len(starts), np.int64))
    order = np.lexsort((turns, times, owners))
    most = np.zeros(size, np.int64)
    # What begins for an owner, ends for it.
    np.maximum.at(most, owners[order], np.cumsum(changes[order]))
    counts: list[int] = most.tolist()
    return counts


def compact(numbers: Sequence[int]) -> Sequence[int]:
    """Return numbers in an array, which the garbage collector doesn't traverse, if they fit."""
    try:
        return array("q", numbers)
    except OverflowError:
        # Times centuries away, which a file may have.
        return numbers


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

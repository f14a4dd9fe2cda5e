"""Self time: the part of a span's duration in which none of its descendants runs.

span         |==========================|
child a          |=====|                           a child
  below a            |=======|                     outlives its parent: the rest counts for the span
child b                          |==========|      outlives the span: clipped
  below b                        |===|             runs with its parent: counted once
self         |===|           |===|

A moment of a span is its own if no descendant runs then. In one trace, these moments are found through time, event by
event: of the spans that run, in the order of the tree, one has its own time while the next one isn't below it; an event
concerns a span and one neighbor. That takes n log n steps for n spans, whatever the tree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from itertools import compress
from typing import TYPE_CHECKING, Final

from spanview.analysis.intervals import Covered
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.table import SpanTable
    from spanview.index.tree import TraceTree

_NOTHING: Final = -1
"""The index of no span."""
_BUCKET_BITS: Final = 9
"""Running spans are kept in sorted lists of up to 512 each: long enough to be few, short enough to insert into."""


def self_times(tree: TraceTree, spans: SpanTable) -> list[int | None]:
    """Return the self time of each node: its duration minus the union of its descendants' intervals, never below 0.

    The intervals are clipped to the span. A descendant without a start or an end, or with an end before its start, adds
    nothing; its descendants do.

    Returns:
        Nanoseconds for each node; None for a placeholder, and for a span without a start or an end.
    """
    rows = tree.rows
    own: list[int | None] = [0] * len(rows)
    sums: list[int] = own  # type: ignore[assignment]  # None is only set after the sums
    for node, begin, end in own_stretches(tree, spans):
        sums[node] += end - begin
    for column in (spans.start_ns, spans.end_ns):
        if NO_TIME in (times := [*map(column.__getitem__, rows)]):
            for node in compress(range(len(rows)), map(NO_TIME.__eq__, times)):
                own[node] = None
    return own + [None] * len(tree.missing)


def self_time(tree: TraceTree, spans: SpanTable, node: int) -> int | None:
    """Return the self time of one node, as in `self_times`, from its descendants only."""
    if tree.is_missing(node):
        return None
    start, end = spans.start_ns[tree.rows[node]], spans.end_ns[tree.rows[node]]
    if NO_TIME in (start, end):
        return None
    below, pending = list[tuple[int, int]](), [node]
    while pending:
        children = tree.children(pending.pop())
        pending += children
        rows = [*map(tree.rows.__getitem__, children)]
        below += zip(map(spans.start_ns.__getitem__, rows), map(spans.end_ns.__getitem__, rows), strict=True)
    below = sorted(times for times in below if NO_TIME not in times)
    covered = Covered.by([begin for begin, _ in below], [stop for _, stop in below])
    return end - start - covered.between(start, end) if end > start else 0


def own_stretches(tree: TraceTree, spans: SpanTable) -> Iterator[tuple[int, int, int]]:
    """Yield when spans run and none of their descendants does: node, start and end, by time for each node.

    None is empty, and no two of a node overlap. A trace of n spans has at most 4 n of them.
    """
    starts = [*map(spans.start_ns.__getitem__, tree.rows)]
    # A span that ends before it starts, or has no end, takes no time: NO_TIME is the least of all integers.
    ends = [*map(max, starts, map(spans.end_ns.__getitem__, tree.rows))]
    order = [node for node in tree.in_order() if not tree.is_missing(node)]
    index_of = dict(zip(order, range(len(order)), strict=True))
    subtree_ends = tree.ends_in(order)
    timed = [node for node in order if ends[node] > starts[node] != NO_TIME]
    events = [(starts[node], index_of[node]) for node in timed] + [(ends[node], index_of[node]) for node in timed]
    events.sort()
    # The last one stands for `_NOTHING`, which comes before the first index.
    since: list[int | None] = [None] * (len(order) + 1)
    running, does_run = _IndexSet(len(order)), bytearray(len(order))
    for time, index in events:
        does_run[index] ^= True
        if does_run[index]:
            running.add(index)
        else:
            running.remove(index)
        previous, following = running.neighbors(index)
        for other, comes_next in ((previous, index if does_run[index] else following), (index, following)):
            is_alone = other != _NOTHING and does_run[other] and comes_next >= subtree_ends[other]
            start = since[other]
            if is_alone and start is None:
                since[other] = time
            elif not is_alone and start is not None:
                since[other] = None
                if time > start:
                    yield order[other], start, time


class _IndexSet:
    """A sorted set of indices below a count."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._buckets: defaultdict[int, list[int]] = defaultdict(list)
        self._used: list[int] = []
        """The numbers of the buckets that hold something, in order."""

    def add(self, index: int) -> None:
        """Add an index that isn't in the set."""
        bucket = self._buckets[index >> _BUCKET_BITS]
        if not bucket:
            insort(self._used, index >> _BUCKET_BITS)
        insort(bucket, index)

    def remove(self, index: int) -> None:
        """Remove an index that is in the set."""
        number = index >> _BUCKET_BITS
        bucket = self._buckets[number]
        del bucket[bisect_left(bucket, index)]
        if not bucket:
            del self._used[bisect_left(self._used, number)]

    def neighbors(self, index: int) -> tuple[int, int]:
        """Return the previous index in the set, else `_NOTHING`, and the next one, else `count`."""
        number = index >> _BUCKET_BITS
        bucket, used = self._buckets[number], self._used
        first, end = bisect_left(bucket, index), bisect_right(bucket, index)
        previous = bucket[first - 1] if first else _NOTHING
        following = bucket[end] if end < len(bucket) else self._count
        if not first and (bucket_index := bisect_left(used, number)):
            previous = self._buckets[used[bucket_index - 1]][-1]
        if end == len(bucket) and (bucket_index := bisect_right(used, number)) < len(used):
            following = self._buckets[used[bucket_index]][0]
        return previous, following

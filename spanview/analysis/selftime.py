"""Self time: what of a span's duration is not its children's.

parent  |==========================|
child a    |======|
child b        |=======|                (overlaps a: counted once)
child c                        |=======|    (outlives the parent: clipped)
self    |==|            |=====|
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.table import SpanTable
    from spanview.index.tree import TraceTree


def self_times(tree: TraceTree, spans: SpanTable) -> list[int | None]:
    """Return the self time of each node: its duration less the union of its children's intervals, never below 0.

    The children's intervals are clipped to the span; a child without a start or an end, or with an end before its
    start, adds nothing.

    Args:
        tree: One trace's tree.
        spans: The table that the tree was made from.

    Returns:
        Nanoseconds for each node; None for a placeholder, and for a span without a start or an end.
    """
    rows, parents = tree.rows, tree.parents
    starts, ends = [*map(spans.start_ns.__getitem__, rows)], [*map(spans.end_ns.__getitem__, rows)]
    own: list[int | None]
    if len(parents) == 1:
        return [None if NO_TIME in (starts[0], ends[0]) else max(0, ends[0] - starts[0])]
    count = len(rows)
    covered = [0] * count
    # Nodes come by start, so the children of each span do too: how far they reach already is all there is to keep.
    reached = starts.copy()
    for start, end, parent in zip(starts, ends, parents, strict=False):
        if start == NO_TIME:
            break  # and all behind it, for they come last
        if 0 <= parent < count:
            begin, limit = reached[parent], ends[parent]
            begin = max(begin, start)
            # NO_TIME is the least of all integers: where an end is missing, nothing is left between begin and end.
            end = min(end, limit)  # noqa: PLW2901 - the clipped end is the only one that is needed
            if end > begin:
                covered[parent] += end - begin
                reached[parent] = end
    own = [
        None if NO_TIME in (start, end) else end - start - taken if end - start > taken else 0
        for start, end, taken in zip(starts, ends, covered, strict=True)
    ]
    if len(parents) > count:
        own.extend([None] * (len(parents) - count))
    return own

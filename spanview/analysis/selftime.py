"""Self time: what of a span's duration is not its children's.

parent  |==========================|
child a    |======|
child b        |=======|                (overlaps a: counted once)
child c                        |=======|    (outlives the parent: clipped)
self    |==|            |=====|
"""

from __future__ import annotations

from itertools import compress
from operator import ne, sub
from typing import TYPE_CHECKING, Final, cast

from spanview.analysis.telling import unheard
from spanview.index.table import NO_ROW
from spanview.index.tree import TraceTree
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.index.table import SpanTable

_TOGETHER: Final = 32
"""So many traces are stitched together."""


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
    own = [*map(sub, ends, starts)]
    all_started = not starts or starts[-1] != NO_TIME  # for those without a start come last
    if len(parents) > 1:
        _take_children(starts if all_started else starts[: starts.index(NO_TIME)], ends, parents, own)
    if all_started and len(own) == len(parents) and min(own, default=0) >= 0:
        return cast(list[int | None], own)
    known: list[int | None] = [
        None if NO_TIME in (start, end) else max(0, rest) for start, end, rest in zip(starts, ends, own, strict=True)
    ]
    return known + [None] * (len(parents) - len(known))


def self_time(tree: TraceTree, spans: SpanTable, node: int) -> int | None:
    """Return the self time of one node, as `self_times` has it; looks at its children only."""
    if tree.is_missing(node):
        return None
    row = tree.rows[node]
    rows = [row, *map(tree.rows.__getitem__, tree.children(node))]
    starts, ends = [*map(spans.start_ns.__getitem__, rows)], [*map(spans.end_ns.__getitem__, rows)]
    if NO_TIME in (starts[0], ends[0]):
        return None
    own = [ends[0] - starts[0]]
    _take_children(starts[: starts.index(NO_TIME)] if NO_TIME in starts else starts, ends, [-1, *[0] * len(rows)], own)
    return max(0, own[0])


def self_times_of(store: Store, traces: Sequence[int], tell: Tell = unheard) -> tuple[list[int], list[int | None]]:
    """Return the rows of the spans of some traces, and the self time of each, as `self_times` has it."""
    rows: list[int] = []
    own: list[int | None] = []
    for tree in stitched(store, traces, tell):
        rows += tree.rows
        # Placeholders come last among the nodes, and are nobody's row.
        own += self_times(tree, store.spans)[: len(tree.rows)]
    return rows, own


def stitched(store: Store, traces: Sequence[int], tell: Tell = unheard) -> Iterator[TraceTree]:
    """Yield trees in which each span of some traces has the parent that it has in its own; for passes over all spans.

    Most traces have a few spans, and stitching them costs more by the trace than by the span. Span ids are random:
    where none is there twice and no parent is of another trace, several traces can be stitched as if they were one.
    """
    for first in range(0, len(traces), _TOGETHER):
        tell(first / len(traces))
        some = traces[first : first + _TOGETHER]
        tree = _stitched_as_one(store, some)
        if tree is None:
            yield from map(store.tree, some)
        else:
            yield tree


def _stitched_as_one(store: Store, traces: Sequence[int]) -> TraceTree | None:
    spans = store.spans
    try:
        tree = TraceTree(spans, [row for trace in traces for row in store.rows_of_trace(trace)], _no_order)
    except _DoubledError:
        return None
    of_trace = [*map(spans.trace.__getitem__, tree.rows)]
    # Placeholders are of no trace, and neither is the parent of roots, which is the last: -1.
    of_node = [*of_trace, *[NO_ROW] * (len(tree.missing) + 1)]
    of_parent = [*map(of_node.__getitem__, tree.parents)]
    strangers = compress(of_parent, map(ne, of_parent, of_trace))
    return None if any(map(NO_ROW.__ne__, strangers)) else tree


class _DoubledError(Exception):
    """Several spans have one id."""


def _no_order(row: int) -> tuple[str, int, int]:
    raise _DoubledError(row)


def _take_children(starts: list[int], ends: list[int], parents: list[int], own: list[int]) -> None:
    """Take from the durations in `own` what the children cover.

    Nodes come by start, so the children of each span do too: how far they reach so far is all there is to keep. This
    runs once for every span there is, and builtins for the lesser and the greater would take half of its time.
    """
    reached = starts + [0] * (len(parents) - len(starts))
    # What can't be covered ends before all times: placeholders.
    limits = ends + [NO_TIME] * (len(parents) - len(ends))
    for start, end, parent in zip(starts, ends, parents, strict=False):
        if parent < 0:
            continue
        begin, limit = reached[parent], limits[parent]
        if start > begin:  # noqa: PLR1730
            begin = start
        # NO_TIME is the least of all integers: where an end is missing, nothing is left between begin and end.
        if end > limit:  # noqa: PLR1730
            end = limit  # noqa: PLW2901
        if end > begin:
            own[parent] -= end - begin
            reached[parent] = end

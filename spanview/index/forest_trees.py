"""The trees of a forest's traces, without stitching each of them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanview.index.forest import MISSING, ROOT
from spanview.index.tree import TraceTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.arrays import Places
    from spanview.index.forest import Forest


def trees_in(forest: Forest, traces: Sequence[int]) -> Iterator[tuple[TraceTree, list[int]]]:
    """Yield the trees of some of a forest's traces, and the position in the forest of each node that is a span."""
    in_order = forest.in_order()
    order = in_order[np.argsort(forest.traces[in_order], kind="stable")]
    counts = np.bincount(forest.traces, minlength=max(traces, default=0) + 1)
    ends = np.cumsum(counts)
    begins = ends - counts
    nodes = np.empty(len(forest), np.int64)
    nodes[order] = np.arange(len(forest)) - begins[forest.traces[order]]
    parents = np.where(forest.parents >= 0, nodes[np.maximum(forest.parents, 0)], ROOT)
    missing = _add_placeholders(forest, nodes, counts, parents)
    cut = dict[int, set[int]]()
    for trace, node in zip(forest.traces[forest.cut].tolist(), nodes[forest.cut].tolist(), strict=True):
        cut.setdefault(trace, set()).add(node)
    positions, rows, above = order.tolist(), forest.rows[order].tolist(), parents[order].tolist()
    for trace in traces:
        of_trace, ids = slice(begins[trace], ends[trace]), missing.get(trace, [])
        tree = TraceTree.made(
            forest.store.spans,
            rows[of_trace],
            ids,
            frozenset(cut.get(trace, ())),
            [*above[of_trace], *[ROOT] * len(ids)],
        )
        yield tree, positions[of_trace]


def _add_placeholders(forest: Forest, nodes: Places, counts: Places, parents: Places) -> dict[int, list[int]]:
    """Hang spans whose parents are missing from placeholders, which come after the spans by their earliest children.

    Returns:
        The span ids of the placeholders, by trace.
    """
    missing = dict[int, list[int]]()
    orphans = np.flatnonzero(forest.parents == MISSING)
    ids = forest.of("parent_id")[orphans]
    order = np.lexsort((nodes[orphans], forest.traces[orphans]))
    known = dict[tuple[int, int], int]()
    traces = forest.traces[orphans[order]].tolist()
    for orphan, trace, span_id in zip(orphans[order].tolist(), traces, ids[order].tolist(), strict=True):
        of_trace = missing.setdefault(trace, [])
        node = known.setdefault((trace, span_id), int(counts[trace]) + len(of_trace))
        if node == counts[trace] + len(of_trace):
            of_trace.append(span_id)
        parents[orphan] = node
    return missing

"""A trace in which each Ray call with one attempt is one node.

stitched                         joined
caller                           caller
  f ray.remote                     f             the attempt's node, with what the PRODUCER says beside it
    f ray.remote_worker              work
      work                         g ray.remote           a call that was retried, or has no attempt, stays as it is
  g ray.remote                       g ray.remote_worker
    g ray.remote_worker              g ray.remote_worker
    g ray.remote_worker
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

from spanview.analysis.calls import numbers_of_calls
from spanview.index.tree import ROOT, TraceTree
from spanview.model.codes import CONSUMER, PRODUCER

if TYPE_CHECKING:
    from spanview.index.store import Store


def joined(store: Store, tree: TraceTree) -> tuple[TraceTree, dict[int, int]]:
    """Return a trace with calls joined, and of each attempt that stands for a call the row of its PRODUCER, by its own.

    Args:
        store: Where the spans are.
        tree: The stitched trace.
    """
    submits, runs = numbers_of_calls(store)
    spans, rows, parents = store.spans, tree.rows, tree.parents
    if not submits or not runs:
        return tree, {}
    below = Counter(parents)
    gone: dict[int, int] = {}
    """The attempts that stand for PRODUCERs, by node."""
    for node, row in enumerate(rows):
        parent = parents[node]
        if (
            spans.kind[row] == CONSUMER
            and spans.name[row] in runs
            and parent != ROOT
            and not tree.is_missing(parent)
            and spans.kind[rows[parent]] == PRODUCER
            and spans.name[rows[parent]] in submits
            and below[parent] == 1
            and parent not in tree.cut
        ):
            gone[parent] = node
    if not gone:
        return tree, {}
    number = [*accumulate((node not in gone for node in range(len(parents))), initial=0)]
    # What hangs from a PRODUCER is its attempt alone, and its own parent is none that is gone.
    kept = [parents[parent] if parent in gone else parent for node, parent in enumerate(parents) if node not in gone]
    return (
        TraceTree.made(
            spans,
            [row for node, row in enumerate(rows) if node not in gone],
            tree.missing,
            frozenset(number[node] for node in tree.cut),
            [parent if parent == ROOT else number[parent] for parent in kept],
        ),
        {rows[attempt]: rows[producer] for producer, attempt in gone.items()},
    )

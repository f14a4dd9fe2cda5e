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
from typing import TYPE_CHECKING

from spanview.analysis.ray.names import call_names
from spanview.index.tree import ROOT, TraceTree
from spanview.model.codes import CONSUMER, PRODUCER

if TYPE_CHECKING:
    from spanview.index.arrays import Flags
    from spanview.index.forest import Forest
    from spanview.index.store import Store


def joined(store: Store, tree: TraceTree) -> tuple[TraceTree, dict[int, int]]:
    """Return a trace with calls joined, and for each attempt that stands for a call the row of its PRODUCER."""
    submits, runs = call_names(store.names)
    spans, rows, parents = store.spans, tree.rows, tree.parents
    if not submits or not runs:
        return tree, {}
    below = Counter(parents)
    attempt_of: dict[int, int] = {}
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
            attempt_of[parent] = node
    if not attempt_of:
        return tree, {}
    stand_ins = {*attempt_of.values()}
    # A call takes its PRODUCER's position: calls are in order of submission.
    order = [attempt_of.get(node, node) for node in range(len(parents)) if node not in stand_ins]
    number = {node: index for index, node in enumerate(order)} | {ROOT: ROOT}
    number |= {producer: number[attempt] for producer, attempt in attempt_of.items()}
    above = [parents[parents[node]] if parents[node] in attempt_of else parents[node] for node in order]
    return (
        TraceTree.made(
            spans,
            [rows[node] for node in order if node < len(rows)],
            tree.missing,
            frozenset(number[node] for node in tree.cut),
            [number[parent] for parent in above],
        ),
        {rows[attempt]: rows[producer] for producer, attempt in attempt_of.items()},
    )


def joined_in(forest: Forest) -> Flags:
    """Return which spans of a forest are PRODUCERs that an attempt stands for in `joined`."""
    import numpy as np

    submits, runs = call_names(forest.store.names)
    kinds, names, parents = forest.of("kind"), forest.of("name"), forest.parents
    are_calls: Flags = (kinds == PRODUCER) & np.isin(names, [*submits])
    are_calls &= np.bincount(parents[parents >= 0], minlength=len(forest)) == 1
    are_calls[forest.cut] = False
    are_attempts = (kinds == CONSUMER) & np.isin(names, [*runs]) & (parents >= 0)
    flags = np.zeros(len(forest), np.bool_)
    flags[parents[are_attempts]] = True
    are_calls &= flags
    return are_calls

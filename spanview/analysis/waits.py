"""Waiting for a worker: the gap between a Ray call's submission and the start of what it submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.table import SpanTable
    from spanview.index.tree import TraceTree


def wait_of(tree: TraceTree, spans: SpanTable, node: int) -> int:
    """Return the nanoseconds that a CONSUMER waited after its PRODUCER had ended; 0 for every other span.

    Args:
        tree: The trace's tree.
        spans: The span table.
        node: A node of the tree.
    """
    parent = tree.parents[node]
    if parent == ROOT or tree.is_missing(parent):
        return 0
    return wait_between(spans, tree.rows[parent], tree.rows[node])


def wait_between(spans: SpanTable, parent_row: int, row: int) -> int:
    """Return the nanoseconds that a span waited after its parent had ended, as `wait_of` has it, by their rows."""
    if spans.kind[row] != CONSUMER or spans.kind[parent_row] != PRODUCER:
        return 0
    start, submitted = spans.start_ns[row], spans.end_ns[parent_row]
    return 0 if NO_TIME in (start, submitted) else max(0, start - submitted)

"""Waiting for a worker: the gap between a Ray call's submission and the start of what it submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.index.tree import ROOT
from spanview.model.span import CONSUMER, PRODUCER
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
    row, parent_row = tree.rows[node], tree.rows[parent]
    if spans.kind[row] != CONSUMER or spans.kind[parent_row] != PRODUCER:
        return 0
    return waited(spans, row, parent_row)


def waited(spans: SpanTable, row: int, submitted: int) -> int:
    """Return the nanoseconds between the end of a PRODUCER and the start of what it submitted, at least 0.

    Args:
        spans: The span table.
        row: Of the CONSUMER.
        submitted: The row of its PRODUCER.
    """
    start, end = spans.start_ns[row], spans.end_ns[submitted]
    return 0 if NO_TIME in (start, end) else max(0, start - end)

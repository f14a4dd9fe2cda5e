"""Waiting before a span ran: a Ray call between its submission and its start, and a Serve request in its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.analysis.serve import is_queued, queue_between
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree


def wait_of(store: Store, tree: TraceTree, node: int) -> int:
    """Return the nanoseconds that a span waited before it ran, as `wait_between` has them; 0 for every other node.

    Args:
        store: Where the spans are.
        tree: The trace's tree.
        node: A node of the tree.
    """
    parent = tree.parents[node]
    if parent == ROOT or tree.is_missing(parent):
        return 0
    return wait_between(store, tree.rows[parent], tree.rows[node])


def wait_between(store: Store, parent_row: int, row: int) -> int:
    """Return the nanoseconds that a span waited before it ran; 0 for a span that isn't one of these two.

    A CONSUMER waits from the end of its PRODUCER. A replica of Ray Serve waits from the start of its routing: that time
    is the queue, as `spanview.analysis.serve` defines it.

    Args:
        store: Where the spans are.
        parent_row: The row of the span's parent.
        row: The row of the span.
    """
    spans = store.spans
    if spans.kind[row] == CONSUMER and spans.kind[parent_row] == PRODUCER:
        start, submitted = spans.start_ns[row], spans.end_ns[parent_row]
        return 0 if NO_TIME in (start, submitted) else max(0, start - submitted)
    texts, names = store.names.texts, spans.name
    if is_queued(texts[names[parent_row]], texts[names[row]]):
        return queue_between(spans, parent_row, row) or 0
    return 0


def wait_word(store: Store, row: int) -> str:
    """Return what a span did that `wait_between` has a wait of: `queued` in Ray Serve, else `waited`."""
    return "waited" if store.spans.kind[row] == CONSUMER else "queued"

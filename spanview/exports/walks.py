"""The spans of traces in the order in which exports write them, read many at a time."""

from __future__ import annotations

from enum import Enum, auto
from itertools import islice
from typing import TYPE_CHECKING

from spanview.index.known_records import KnownRecords
from spanview.index.tree import ROOT
from spanview.index.whole_spans import READ_SPANS, spans_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.index.store import Store
    from spanview.model.span import Span


class Above(Enum):
    """What is above a span in its tree."""

    NOTHING = auto()
    PARENT = auto()
    MISSING = auto()
    """A parent that no file holds."""
    CIRCLE = auto()
    """Nothing, because a circle of parents was cut there."""


def spans_in_place(store: Store, traces: Iterable[int]) -> Iterator[tuple[int, Span, Above]]:
    """Yield the spans of traces, parents before their children: the trace's number, the span, and what is above it."""
    places, known = _places(store, traces), KnownRecords(store)
    while batch := [*islice(places, READ_SPANS)]:
        for (trace, _, above), span in zip(batch, spans_at(store, [row for _, row, _ in batch], known), strict=True):
            yield trace, span, above


def _places(store: Store, traces: Iterable[int]) -> Iterator[tuple[int, int, Above]]:
    for trace in traces:
        tree = store.tree(trace)
        for node, _ in tree.walk():
            if tree.is_missing(node):
                continue
            parent = tree.parents[node]
            if node in tree.cut:
                above = Above.CIRCLE
            elif parent == ROOT:
                above = Above.NOTHING
            else:
                above = Above.MISSING if tree.is_missing(parent) else Above.PARENT
            yield trace, tree.rows[node], above

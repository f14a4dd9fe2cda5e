"""The spans of a trace in the order in which exports write them."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store
    from spanview.model.span import Span


class Above(Enum):
    """What stands above a span in its tree."""

    NOTHING = auto()
    PARENT = auto()
    MISSING = auto()
    """A parent that no file holds."""
    CIRCLE = auto()
    """Nothing, because a circle of parents was cut there."""


def spans_of_trace(store: Store, trace: int) -> Iterator[Span]:
    """Yield the spans of a trace, parents before their children, each read anew."""
    tree = store.tree(trace)
    for node, _ in tree.walk():
        if not tree.is_missing(node):
            yield store.span(tree.rows[node])


def spans_in_place(store: Store, trace: int) -> Iterator[tuple[Span, Above]]:
    """Yield the same with what stands above each."""
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
        yield store.span(tree.rows[node]), above

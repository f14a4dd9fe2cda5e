"""The spans of a trace in the order in which exports write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store
    from spanview.model.span import Span


def spans_of_trace(store: Store, trace: int) -> Iterator[Span]:
    """Yield the spans of a trace, parents before their children, each read anew."""
    tree = store.tree(trace)
    for node, _ in tree.walk():
        if not tree.is_missing(node):
            yield store.span(tree.rows[node])

"""What spanview shows of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.api.trace import traces_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store
    from spanview.model.span import Span


def spans_of(store: Store) -> Iterator[Span]:
    """Yield each span of each tree, by the public way."""
    for trace in traces_of(store):
        for node, _ in trace.walk():
            if node.span is not None:
                yield node.span

"""What is asked of many spans at once, asked of one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanview.analysis.query.query import Query
    from spanview.index.store import Store


def matches_trace(query: Query, store: Store, trace: int) -> bool:
    """Return whether the trace terms hold for a trace, and a span in it matches all others."""
    are_matching = (query.matches(store, row) for row in store.rows_of_trace(trace))
    return query.holds(store, trace) and (not query.span_terms or any(are_matching))

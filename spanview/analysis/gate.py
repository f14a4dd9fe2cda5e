"""Queries that no span may match, and whether any span could.

status=ERROR                 3 spans match           the gate is shut
http.status_code>=500        none of 40 that have it  the gate is open
http.status_cod>=500         no span has such a key   unknown: nothing could have matched
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanview.analysis.misses import absent_attributes
from spanview.analysis.query import Query
from spanview.analysis.query_base import OfAttribute, OfBelow, OfParts, Term
from spanview.analysis.select import selected_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from spanview.index.store import Store


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of a query that no span may match."""

    text: str
    """The query as it was given."""
    matches: int
    """Spans that match."""
    absent: tuple[str, ...]
    """Attributes that it asks for and no span has; filled only if no span matches."""
    is_open_to_any: bool
    """Whether a span could have matched: there are spans, and the absent attributes leave something to match."""


def ask(store: Store, query: Query, traces: Collection[int] | None) -> Gate:
    """Return how many spans match a query, and if none does, whether any could.

    Args:
        query: What none of them may match.
        traces: Rows of the trace table whose spans are asked; None for all.
    """
    matches = _count(store, query, traces)
    if matches:
        return Gate(query.text, matches, (), is_open_to_any=True)
    absent = absent_attributes(store, query, traces)
    is_open = bool(_count(store, Query(""), traces)) and all(_can_match(term, absent) for term in query.span_terms)
    return Gate(query.text, 0, absent, is_open)


def _count(store: Store, query: Query, traces: Collection[int] | None) -> int:
    of_row = store.spans.trace
    return sum(1 for row in selected_rows(store, query=query) if traces is None or of_row[row] in traces)


def _can_match(term: Term, absent: Iterable[str]) -> bool:
    if term.negated:
        return True
    if isinstance(term.rests_on, OfAttribute):
        return term.rests_on.key not in absent
    if isinstance(term.rests_on, OfBelow):
        return _can_match(term.rests_on.term, absent)
    if isinstance(term.rests_on, OfParts):
        joined = any if term.rests_on.is_any else all
        return joined(_can_match(part, absent) for part in term.rests_on.parts)
    return True

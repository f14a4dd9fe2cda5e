"""The two halves of a FastAPI request on Serve, where FastAPI's own spans are a trace by themselves.

replica_handle_request   ==========================      http.method GET   route /predict/{x}   http.status_code "200"
GET /predict/{x}            ====================         http.request.method GET   http.route …   http.response…  200

FastAPI takes its context from HTTP headers only, which Serve doesn't write. So no span id links the two,
and that they belong together is a guess. All of this must hold:

1. both are in the same file, so the same process wrote them;
2. FastAPI's is the root of another trace, of kind SERVER, and lies within the replica's time;
3. method, route and status, as far as both have them, are the same; both have at least the method;
4. so is the request's id, where FastAPI's trace goes on to another deployment, whose spans have it;
5. neither has another span with which all this holds, though others run at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.query.values import REQUEST_ID_KEYS, text_of
from spanview.analysis.serve.requests import Part, part_of_name
from spanview.model.codes import SERVER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.index.store import Store

_METHOD: Final = ("http.request.method", "http.method")
_ROUTE: Final = ("http.route", "route")
_STATUS: Final = ("http.response.status_code", "http.status_code")
_MAX_SPANS: Final = 500
"""If more spans than these are within the time of one, or around it, there is no answer."""


@dataclass(frozen=True, slots=True)
class OtherHalf:
    """The span that probably belongs to another one."""

    row: int
    """Its row in the span table."""
    method: str
    route: str
    """Empty unless both spans have it; so are status and request id."""
    status: str
    request_id: str


def may_have_other_half(store: Store, row: int) -> bool:
    """Return whether a span may have another half; from the columns alone."""
    return _is_replica(store, row) or _is_root_of_server(store, row)


def other_half(store: Store, row: int) -> OtherHalf | None:
    """Return the span that probably belongs to a replica's span or FastAPI's root; None if none or several do."""
    if not may_have_other_half(store, row):
        return None
    match = _only_one(store, row)
    # Matching is symmetric: if the other one has only one match, it is this one.
    return None if match is None or _only_one(store, match.row) is None else match


def _only_one(store: Store, row: int) -> OtherHalf | None:
    rows = _at_that_time(store, row)
    if len(rows) > _MAX_SPANS:
        return None
    own = _facts(store, row)
    fitting = [match for other in rows if (match := _fits(own, _facts(store, other), other)) is not None]
    return fitting[0] if len(fitting) == 1 else None


def _is_replica(store: Store, row: int) -> bool:
    return part_of_name(store.names.texts[store.spans.name[row]]) is Part.REPLICA


def _is_root_of_server(store: Store, row: int) -> bool:
    spans = store.spans
    is_root = not spans.parent_id[row] and spans.kind[row] == SERVER
    return is_root and part_of_name(store.names.texts[spans.name[row]]) is None


# -- what runs at the same time ----------------------------------------------------------------------------------------


def _at_that_time(store: Store, row: int) -> list[int]:
    """Return the roots of the file within a replica's time, or the replicas of the file in whose time a root lies."""
    import numpy as np

    from spanview.index.arrays import copy_of

    spans = store.spans
    first, last, count = spans.start_ns[row], spans.end_ns[row], len(spans.next_row)
    if NO_TIME in (first, last):
        return []
    columns = (spans.source, spans.trace, spans.start_ns, spans.end_ns)
    sources, traces, starts, ends = (copy_of(column)[:count] for column in columns)
    fits = (sources == spans.source[row]) & (traces != spans.trace[row]) & (starts != NO_TIME)
    if _is_replica(store, row):
        fits &= (starts >= first) & (starts <= last) & (ends >= first) & (ends <= last)
        return [other for other in np.flatnonzero(fits).tolist() if _is_root_of_server(store, other)]
    fits &= (starts <= first) & (ends >= last)
    return [other for other in np.flatnonzero(fits).tolist() if _is_replica(store, other)]


# -- what they say -----------------------------------------------------------------------------------------------------


def _facts(store: Store, row: int) -> tuple[str, ...]:
    """Return method, route, status and request id, each empty if a span doesn't have it."""
    attributes = store.span(row).attributes
    *facts, request_id = (_first(attributes, keys) for keys in (_METHOD, _ROUTE, _STATUS, REQUEST_ID_KEYS))
    return *facts, request_id or _request_id_below(store, row)


def _request_id_below(store: Store, row: int) -> str:
    """Return the request id of the first of Serve's spans in a span's trace."""
    names, texts = store.spans.name, store.names.texts
    rows = store.rows_of_trace(store.spans.trace[row])
    first = next((other for other in rows if part_of_name(texts[names[other]]) is not None), None)
    return "" if first is None else _first(store.span(first).attributes, REQUEST_ID_KEYS)


def _fits(own: Sequence[str], other: Sequence[str], row: int) -> OtherHalf | None:
    """Return another span as the other half if the two don't contradict each other."""
    pairs = [*zip(own, other, strict=True)]
    if any(mine and theirs and mine != theirs for mine, theirs in pairs):
        return None
    method, route, status, request_id = (mine if theirs else "" for mine, theirs in pairs)
    return OtherHalf(row, method, route, status, request_id) if method else None


def _first(attributes: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((text_of(attributes[key]) for key in keys if key in attributes), "")

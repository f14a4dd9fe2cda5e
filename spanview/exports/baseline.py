"""What statistics rest on, as a file to compare later ones with: spans without their details, a line each.

{"trace_id":"…","span_id":"…","parent_id":null,"name":"GET /","kind":"SERVER","start_time":"…","end_time":"…",
 "status":{"code":"OK"},"attributes":{},"resource":{"attributes":{"service.name":"shop"}}}

These are lines of spanview's own format, so that whatever reads spans reads them. Of attributes there is only the route
of requests to Ray Serve, after which call paths are named.
"""

from __future__ import annotations

import gzip
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.serve.requests import Part, part_of_name, route_in
from spanview.formats.jsontext import dumps_strict
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME, format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.store import Store

_GZIP: Final = ".gz"
_ROUTE: Final = "http.route"
_KNOW_ROUTES: Final = frozenset((Part.ROUTE, Part.REPLICA))
"""The parts of a request that know its route."""
_COPY: Final = "spanview.copy"
"""The attribute by which spans with the same ids stay different ones."""


def baseline_chunks(store: Store, traces: Sequence[int] | None, path: str) -> Iterator[bytes]:
    """Yield the file's contents; they are compressed where its name ends in `.gz`.

    Args:
        traces: Numbers of the traces; None for all.
    """
    if not path.endswith(_GZIP):
        yield from _lines(store, traces)
        return
    packed = BytesIO()
    # Without a time, the same spans are the same bytes.
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as file:
        file.writelines(_lines(store, traces))
    yield packed.getvalue()


def _lines(store: Store, traces: Sequence[int] | None) -> Iterator[bytes]:
    names = store.names.texts
    with_routes = {number for number, name in enumerate(names) if part_of_name(name) in _KNOW_ROUTES}
    spans, chosen = store.spans, None if traces is None else {*traces}
    for row in store.rows_in_order():
        trace = spans.trace[row]
        if chosen is not None and trace not in chosen:
            continue
        trace_id, span_id, parent_id = store.trace_table.trace_id(trace), spans.span_id[row], spans.parent_id[row]
        attributes: dict[str, Any] = {_COPY: row} if spans.warnings[row] & Warnings.DUPLICATE_ID else {}
        if spans.name[row] in with_routes and (route := route_in(store.span(row).attributes)):
            attributes[_ROUTE] = route
        service, kind = store.services.texts[spans.service[row]], spans.kind[row]
        value: dict[str, Any] = {
            "trace_id": format_trace_id(trace_id) if trace_id else None,
            "span_id": format_span_id(span_id) if span_id else None,
            "parent_id": format_span_id(parent_id) if parent_id else None,
            "name": names[spans.name[row]],
            "kind": KIND_NAMES[kind] if kind < len(KIND_NAMES) else None,
            **{key: _time(column[row]) for key, column in (("start_time", spans.start_ns), ("end_time", spans.end_ns))},
            "status": {"code": STATUS_NAMES[spans.status[row]]},
            "attributes": attributes,
            "resource": {"attributes": {"service.name": service} if service else {}},
        }
        yield dumps_strict(value) + b"\n"


def _time(ns: int) -> str | None:
    return None if ns == NO_TIME else format_time(ns)

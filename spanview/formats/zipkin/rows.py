"""The rows of Zipkin's spans that are just as its API has them, without making spans of them.

Whatever isn't usual is left to `read`, which gives the same for all that is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.rows import Row, Rows, ignore_part
from spanview.formats.tags import ERROR_TAG, KIND, STATUS_CODE, status_named, time_of_micros, times_of
from spanview.formats.usual import NOWHERE, OWN_BYTES, TRACE_BYTES, row_of_span, time_warnings, usual_ids
from spanview.formats.zipkin.read import KEYS, add_endpoint, is_document, records_in, span_of, spans_of
from spanview.formats.zipkin.shared import SpanIds, keys_of
from spanview.formats.zipkin.write import LOCAL
from spanview.model.codes import ERROR, KIND_NAMES, KIND_UNSPECIFIED
from spanview.model.ids import SPAN_ID_DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["is_document", "kept_quickly", "rows_of", "spans_of"]

_KINDS: Final = {None: KIND_UNSPECIFIED} | {name: number for number, name in enumerate(KIND_NAMES)}
_NO_PARENT: Final = "0" * SPAN_ID_DIGITS
_ONLY_TEXT: Final = frozenset((str,))
_MAX_ENDPOINTS: Final = 4096
"""Endpoints that are known at once."""


def kept_quickly(document: dict[str, Any]) -> Rows | None:
    """Return the row of a span that is alone; None for anything else, and for what isn't usual."""
    ids = _ids(document) if document.keys() <= KEYS else None
    row = None if ids is None else _row(document, ids)
    return None if row is None else Rows((row,))


def rows_of(value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
    """Return the rows of what `spans_of` returns spans of."""
    records = [*records_in(value, pass_over)]
    all_ids = [*map(_ids, records)]
    keys: list[SpanIds] | None = None
    if None in all_ids or len({ids[:OWN_BYTES] for ids in all_ids if ids}) < len(records):
        # Perhaps, some share their ids.
        keys = keys_of(records)
    rows = list[Row]()
    for index, (record, ids) in enumerate(zip(records, all_ids, strict=True)):
        key = None if keys is None else keys[index]
        row = None if ids is None else _row(record, ids if key is None else _bytes_of(key))
        if row is None:
            row = row_of_span(span_of(record, keys_of([record])[0] if key is None else key, NOWHERE))
        rows.append(row)
    return rows


def _bytes_of(key: SpanIds) -> bytes:
    trace_id, span_id, parent_id = key
    return b"".join(number.to_bytes(size, "big") for number, size in ((trace_id, 16), (span_id, 8), (parent_id, 8)))


def _ids(record: dict[str, Any]) -> bytes | None:
    """Return the ids of a record as it has them; None where one isn't usual."""
    try:
        trace_id, span_id, parent_id = record["traceId"], record["id"], record.get("parentId")
        if parent_id == _NO_PARENT:
            return None
        ids = usual_ids(trace_id, span_id, parent_id)
        # A span that is its own parent is what some programs write for a root.
        is_own_parent = ids[OWN_BYTES:] == ids[TRACE_BYTES:OWN_BYTES]
        return usual_ids(trace_id, span_id, None) if is_own_parent else ids
    except (ValueError, TypeError, KeyError):
        return None


def _row(record: dict[str, Any], ids: bytes) -> Row | None:
    """Return the row of a record; None where something isn't usual."""
    try:
        get = record.get
        name, tags, raw_kind, annotations = get("name", ""), get("tags", {}), get("kind"), get("annotations", [])
        start, end, is_malformed = times_of(get("timestamp"), get("duration"))
        service = _service_at(get("localEndpoint"))
        if (
            is_malformed
            or type(name) is not str
            or service is None
            or not ("remoteEndpoint" not in record or _service_at(get("remoteEndpoint")) is not None)
            or not {*map(type, tags.values())} <= _ONLY_TEXT
            or type(annotations) is not list
            or not all(map(_is_annotation, annotations))
        ):
            return None
        kind = _KINDS[raw_kind]
        if raw_kind is None and tags.get(KIND) == "internal":
            kind = 0
        status = ERROR if ERROR_TAG in tags else status_named(tags.get(STATUS_CODE)) or 0
        return Row((ids, start, end, name, service, kind, status, time_warnings(start, end), ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _is_annotation(annotation: dict[str, Any]) -> bool:
    return type(annotation["value"]) is str and not time_of_micros(annotation["timestamp"])[1]


def _service_at(endpoint: dict[str, Any] | None) -> str | None:
    """Return the service at an endpoint, empty for none; None for an endpoint that isn't usual."""
    if endpoint is None:
        return ""
    get = endpoint.get
    return _service_named(get("serviceName"), get("ipv4"), get("ipv6"), get("port"))


@lru_cache(_MAX_ENDPOINTS, typed=True)
def _service_named(service: Any, ipv4: Any, ipv6: Any, port: Any) -> str | None:
    endpoint = {"serviceName": service, "ipv4": ipv4, "ipv6": ipv6, "port": port}
    name, is_malformed = add_endpoint({}, endpoint, LOCAL)
    return None if is_malformed else name

"""Whole spans from the JSON of the console exporter; reading many spans does without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from spanview.formats.console.columns import as_text, lenient_row, resource_attributes
from spanview.formats.rows import SpanDetails
from spanview.formats.tracestate import parse_trace_state
from spanview.model.codes import known_kind
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, format_span_id, format_trace_id, parse_id
from spanview.model.problems import NO_WARNINGS, Warnings
from spanview.model.span import Event, Link, Resource, Source, Span, Status
from spanview.model.times import known, parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAN: Final = b"null"
_MAX_KNOWN_RESOURCES: Final = 1024
_MAX_KNOWN_BYTES: Final = 16 * 1024
_resources: dict[bytes, Resource] = {}


def details_of(document: dict[str, Any]) -> SpanDetails:
    """Return what the columns don't have of a document for which `is_span` holds."""
    context, status = document["context"], document.get("status")
    description = status.get("description") if isinstance(status, dict) else None
    return SpanDetails(
        trace_id=parse_id(context.get("trace_id"), TRACE_ID_DIGITS),
        span_id=parse_id(context.get("span_id"), SPAN_ID_DIGITS),
        status_description=None if description is None else as_text(description),
        attributes=_attributes(document),
        events=tuple(map(_event, _list(document, "events"))),
        links=tuple(map(_link, _list(document, "links"))),
        trace_state=parse_trace_state(context.get("trace_state")),
        resource=_resource(document.get("resource")),
        scope=None,
    )


def span_of(document: dict[str, Any], source: Source) -> Span:
    """Return the whole span of a document for which `is_span` holds."""
    trace_id, span_id, parent_id, start, end, name, _, kind, status_code, warnings = lenient_row(document)
    details = details_of(document)
    return Span(
        trace_id=format_trace_id(trace_id) if trace_id else None,
        span_id=format_span_id(span_id) if span_id else None,
        parent_id=format_span_id(parent_id) if parent_id else None,
        name=name,
        kind_value=known_kind(kind),
        start_ns=known(start),
        end_ns=known(end),
        status=Status(status_code, details.status_description),
        attributes=details.attributes,
        events=details.events,
        links=details.links,
        trace_state=details.trace_state,
        resource=details.resource,
        scope=details.scope,
        source=source,
        warnings=Warnings(warnings) if warnings else NO_WARNINGS,
    )


def _resource(resource: Any) -> Resource:
    """Return a resource, the same object for all with the same text: others cache by its identity."""
    try:
        key = orjson.dumps(resource)
    except orjson.JSONEncodeError:
        key = _NAN
    # NaN is written as null.
    known = None if _NAN in key else _resources.get(key)
    if known is None:
        schema_url = resource.get("schema_url") if isinstance(resource, dict) and "attributes" in resource else ""
        known = Resource(resource_attributes(resource), as_text(schema_url))
        if _NAN not in key and len(key) <= _MAX_KNOWN_BYTES:
            if len(_resources) >= _MAX_KNOWN_RESOURCES:
                _resources.clear()
            _resources[key] = known
    return known


def _attributes(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    attributes = holder.get("attributes")
    return attributes if isinstance(attributes, dict) else {}


def _list(holder: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    items = holder.get(key)
    return [item for item in items if isinstance(item, dict)] if items and isinstance(items, list) else ()


def _event(event: Mapping[str, Any]) -> Event:
    return Event(as_text(event.get("name")), known(parse_time(event.get("timestamp"))), _attributes(event))


def _link(link: Mapping[str, Any]) -> Link:
    context = link.get("context")
    context = context if isinstance(context, dict) else {}
    trace_id = parse_id(context.get("trace_id"), TRACE_ID_DIGITS)
    span_id = parse_id(context.get("span_id"), SPAN_ID_DIGITS)
    return Link(
        format_trace_id(trace_id) if trace_id else None,
        format_span_id(span_id) if span_id else None,
        parse_trace_state(context.get("trace_state")),
        _attributes(link),
    )

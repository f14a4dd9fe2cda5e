"""Spans of spanview's as others have them: the independent reader, so that the two can be compared, and Jaeger."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from spanview.formats.jaeger.write import ProcessTable, value_of, warnings_of_trace
from spanview.formats.tags import ignore_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from independent_reader import Record
    from spanview.model.span import Span


def whole(span: Span) -> dict[str, Any]:
    """Return all that a span has: spans themselves are equal as soon as their ids are."""
    return {field.name: getattr(span, field.name) for field in fields(span)} | {"description": span.status.description}


def record_of(span: Span) -> Record:
    """Return a span as the independent reader has it."""
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "kind": f"SpanKind.{span.kind_name}",
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "status": span.status,
        "description": span.status.description,
        "attributes": span.attributes,
        "events": [
            {"name": event.name, "timestamp_ns": event.timestamp_ns, "attributes": event.attributes}
            for event in span.events
        ],
        "links": [
            {"trace_id": link.trace_id, "span_id": link.span_id, "attributes": link.attributes} for link in span.links
        ],
        "resource": span.resource.attributes,
    }


def jaeger_trace(spans: Iterable[Span], lose: Callable[[str], None] = ignore_loss) -> dict[str, Any]:
    """Return one trace as a member of a document's `data`; spans without usable ids are left out."""
    processes, values, warnings = ProcessTable(), [], list[str]()
    trace_id = None
    for span in spans:
        value = value_of(span, processes, lose)
        if value is not None:
            trace_id = value["traceID"]
            values.append(value)
            warnings += warnings_of_trace(span)
    return {"traceID": trace_id, "spans": values, "processes": processes.values, "warnings": warnings or None}

"""Spans as Go's `stdouttrace` writes them: its `SpanStub`, for tests that need more of them than were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanview.model.times import format_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.model.span import Span

_TYPES = {bool: "BOOL", int: "INT64", float: "FLOAT64", str: "STRING"}
_CODES = ("Unset", "Ok", "Error")
_COUNTS = {"DroppedAttributes": "attributes", "DroppedEvents": "events", "DroppedLinks": "links"}


def stub_of(span: Span) -> dict[str, Any]:
    """Return a span's object, as Go writes it."""
    scope = span.scope
    return {
        "Name": span.name,
        "SpanContext": _context(span.trace_id, span.span_id, span.trace_state),
        "Parent": _context(span.trace_id if span.parent_id else None, span.parent_id, {}),
        "SpanKind": 0 if span.kind_value is None else span.kind_value + 1,
        "StartTime": _time(span.start_ns),
        "EndTime": _time(span.end_ns),
        "Attributes": _pairs(span.attributes),
        "Events": [
            {
                "Name": event.name,
                "Attributes": _pairs(event.attributes),
                "DroppedAttributeCount": 0,
                "Time": _time(event.timestamp_ns),
            }
            for event in span.events
        ]
        or None,
        "Links": [
            {
                "SpanContext": _context(link.trace_id, link.span_id, link.trace_state),
                "Attributes": _pairs(link.attributes),
                "DroppedAttributeCount": 0,
            }
            for link in span.links
        ]
        or None,
        "Status": {"Code": _CODES[span.status.code_value], "Description": span.status.description or ""},
        **{name: span.extra.get(f"dropped_{part}_count", 0) for name, part in _COUNTS.items()},
        "ChildSpanCount": 0,
        "Resource": _pairs(span.resource.attributes),
        "InstrumentationScope": {
            "Name": scope.name if scope else "",
            "Version": (scope and scope.version) or "",
            "SchemaURL": "",
            "Attributes": None,
        },
    }


def _context(trace_id: str | None, span_id: str | None, state: Mapping[str, str]) -> dict[str, Any]:
    return {
        "TraceID": trace_id or "0" * 32,
        "SpanID": span_id or "0" * 16,
        "TraceFlags": "01",
        "TraceState": ",".join(f"{key}={value}" for key, value in state.items()),
        "Remote": False,
    }


def _time(ns: int | None) -> str:
    return format_time(ns) or "0001-01-01T00:00:00Z"


def _pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    return [{"Key": key, "Value": _value(value)} for key, value in attributes.items()] or None


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"Type": _TYPES[type(value[0])] + "SLICE", "Value": value}
    return {"Type": _TYPES[type(value)], "Value": value}

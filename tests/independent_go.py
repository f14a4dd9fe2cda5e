"""A second reader of what Go's `stdouttrace` writes: obvious, strict, and without a line of spanview in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

KINDS: Final = ("None", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")


def is_span(value: Any) -> bool:
    """Tell whether a decoded value is a span."""
    return isinstance(value, dict) and {"Name", "SpanContext", "Parent", "SpanKind"} <= set(value)


def record_of(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span as the reader of the console exporter's files has it."""
    parent = span["Parent"]["SpanID"]
    return {
        "trace_id": span["SpanContext"]["TraceID"],
        "span_id": span["SpanContext"]["SpanID"],
        "parent_id": None if parent == "0" * 16 else parent,
        "name": span["Name"],
        "kind": f"SpanKind.{KINDS[span['SpanKind']]}",
        "start_ns": _time(span["StartTime"]),
        "end_ns": _time(span["EndTime"]),
        "status": span["Status"]["Code"].upper(),
        "description": span["Status"]["Description"] or None,
        "attributes": _attributes(span["Attributes"]),
        "events": [
            {
                "name": event["Name"],
                "timestamp_ns": _time(event["Time"]),
                "attributes": _attributes(event["Attributes"]),
            }
            for event in span["Events"] or ()
        ],
        "links": [
            {
                "trace_id": link["SpanContext"]["TraceID"],
                "span_id": link["SpanContext"]["SpanID"],
                "attributes": _attributes(link["Attributes"]),
            }
            for link in span["Links"] or ()
        ],
        "resource": _attributes(span["Resource"]),
    }


def _attributes(pairs: list[dict[str, Any]] | None) -> dict[str, Any]:
    return {pair["Key"]: _value(**pair["Value"]) for pair in pairs or ()}


def _value(Type: str, Value: Any) -> Any:  # noqa: N803 - Go's names
    return float(Value) if Type == "FLOAT64" else Value


def _time(text: str) -> int | None:
    whole, _, fraction = text.removesuffix("Z").partition(".")
    since = datetime.fromisoformat(whole).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86400 + since.seconds
    return None if seconds < 0 else seconds * 10**9 + int(fraction.ljust(9, "0") or 0)

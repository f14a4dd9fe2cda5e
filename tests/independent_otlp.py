"""A second reader of OTLP's JSON: obvious, strict, and without a line of spanview in it.

It knows what the recordings have: one `TracesData` a document, in camel case. What is missing raises.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

KINDS: Final = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUSES: Final = ("UNSET", "OK", "ERROR")


def records_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the spans of a document in its order, as the reader of the console exporter's files has them."""
    return [
        _record(span, of_resource["resource"])
        for of_resource in document["resourceSpans"]
        for of_scope in of_resource["scopeSpans"]
        for span in of_scope["spans"]
    ]


def _record(span: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    status = span["status"]
    return {
        "trace_id": _id(span["traceId"], 32),
        "span_id": _id(span["spanId"], 16),
        "parent_id": _id(span["parentSpanId"], 16) if "parentSpanId" in span else None,
        "name": span["name"],
        "kind": f"SpanKind.{_name(span['kind'], 'SPAN_KIND_', KINDS)}",
        "start_ns": int(span["startTimeUnixNano"]),
        "end_ns": int(span["endTimeUnixNano"]),
        "status": _name(status.get("code", 0), "STATUS_CODE_", STATUSES),
        "description": status.get("message"),
        "attributes": _attributes(span),
        "events": [
            {"name": event["name"], "timestamp_ns": int(event["timeUnixNano"]), "attributes": _attributes(event)}
            for event in span.get("events", ())
        ],
        "links": [
            {
                "trace_id": _id(link["traceId"], 32),
                "span_id": _id(link["spanId"], 16),
                "attributes": _attributes(link),
            }
            for link in span.get("links", ())
        ],
        "resource": _attributes(resource),
    }


def _id(text: str, digits: int) -> str:
    found = text if len(text) == digits else b64decode(text).hex()
    assert len(found) == digits
    return found


def _name(value: int | str, prefix: str, names: tuple[str, ...]) -> str:
    return names[value] if isinstance(value, int) else value.removeprefix(prefix)


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {pair["key"]: _value(pair["value"]) for pair in holder.get("attributes", ())}


def _value(value: dict[str, Any]) -> Any:
    ((kind, part),) = value.items()
    if kind == "arrayValue":
        return [_value(each) for each in part["values"]]
    return int(part) if kind == "intValue" else part

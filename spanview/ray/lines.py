r"""A span as a line of OTLP's JSON, whose bytes are always in the same order.

{"resourceSpans":[{"resource":{"attributes":[…]},"scopeSpans":[{"scope":{"name":"…"},"spans":[    all of a process
{"traceId":"32 hex digits","spanId":"16",                                                          all
"parentSpanId":"16",                                                                               unless it is a root
"flags":3 digits,"name":"…","kind":1 digit,"startTimeUnixNano":"19 digits",                        all
"endTimeUnixNano":"19 digits",                                                                     once it has ended
"status":{},"attributes":[…]                                                                       all
,"events":[…],"links":[…],"traceState":"…"                                                         if there are any
,"droppedAttributesCount":1,"droppedEventsCount":1,"droppedLinksCount":1                           unless they are 0
}]}]}]}\n                                                                                          all

A scope's version and attributes follow its name; a schema URL follows its list of spans or of scopes. There are no
blanks, characters outside ASCII are UTF-8, and what is no valid Unicode is U+FFFD.

Source: opentelemetry/proto/trace/v1/trace.proto, and "JSON Protobuf Encoding" of the OTLP specification.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring as quoted
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

Frame: TypeAlias = tuple[str, str]
"""The text of a line before its span and after it."""

SCOPE: Final = "spanview.ray"
"""The scope of log records about spans that could not be written."""
NOT_WRITTEN: Final = "spanview.not_written"
"""The attribute that counts spans that could not be written."""
REASON: Final = "spanview.reason"
"""The attribute that says why the last span that could not be written was not."""
ENDED_BY: Final = "ray.ended_by"
"""The attribute that says what ended an attempt that neither returned nor failed."""
_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200
"""Bits of `flags`: whether it says that the parent is in another process, and that it is."""
_INT64: Final = range(-(2**63), 2**63)
_MAX_DEPTH: Final = 31
"""Lists and maps in an event's attribute, one in the other: protobuf reads 100 nested messages."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def frame_of(resource: Mapping[str, Any], schema_url: str, scope: InstrumentationScope | None) -> Frame:
    """Return what all lines of a resource and a scope have before and after their span."""
    parts, url = [], ""
    if scope is not None:
        url = scope.schema_url or ""
        parts = [f'"name":{quoted(scope.name or "")}']
        if scope.version:
            parts.append(f'"version":{quoted(scope.version)}')
        if scope.attributes:
            parts.append(f'"attributes":{_attributes(scope.attributes)}')
    before = (
        f'{{"resourceSpans":[{{"resource":{{"attributes":{_attributes(resource)}}},'
        f'"scopeSpans":[{{"scope":{{{",".join(parts)}}},"spans":['
    )
    return before, f"]{_schema(url)}}}]{_schema(schema_url)}}}]}}\n"


def line_of(span: ReadableSpan, frame: Frame, ended_by: str = "") -> bytes:
    """Return the line of a span, without an end if it hasn't ended, and with what ended it from outside."""
    before, after = frame
    return encoded(f"{before}{_span(span, ended_by)}{after}")


def loss_line_of(resource: Mapping[str, Any], time_ns: int, count: int, reason: str) -> bytes:
    """Return the line of a log record with the severity WARN: spans that ended could not be written.

    Args:
        time_ns: When it is written, in nanoseconds since 1970.
    """
    text = f"{count} spans that ended before this could not be written: {reason}"
    attributes = _attributes({NOT_WRITTEN: count, REASON: reason})
    return encoded(
        f'{{"resourceLogs":[{{"resource":{{"attributes":{_attributes(resource)}}},'
        f'"scopeLogs":[{{"scope":{{"name":"{SCOPE}"}},"logRecords":[{{"timeUnixNano":"{time_ns}",'
        f'"severityNumber":13,"severityText":"WARN","body":{{"stringValue":{quoted(text)}}},'
        f'"attributes":{attributes}}}]}}]}}]}}\n'
    )


def encoded(text: str) -> bytes:
    """Return the UTF-8 of a text, with U+FFFD for what is no valid Unicode."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def _span(span: ReadableSpan, ended_by: str) -> str:
    context, parent, status = span.context, span.parent, span.status
    attributes = span.attributes or {}
    if ended_by:
        attributes = {**attributes, ENDED_BY: ended_by}
    flags = context.trace_flags & 0xFF | _HAS_IS_REMOTE
    parent_id = ""
    if parent is not None:
        parent_id = f'"parentSpanId":"{parent.span_id:016x}",'
        flags |= _IS_REMOTE * parent.is_remote
    times = f'"startTimeUnixNano":"{span.start_time or 0:019}",'
    if span.end_time is not None:
        times += f'"endTimeUnixNano":"{span.end_time:019}",'
    code = status.status_code.value
    described = f'"code":{code},"message":{quoted(status.description)}' if status.description else f'"code":{code}'
    return (
        f'{{"traceId":"{context.trace_id:032x}","spanId":"{context.span_id:016x}",{parent_id}"flags":{flags},'
        f'"name":{quoted(span.name)},"kind":{span.kind.value + 1},{times}'
        f'"status":{{{described if code else ""}}},"attributes":{_attributes(attributes)}{_rest(span)}}}'
    )


def _rest(span: ReadableSpan) -> str:
    """Return what most spans don't have."""
    text = ""
    if events := span.events:
        text += f',"events":[{",".join([_event(event) for event in events])}]'
    if links := span.links:
        text += f',"links":[{",".join([_link(link) for link in links])}]'
    if state := span.context.trace_state:
        text += f',"traceState":{quoted(state.to_header())}'
    for name, count in (
        ("droppedAttributesCount", span.dropped_attributes),
        ("droppedEventsCount", span.dropped_events),
        ("droppedLinksCount", span.dropped_links),
    ):
        if count:
            text += f',"{name}":{count}'
    return text


def _event(event: Any) -> str:
    dropped = f',"droppedAttributesCount":{event.dropped_attributes}' if event.dropped_attributes else ""
    return (
        f'{{"timeUnixNano":"{event.timestamp or 0:019}","name":{quoted(event.name)},'
        f'"attributes":{_attributes(event.attributes or {})}{dropped}}}'
    )


def _link(link: Any) -> str:
    context = link.context
    state = f',"traceState":{quoted(context.trace_state.to_header())}' if context.trace_state else ""
    dropped = f',"droppedAttributesCount":{link.dropped_attributes}' if link.dropped_attributes else ""
    flags = context.trace_flags & 0xFF | _HAS_IS_REMOTE | _IS_REMOTE * context.is_remote
    return (
        f'{{"traceId":"{context.trace_id:032x}","spanId":"{context.span_id:016x}","flags":{flags}{state},'
        f'"attributes":{_attributes(link.attributes or {})}{dropped}}}'
    )


def _attributes(attributes: Mapping[str, Any], depth: int = 0) -> str:
    # Most values are texts: a call for each would cost as much as all else.
    pairs = [
        f'{_key(key)}{{"stringValue":{quoted(value)}}}}}'
        if type(value) is str
        else f"{_key(key)}{_value(value, depth)}}}"
        for key, value in attributes.items()
    ]
    return f"[{','.join(pairs)}]"


@lru_cache(maxsize=1024)
def _key(key: str) -> str:
    return f'{{"key":{quoted(str(key))},"value":'


def _value(value: Any, depth: int) -> str:
    """Return an `AnyValue`: `{"intValue":"7"}`."""
    if isinstance(value, str):
        return f'{{"stringValue":{quoted(value)}}}'
    if isinstance(value, bool):
        return '{"boolValue":true}' if value else '{"boolValue":false}'
    if isinstance(value, int):
        return f'{{"{"intValue" if value in _INT64 else "stringValue"}":"{int(value)}"}}'
    if isinstance(value, float):
        return f'{{"doubleValue":{_double(float(value))}}}'
    if value is None:
        return "{}"
    if isinstance(value, bytes):
        return f'{{"bytesValue":"{b64encode(value).decode()}"}}'
    if depth < _MAX_DEPTH and isinstance(value, Mapping):
        return f'{{"kvlistValue":{{"values":{_attributes(value, depth + 1)}}}}}'
    if depth < _MAX_DEPTH and isinstance(value, Sequence):
        return f'{{"arrayValue":{{"values":[{",".join([_value(item, depth + 1) for item in value])}]}}}}'
    return f'{{"stringValue":{quoted(str(value))}}}'


def _double(value: float) -> str:
    if isfinite(value):
        return repr(value)
    return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _schema(url: str) -> str:
    return f',"schemaUrl":{quoted(url)}' if url else ""

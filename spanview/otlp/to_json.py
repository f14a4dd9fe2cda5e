"""Bodies of protobuf to lines of OTLP's JSON.

The messages around spans are taken apart here, and each span is decoded on its own: a damaged one doesn't cost the
others, and no body becomes messages of many times its size all at once. Spans, resources and scopes themselves are
decoded by opentelemetry-proto. Protobuf's own way to JSON takes four times as long, and writes ids in base64.

Source: opentelemetry/proto/trace/v1/trace.proto, and "JSON Protobuf Encoding" in the OTLP specification.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from spanview.formats.otlp.values import non_finite_name
from spanview.otlp.body import MalformedError, Refused, RefusedError
from spanview.otlp.span_lines import MAX_LINE_BYTES, Json, LineFrame, frame_of, lines_of, most_parts
from spanview.otlp.wire import fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Sized

    from spanview.otlp.body import Acceptance

_RESOURCE_SPANS: Final = 1
_RESOURCE, _SCOPE_SPANS, _RESOURCE_SCHEMA = 1, 2, 3
_LIBRARY_SPANS: Final = 1000
"""What `scope_spans` was until 2022; the fields in it have kept their numbers."""
_SCOPE, _SPANS, _SCOPE_SCHEMA = 1, 2, 3
_MIN_SPAN_BYTES: Final = 28
"""Bytes of a span that has its ids and nothing else."""
_TRACE_ID_BYTES, _SPAN_ID_BYTES = 16, 8
_MIN_EVENT_BYTES: Final = len('{"timeUnixNano":"0","name":"","attributes":[]},')
_MIN_LINK_BYTES: Final = len('{"traceId":"","spanId":"","attributes":[]},')
_MIN_PAIR_BYTES: Final = len('{"key":"","value":{}},')
_MAX_PARTS: Final = 200_000
"""Fields of a span, a resource or a scope, with all that is in it: decoded, they take many times their bytes."""
_PARTS_FROM_BYTES: Final = 2 * _MAX_PARTS
"""Bytes of so many fields, if not more."""
_VALUE_PARTS: Final[dict[int, Any]] = {}
_PAIR_PARTS: Final = {2: _VALUE_PARTS}
_VALUE_PARTS.update({5: {1: _VALUE_PARTS}, 6: {1: _PAIR_PARTS}})
_SPAN_PARTS: Final = {9: _PAIR_PARTS, 11: {3: _PAIR_PARTS}, 13: {4: _PAIR_PARTS}}
"""The fields that are messages, by number, and those in them: attributes, events and links."""
_RESOURCE_PARTS: Final = {1: _PAIR_PARTS}
_SCOPE_PARTS: Final = {3: _PAIR_PARTS}
_MAX_CACHED_BYTES: Final = 64 * 1024


def lines_of_protobuf(data: bytes | bytearray, outcome: Acceptance) -> Iterator[bytes]:
    """Yield the lines of a body, an `ExportTraceServiceRequest`, and count what becomes of its spans.

    Raises:
        MalformedError: It isn't one; then no line was yielded.
    """
    # Nothing of it is kept meanwhile: a scope takes four bytes there, and fifty times as many here.
    for _ in _scopes_of(data):
        pass
    for frame, of_scope in _scopes_of(data):
        yield from lines_of(frame, _spans_of(of_scope), outcome)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and content of the fields of a message that are messages or texts."""
    try:
        for number, content in fields_of(message):
            if not isinstance(content, int):
                yield number, content
    except ValueError as error:
        raise MalformedError(f"protobuf with {error}") from None


def _scopes_of(data: bytes | bytearray) -> Iterator[tuple[LineFrame, memoryview]]:
    """Yield the frame of each scope, and the message with its spans."""
    parts_left = most_parts(len(data))
    for number, of_resource in _fields(memoryview(data)):
        if number == _RESOURCE_SPANS:
            parts_left -= 1
            resource, schema = _joined(of_resource, _RESOURCE, _RESOURCE_SCHEMA)
            for field, of_scope in _fields(of_resource):
                if field in {_SCOPE_SPANS, _LIBRARY_SPANS}:
                    parts_left -= 1
                    if parts_left < 0:
                        break
                    scope, scope_schema = _joined(of_scope, _SCOPE, _SCOPE_SCHEMA)
                    parts = resource, schema, scope, scope_schema
                    make = _cached_frame if sum(map(len, parts)) <= _MAX_CACHED_BYTES else _frame
                    yield make(*parts), of_scope
        if parts_left < 0:
            raise MalformedError("resources and scopes that are mostly empty")


def _joined(message: memoryview, number: int, schema_number: int) -> tuple[bytes, bytes]:
    """Return the message in a field and the text in another.

    As protobuf has it, of a message that is there repeatedly all counts, and of a text the last one.
    """
    joined, schema = bytearray(), memoryview(b"")
    for field, content in _fields(message):
        if field == number:
            joined += content
        elif field == schema_number:
            schema = content
    return bytes(joined), bytes(schema)


def _frame(resource: bytes, schema: bytes, scope: bytes, scope_schema: bytes) -> LineFrame:
    if len(resource) + len(scope) > MAX_LINE_BYTES:
        raise MalformedError("a resource and scope that are too long")
    if _has_many_parts(memoryview(resource), _RESOURCE_PARTS) or _has_many_parts(memoryview(scope), _SCOPE_PARTS):
        raise MalformedError("a resource or scope with too many attributes")
    try:
        return frame_of(
            MessageToDict(Resource.FromString(resource)),
            _schema(schema),
            MessageToDict(InstrumentationScope.FromString(scope)),
            _schema(scope_schema),
        )
    except (DecodeError, UnicodeDecodeError, RefusedError) as error:
        raise MalformedError(f"a resource or scope that can't be decoded: {error}") from None


_cached_frame: Final = lru_cache(maxsize=256)(_frame)


def _schema(url: bytes) -> Json:
    return {"schemaUrl": url.decode()} if url else {}


def _spans_of(of_scope: memoryview) -> Iterator[Json | Refused]:
    for number, content in _fields(of_scope):
        if number == _SPANS:
            yield _decoded(content)


def _decoded(content: memoryview) -> Json | Refused:
    if len(content) < _MIN_SPAN_BYTES:
        return Refused("a span without a trace id or span id")
    if len(content) > MAX_LINE_BYTES:
        return Refused(f"a span of {len(content):,} bytes, more than readers take")
    if _has_many_parts(content, _SPAN_PARTS):
        return Refused(f"a span with more than {_MAX_PARTS:,} values in its attributes, events and links")
    try:
        span = Span.FromString(bytes(content))
    except DecodeError:
        return Refused("a span that isn't protobuf of this protocol")
    try:
        return span_object(span)
    except RefusedError as error:
        # An error that went on from here would hold the decoded span, which can be large.
        return Refused(str(error), span.name)


def _has_many_parts(message: memoryview, parts: dict[int, Any]) -> bool:
    """Return whether a message has more fields, with all that is in it, than can be decoded in little memory.

    Args:
        parts: Which of its fields are messages, by number, and the same of these.
    """
    if len(message) < _PARTS_FROM_BYTES:
        return False
    left, waiting = _MAX_PARTS, [(message, parts)]
    try:
        while waiting:
            message, parts = waiting.pop()
            for number, content in fields_of(message):
                left -= 1
                if left < 0:
                    return True
                if number in parts and not isinstance(content, int):
                    waiting.append((content, parts[number]))
    except ValueError:
        # The decoder says what is wrong.
        return False
    return False


def span_object(span: Span) -> Json:
    """Return the object of a span.

    Raises:
        RefusedError: An id can't be one.
    """
    result = _ids(span)
    if flags := span.flags:
        result["flags"] = flags
    result["name"] = span.name
    result["kind"] = span.kind
    result["startTimeUnixNano"] = str(span.start_time_unix_nano)
    if end := span.end_time_unix_nano:
        result["endTimeUnixNano"] = str(end)
    result["status"] = _status(span.status) if span.HasField("status") else {}
    result["attributes"] = _attributes(span.attributes)
    if events := span.events:
        _check_count(events, _MIN_EVENT_BYTES)
        result["events"] = [_event(event) for event in events]
    if links := span.links:
        _check_count(links, _MIN_LINK_BYTES)
        result["links"] = [_link(link) for link in links]
    if state := span.trace_state:
        result["traceState"] = state
    for name, count in (
        ("droppedAttributesCount", span.dropped_attributes_count),
        ("droppedEventsCount", span.dropped_events_count),
        ("droppedLinksCount", span.dropped_links_count),
    ):
        if count:
            result[name] = count
    return result


def _ids(span: Span) -> Json:
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
    if len(trace_id) != _TRACE_ID_BYTES or not any(trace_id):
        raise RefusedError(f"a trace id that isn't {_TRACE_ID_BYTES} bytes, or all zeros")
    if len(span_id) != _SPAN_ID_BYTES or not any(span_id):
        raise RefusedError(f"a span id that isn't {_SPAN_ID_BYTES} bytes, or all zeros")
    result: Json = {"traceId": trace_id.hex(), "spanId": span_id.hex()}
    if parent_id and len(parent_id) != _SPAN_ID_BYTES:
        raise RefusedError(f"a parent span id that isn't {_SPAN_ID_BYTES} bytes")
    if any(parent_id):
        result["parentSpanId"] = parent_id.hex()
    return result


def _status(status: Status) -> Json:
    result: Json = {}
    if code := status.code:
        result["code"] = code
    if message := status.message:
        result["message"] = message
    return result


def _event(event: Span.Event) -> Json:
    result: Json = {
        "timeUnixNano": str(event.time_unix_nano),
        "name": event.name,
        "attributes": _attributes(event.attributes),
    }
    if count := event.dropped_attributes_count:
        result["droppedAttributesCount"] = count
    return result


def _link(link: Span.Link) -> Json:
    result: Json = {"traceId": link.trace_id.hex(), "spanId": link.span_id.hex()}
    if flags := link.flags:
        result["flags"] = flags
    if state := link.trace_state:
        result["traceState"] = state
    result["attributes"] = _attributes(link.attributes)
    if count := link.dropped_attributes_count:
        result["droppedAttributesCount"] = count
    return result


def _check_count(parts: Sized, min_bytes: int) -> None:
    """Refuse what would be too long a line, before it takes a hundred times as much memory as it is long."""
    if len(parts) * min_bytes > MAX_LINE_BYTES:
        raise RefusedError(f"a span with {len(parts):,} attributes, events or links in one place")


def _attributes(pairs: Sequence[Any]) -> list[Json]:
    _check_count(pairs, _MIN_PAIR_BYTES)
    result = []
    for pair in pairs:
        value = pair.value
        member = value.WhichOneof("value")
        # Most values are short texts: a call for each would cost more than all else.
        written = {"stringValue": value.string_value} if member == "string_value" else _value(value, member)
        result.append({"key": pair.key, "value": written})
    return result


def _value(value: Any, member: str | None) -> Json:
    # What a later version of the protocol adds isn't known.
    return _MEMBERS[member](value) if member in _MEMBERS else {}


def _double(value: float) -> float | str:
    return value if isfinite(value) else non_finite_name(value)


_MEMBERS: Final[dict[str | None, Callable[[Any], Json]]] = {
    "string_value": lambda value: {"stringValue": value.string_value},
    "bool_value": lambda value: {"boolValue": value.bool_value},
    "int_value": lambda value: {"intValue": str(value.int_value)},
    "double_value": lambda value: {"doubleValue": _double(value.double_value)},
    "bytes_value": lambda value: {"bytesValue": b64encode(value.bytes_value).decode()},
    "array_value": lambda value: {
        "arrayValue": {"values": [_value(item, item.WhichOneof("value")) for item in value.array_value.values]}
    },
    "kvlist_value": lambda value: {"kvlistValue": {"values": _attributes(value.kvlist_value.values)}},
}

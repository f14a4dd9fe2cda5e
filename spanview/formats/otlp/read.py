"""OTLP's JSON: what the collector's and the SDKs' file exporters write a line of, and what is sent to an endpoint.

Source: opentelemetry/proto/trace/v1/trace.proto, and "JSON Protobuf Encoding" in the OTLP specification. Ids are also
taken in the base64 of protobuf's own JSON, enums by name or number, 64-bit integers as text or number, fields in camel
and in snake case, and what older versions and Tempo name otherwise: `batches`, `instrumentationLibrarySpans`. A
field that is null counts as absent. Unknown fields are ignored.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.formats.otlp.fields import ENUMS, MESSAGES, FieldKind, extra_of, snake_case
from spanview.formats.otlp.values import UINT32, Reader, bytes_of, enum_number, field
from spanview.formats.rows import ignore_part
from spanview.formats.tracestate import parse_trace_state_header
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, format_span_id, format_trace_id, parse_id
from spanview.model.span import STATUSES, Event, Link, Resource, Scope, Span, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spanview.model.span import Source

DOCUMENT_KEYS: Final = ("resourceSpans", "resource_spans", "batches")
"""Keys of a document, each with a list of the spans of resources."""
RESOURCE_KEYS: Final = (
    *("scopeSpans", "scope_spans"),
    *("instrumentationLibrarySpans", "instrumentation_library_spans"),
)
"""Keys of the spans of one resource, each with a list of the spans of scopes."""
_WRAPPERS: Final = ("trace", "result")
"""Keys of the document in responses of Tempo's and Jaeger's APIs."""
_TIME_RANGE: Final = range(2**63)
_TRACE_ID: Final = re.compile("(?!0+$)[0-9a-f]{32}")
_SPAN_ID: Final = re.compile("(?!0+$)[0-9a-f]{16}")
_TIME: Final = re.compile("[1-8][0-9]{0,18}")
"""Of 63 bits."""
_NOTHING: Final[dict[str, Any]] = {}
_TEXT, _INTEGER = {str}, {int}
_KINDS, _CODES = (range(len(ENUMS[kind][1])) for kind in (FieldKind.SPAN_KIND, FieldKind.STATUS_CODE))
_RARE: Final = frozenset((FieldKind.MESSAGES, FieldKind.TRACE_STATE, FieldKind.COUNT))
_USUAL: Final = frozenset(field.name for field in MESSAGES["Span"] if field.kind not in _RARE)
"""Fields of a span that has no events, links, counts or trace state."""
_OF_STATUS: Final = frozenset(field.name for field in MESSAGES["Status"])
SPAN_TYPE: Final = "logfire.span_type"
"""An attribute of Logfire's, which says of pending spans that they are that."""
_PENDING: Final = "pending_span"
_PENDING_PARENT: Final = "logfire.pending_parent_id"


def is_document(value: Any) -> bool:
    """Tell whether a decoded value is a document of this format, or the spans of one resource."""
    return isinstance(value, dict) and (_document_in(value) is not None or _has_list(value, RESOURCE_KEYS))


def _document_in(value: dict[str, Any]) -> dict[str, Any] | None:
    candidates = (value, *(value.get(key) for key in _WRAPPERS))
    return next((part for part in candidates if isinstance(part, dict) and _has_list(part, DOCUMENT_KEYS)), None)


def _has_list(value: Mapping[str, Any], keys: Sequence[str]) -> bool:
    return any(isinstance(value.get(key), list) for key in keys)


def spans_of(value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
    """Return the spans of a value for which `is_document` holds, in its order."""
    return [
        span_of(span, parts, source)
        for of_resource in of_resources(value, pass_over)
        for of_scope in of_scopes(of_resource, pass_over)
        for parts in [parts_of(of_resource, of_scope)]
        for span in spans_in(of_scope, pass_over)
    ]


def of_resources(value: Any, pass_over: Callable[[Any], None]) -> Iterable[dict[str, Any]]:
    """Return what a document has for each resource; data that isn't such goes to `pass_over`, as with the next two."""
    document = _document_in(value)
    return [value] if document is None else _dicts(document, DOCUMENT_KEYS, pass_over)


def of_scopes(of_resource: Mapping[str, Any], pass_over: Callable[[Any], None]) -> Iterator[dict[str, Any]]:
    """Yield what a resource has for each scope."""
    return _dicts(of_resource, RESOURCE_KEYS, pass_over)


def spans_in(of_scope: Mapping[str, Any], pass_over: Callable[[Any], None]) -> Iterator[dict[str, Any]]:
    """Yield the objects of spans that a scope has."""
    return _dicts(of_scope, ("spans",), pass_over)


def _dicts(
    holder: Mapping[str, Any], keys: Sequence[str], pass_over: Callable[[Any], None]
) -> Iterator[dict[str, Any]]:
    """Yield the objects in the lists that a holder has under some keys, or a list under none that is known."""
    given = [holder[key] for key in keys if holder.get(key) is not None]
    for value in given or [part for part in holder.values() if isinstance(part, list)]:
        if not given or not isinstance(value, list):
            pass_over(value)
            continue
        for item in value:
            if isinstance(item, dict):
                yield item
            else:
                pass_over(item)


class SharedParts(NamedTuple):
    """What the spans of a scope have in common."""

    resource: Resource
    scope: Scope | None
    is_malformed: bool


def parts_of(of_resource: Mapping[str, Any], of_scope: Mapping[str, Any]) -> SharedParts:
    """Return what the spans of a scope have in common."""
    read = Reader()
    resource, scope = _resource(read, of_resource), _scope(read, of_scope)
    return SharedParts(resource, scope, read.is_malformed)


def _resource(read: Reader, of_resource: Mapping[str, Any]) -> Resource:
    resource = read.object(of_resource.get("resource"))
    entities = [_entity(read, entity) for entity in read.objects(field(resource, "entityRefs"))]
    extra = _counts(read, resource, "Resource") | ({"entity_refs": entities} if entities else {})
    schema_url = read.text(field(of_resource, "schemaUrl"))
    return Resource(read.attributes(resource.get("attributes")), schema_url, extra)


def _entity(read: Reader, entity: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: read.text(field(entity, name)) for name in ("schemaUrl", "type")}
    lists = {name: [*map(read.text, read.items(field(entity, name)))] for name in ("idKeys", "descriptionKeys")}
    return {snake_case(name): part for name, part in (texts | lists).items() if part}


def _scope(read: Reader, of_scope: Mapping[str, Any]) -> Scope | None:
    """Return the scope; None where nothing is known of it, which the protocol has in several spellings."""
    scope = of_scope.get("scope")
    scope = read.object(field(of_scope, "instrumentationLibrary") if scope is None else scope)
    result = Scope(
        read.text(scope.get("name")),
        read.text(scope.get("version")) or None,
        read.text(field(of_scope, "schemaUrl")) or None,
        read.attributes(scope.get("attributes")),
        _counts(read, scope, "InstrumentationScope"),
    )
    return None if result == Scope("") else result


def span_of(span: Mapping[str, Any], shared: SharedParts, source: Source) -> Span:
    """Return one span; what is unusable in it is left out, or shown as text, and marked."""
    return _usual(span, shared, source) or _of_any_kind(span, shared, source)


def _usual(span: Mapping[str, Any], shared: SharedParts, source: Source) -> Span | None:
    """Return a span that is written as nearly all are, twice as quick; None for another one."""
    get: Callable[..., Any] = span.get
    trace_id, span_id, parent_id = get("traceId"), get("spanId"), get("parentSpanId", "")
    name, start, end = get("name"), get("startTimeUnixNano"), get("endTimeUnixNano")
    kind, flags, status = get("kind", 0), get("flags", 0), get("status", _NOTHING)
    if shared.is_malformed or not span.keys() <= _USUAL or type(status) is not dict or not status.keys() <= _OF_STATUS:
        return None
    code, message = status.get("code", 0), status.get("message", "")
    if not (
        {*map(type, (name, message, trace_id, span_id, parent_id, start, end))} == _TEXT
        and {type(kind), type(flags), type(code)} == _INTEGER
        and _TRACE_ID.fullmatch(trace_id)
        and _SPAN_ID.fullmatch(span_id)
        and (not parent_id or _SPAN_ID.fullmatch(parent_id))
        and _TIME.fullmatch(start)
        and _TIME.fullmatch(end)
        and kind in _KINDS
        and code in _CODES
        and flags in UINT32
    ):
        return None
    read = Reader()
    attributes = read.attributes(get("attributes"))
    if read.is_malformed or SPAN_TYPE in attributes:
        return None
    return Span(
        trace_id,
        span_id,
        parent_id or None,
        name,
        kind - 1 if kind else None,
        int(start),
        int(end),
        Status(code, message or None) if message else STATUSES[code],
        attributes,
        (),
        (),
        {},
        shared.resource,
        shared.scope,
        {"flags": flags} if flags else {},
        source,
    )


def _of_any_kind(span: Mapping[str, Any], shared: SharedParts, source: Source) -> Span:
    read = Reader()
    read.is_malformed = shared.is_malformed
    extra = _counts(read, span, "Span")
    status = read.object(span.get("status"))
    trace_id, span_id, parent_id = (
        _id(field(span, name), digits, name, extra)
        for name, digits in (
            ("traceId", TRACE_ID_DIGITS),
            ("spanId", SPAN_ID_DIGITS),
            ("parentSpanId", SPAN_ID_DIGITS),
        )
    )
    kind = _enum(read, span.get("kind"), FieldKind.SPAN_KIND)
    result = Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        name=read.text(span.get("name")),
        kind_value=kind - 1 if kind else None,
        start_ns=read.number_in(field(span, "startTimeUnixNano"), _TIME_RANGE) or None,
        end_ns=read.number_in(field(span, "endTimeUnixNano"), _TIME_RANGE) or None,
        status=Status(_enum(read, status.get("code"), FieldKind.STATUS_CODE), read.text(status.get("message")) or None),
        attributes=read.attributes(span.get("attributes")),
        events=tuple([_event(read, event) for event in read.objects(span.get("events"))]),
        links=tuple([_link(read, link) for link in read.objects(span.get("links"))]),
        trace_state=_trace_state(read, field(span, "traceState"), extra),
        resource=shared.resource,
        scope=shared.scope,
        extra=extra,
        source=source,
    )
    if result.attributes.get(SPAN_TYPE) == _PENDING and parent_id is not None:
        result = _begun(result, parent_id)
    return result.with_warnings(read.warnings(has_bad_id=None in (trace_id, span_id) or "parent_span_id" in extra))


def _begun(pending: Span, span_id: str) -> Span:
    """Return the span that a pending span of Logfire says has started: its parent, without an end.

    Source: `PendingSpanProcessor` in logfire/_internal/tracer.py. It has an id of its own, starts and ends when that
    span starts, and has that span's parent as an attribute, zeros for none.
    """
    number = parse_id(pending.attributes.get(_PENDING_PARENT), SPAN_ID_DIGITS)
    parent_id = None if number == UNUSABLE else format_span_id(number)
    return replace(pending, span_id=span_id, parent_id=parent_id, end_ns=None)


def _event(read: Reader, event: Mapping[str, Any]) -> Event:
    return Event(
        read.text(event.get("name")),
        read.number_in(field(event, "timeUnixNano"), _TIME_RANGE) or None,
        read.attributes(event.get("attributes")),
        _counts(read, event, "Event"),
    )


def _link(read: Reader, link: Mapping[str, Any]) -> Link:
    extra = _counts(read, link, "Link")
    trace_id = _id(field(link, "traceId"), TRACE_ID_DIGITS, "traceId", extra)
    span_id = _id(field(link, "spanId"), SPAN_ID_DIGITS, "spanId", extra)
    read.is_malformed |= None in (trace_id, span_id)
    state = _trace_state(read, field(link, "traceState"), extra)
    return Link(trace_id, span_id, state, read.attributes(link.get("attributes")), extra)


def _id(value: Any, digits: int, name: str, extra: dict[str, Any]) -> str | None:
    """Return an id in hex digits; one that is unusable is kept as it is written, but for zeros, which mean none."""
    if value is None:
        return None
    number = parse_id(value, digits)
    text, is_whole = "", False
    if number == UNUSABLE and isinstance(value, str):
        text, raw = value, bytes_of(value)
        is_whole = raw is not None and len(raw) == digits // 2
        number = int.from_bytes(raw, "big") if raw is not None and is_whole else UNUSABLE
    if number != UNUSABLE:
        return format_trace_id(number) if digits == TRACE_ID_DIGITS else format_span_id(number)
    if not is_whole and (value is not text or text.strip("0")):
        extra[snake_case(name)] = value
    return None


def _counts(read: Reader, holder: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Return the fields of 32 bits that aren't zero."""
    counts = {}
    for name in extra_of(message):
        value = field(holder, name)
        number = 0 if value is None else read.number_in(value, UINT32)
        if number:
            counts[snake_case(name)] = number
    return counts


def _enum(read: Reader, value: Any, kind: FieldKind) -> int:
    """Return the number of an enum; 0 for one that isn't known."""
    number = 0 if value is None else enum_number(kind, value)
    if number is None or not 0 <= number < len(ENUMS[kind][1]):
        read.is_malformed = True
        return 0
    return number


def _trace_state(read: Reader, value: Any, extra: dict[str, Any]) -> dict[str, str]:
    """Return the entries of a trace state; one that has none of the form that W3C gives it is kept as it is written."""
    text = read.text(value)
    entries = parse_trace_state_header(text)
    if entries is None:
        read.is_malformed = True
        extra["trace_state"] = text
    return entries or {}

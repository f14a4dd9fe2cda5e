"""Go's spans, as its `stdouttrace` exporter, BuildKit and Docker write them: one JSON object per span.

Source: `SpanStub` in sdk/trace/tracetest/span.go of opentelemetry-go, and the `MarshalJSON` of its parts. Status codes
are names, or Go's own numbers, which aren't OTLP's. Times are RFC 3339; the year 1 is no time. Flags are what Go's own
OTLP exporter makes of them.

{"Name": …, "SpanContext": {"TraceID": …}, "Parent": {"SpanID": …}, "SpanKind": 2, "StartTime": …,
 "Attributes": [{"Key": …, "Value": {"Type": "INT64", "Value": 3}}], "Resource": [{"Key": …}], …}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.careful import Careful
from spanview.formats.console.columns import as_text, parse_parent
from spanview.formats.rows import Row, ignore_part
from spanview.formats.tracestate import parse_trace_state_header
from spanview.formats.usual import NOWHERE, row_of_span
from spanview.model.codes import KIND_NAMES
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, format_span_id, format_trace_id, parse_id
from spanview.model.span import Event, Link, Resource, Scope, Span, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.model.span import Source

_STATUSES: Final = {None: 0, "Unset": 0, "Error": 2, "Ok": 1, 0: 0, 1: 2, 2: 1}
_NO_TIME: Final = "0001-01-01T00:00:00Z"
_COUNTS: Final = {
    "DroppedAttributes": "dropped_attributes_count",
    "DroppedEvents": "dropped_events_count",
    "DroppedLinks": "dropped_links_count",
    "DroppedAttributeCount": "dropped_attributes_count",
}
"""Go's names of what was dropped, and OTLP's."""
_MAX_COUNT: Final = 2**32 - 1
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "BOOL": (bool,),
    "INT64": (int,),
    "FLOAT64": (float, int),
    "STRING": (str,),
    "BOOLSLICE": (bool,),
    "INT64SLICE": (int,),
    "FLOAT64SLICE": (float, int),
    "STRINGSLICE": (str,),
}
"""By the name of an attribute's type what JSON has for its value, or for the items of it."""
_FLAG_DIGITS: Final = 2
_KNOWS_REMOTE, _IS_REMOTE = 0x100, 0x200
"""Bits of OTLP's flags: whether it is known that the parent is in another process, and whether it is."""


def is_span(value: Any) -> bool:
    """Tell whether a decoded value is a span; a link has no name."""
    return isinstance(value, dict) and "Name" in value and isinstance(value.get("SpanContext"), dict)


def is_document(value: Any) -> bool:
    """Tell whether a decoded value is a span, or a list with some."""
    return is_span(value) or (isinstance(value, list) and any(map(is_span, value)))


def spans_of(value: Any, source: Source, pass_over: Callable[[Any], None] = ignore_part) -> list[Span]:
    """Return the spans of a value for which `is_document` holds, in its order."""
    spans = []
    for part in value if isinstance(value, list) else [value]:
        if is_span(part):
            spans.append(span_of(part, source))
        else:
            pass_over(part)
    return spans


def rows_of(value: Any, pass_over: Callable[[Any], None] = ignore_part) -> list[Row]:
    """Return the rows of what `spans_of` returns spans of."""
    return [*map(row_of_span, spans_of(value, NOWHERE, pass_over))]


def span_of(span: dict[str, Any], source: Source) -> Span:
    """Return one span; what is unusable in it is left out, or shown as text, and marked."""
    read, context = _Reader(), span["SpanContext"]
    parent = read.object(span.get("Parent"))
    trace_id = parse_id(context.get("TraceID"), TRACE_ID_DIGITS)
    span_id = parse_id(context.get("SpanID"), SPAN_ID_DIGITS)
    parent_id, parent_is_bad = parse_parent(parent.get("SpanID"))
    status = read.object(span.get("Status"))
    scope = span.get("InstrumentationScope")
    extra = read.counts(span) | read.flags(context, is_remote=parent.get("Remote") is True)
    result = Span(
        trace_id=None if trace_id == UNUSABLE else format_trace_id(trace_id),
        span_id=None if span_id == UNUSABLE else format_span_id(span_id),
        parent_id=None if parent_id == UNUSABLE else format_span_id(parent_id),
        name=read.text(span["Name"]),
        kind_value=read.kind(span.get("SpanKind")),
        start_ns=read.time(span.get("StartTime")),
        end_ns=read.time(span.get("EndTime")),
        status=Status(read.status(status.get("Code")), read.text(status.get("Description")) or None),
        attributes=read.attributes(span.get("Attributes")),
        events=tuple([read.event(event) for event in read.objects(span.get("Events"))]),
        links=tuple([read.link(link) for link in read.objects(span.get("Links"))]),
        trace_state=read.trace_state(context.get("TraceState"), extra),
        resource=Resource(read.attributes(span.get("Resource"))),
        # Releases from 2022 on have both, older ones have the library alone.
        scope=read.scope(span.get("InstrumentationLibrary") if scope is None else scope),
        extra=extra,
        source=source,
    )
    return result.with_warnings(read.warnings(has_bad_id=parent_is_bad or UNUSABLE in (trace_id, span_id)))


class _Reader(Careful):
    """Reads the parts of a span, and remembers whether one of them isn't as Go writes it."""

    __slots__ = ()

    def time(self, value: Any) -> int | None:
        """Return the nanoseconds since 1970 of an ISO time; None for none."""
        return None if value == _NO_TIME else super().time(value)

    def kind(self, value: Any) -> int | None:
        """Return the value of a kind, of which Go has one more, for none."""
        if value is None or (type(value) is int and 0 <= value <= len(KIND_NAMES)):
            return value - 1 if value else None
        self.is_malformed = True
        return None

    def status(self, value: Any) -> int:
        """Return the value of a status code."""
        if isinstance(value, str | None) or type(value) is int:
            code = _STATUSES.get(value)
            if code is not None:
                return code
        self.is_malformed = True
        return 0

    def attributes(self, value: Any) -> dict[str, Any]:
        """Return the attributes of a list of keys and values."""
        pairs = self.objects(value)
        attributes = {self.text(pair.get("Key")): self.value(pair.get("Value")) for pair in pairs}
        self.is_malformed |= len(attributes) < len(pairs)
        return attributes

    def value(self, value: Any) -> Any:
        """Return an attribute's value; one of another type than it should be as it is, or as text."""
        kind, part = (value.get("Type"), value.get("Value")) if isinstance(value, dict) else (None, value)
        types = _TYPES.get(kind, ()) if isinstance(kind, str) else ()
        is_slice = isinstance(kind, str) and kind.endswith("SLICE")
        items = [part] if not is_slice else [] if part is None else part
        if types and isinstance(items, list) and all(type(item) in types for item in items):
            read = [*map(float, items)] if types[0] is float else items
            return read if is_slice else read[0]
        # Go may have more types one day.
        self.is_malformed |= bool(types) or not isinstance(kind, str)
        return as_text(part) if types and isinstance(part, dict | list) else part

    def event(self, event: dict[str, Any]) -> Event:
        """Return an event."""
        name, attributes = self.text(event.get("Name")), self.attributes(event.get("Attributes"))
        return Event(name, self.time(event.get("Time")), attributes, self.counts(event))

    def link(self, link: dict[str, Any]) -> Link:
        """Return a link."""
        context = self.object(link.get("SpanContext"))
        trace_id = parse_id(context.get("TraceID"), TRACE_ID_DIGITS)
        span_id = parse_id(context.get("SpanID"), SPAN_ID_DIGITS)
        self.is_malformed |= UNUSABLE in (trace_id, span_id)
        extra = self.counts(link) | self.flags(context, is_remote=context.get("Remote") is True)
        return Link(
            None if trace_id == UNUSABLE else format_trace_id(trace_id),
            None if span_id == UNUSABLE else format_span_id(span_id),
            self.trace_state(context.get("TraceState"), extra),
            self.attributes(link.get("Attributes")),
            extra,
        )

    def scope(self, value: Any) -> Scope | None:
        """Return the scope; None where nothing is known of it."""
        scope = self.object(value)
        result = Scope(
            self.text(scope.get("Name")),
            self.text(scope.get("Version")) or None,
            self.text(scope.get("SchemaURL")) or None,
            self.attributes(scope.get("Attributes")),
        )
        return None if result == Scope("") else result

    def counts(self, holder: dict[str, Any]) -> dict[str, Any]:
        """Return how many of what were dropped."""
        counts = {}
        for name, own_name in _COUNTS.items():
            count = holder.get(name)
            if type(count) is int and 0 < count <= _MAX_COUNT:
                counts[own_name] = count
            else:
                self.is_malformed |= count is not None and (type(count) is not int or count != 0)
        return counts

    def flags(self, context: dict[str, Any], *, is_remote: bool) -> dict[str, Any]:
        """Return OTLP's flags of a span or a link; none where the file has none."""
        text = context.get("TraceFlags")
        if text is None:
            return {}
        flags = parse_id(text, _FLAG_DIGITS)
        self.is_malformed |= flags == UNUSABLE and text != "0" * _FLAG_DIGITS
        return {"flags": flags | _KNOWS_REMOTE | (_IS_REMOTE if is_remote else 0)}

    def trace_state(self, value: Any, extra: dict[str, Any]) -> dict[str, str]:
        """Return the entries of a trace state; one that W3C's header can't have is kept as it is written."""
        text = self.text(value)
        entries = parse_trace_state_header(text)
        if entries is None:
            self.is_malformed = True
            extra["trace_state"] = text
        return entries or {}

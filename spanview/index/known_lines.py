"""Lines of OTLP with one span each, as `spanview.ray` writes them: resource and scope are decoded once for many.

{"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[ {"traceId":…} ]}]}]}
---------------------------- head ----------------------------------- -- span ------ tail --

Head and tail are one document with an empty list; what stands between them is one object, and so the only span of that
list. Of a usual one, only what the columns don't have is looked at. A line so decoded takes 14 µs, and 50 by
`decode_details`, which every other record is left to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.decoder import decode_details
from spanview.formats.jsontext import BadJsonError, loads_exact
from spanview.formats.otlp import read as otlp
from spanview.formats.otlp.fields import MESSAGES, FieldKind
from spanview.formats.otlp.values import UINT32, Reader
from spanview.formats.rows import SpanDetails
from spanview.formats.usual import NOWHERE
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, UNUSABLE, parse_id

if TYPE_CHECKING:
    from spanview.model.span import Span

_SPANS: Final = b'"spans":['
TAIL: Final = b"]}]}]}"
"""What such a line ends with, after its only span."""
_MAX_KEPT: Final = 1024
_MAX_HEAD_BYTES: Final = 16 * 1024
_RARE: Final = frozenset((FieldKind.MESSAGES, FieldKind.TRACE_STATE, FieldKind.COUNT))
_USUAL: Final = frozenset(field.name for field in MESSAGES["Span"] if field.kind not in _RARE)
"""Fields of a span that has no events, links, counts or trace state."""


class KnownLines:
    """Decodes records, and remembers the heads of their lines."""

    def __init__(self) -> None:
        self._without_span: dict[bytes, Span | None] = {}
        """By head, a span with its resource and scope, and nothing else; None for a head of another kind."""

    def details(self, record: bytes) -> SpanDetails | None:
        """Return what the columns don't have of the span that a record holds, as `decode_details` does."""
        head = self.head(record)
        if head is not None and record.endswith(TAIL):
            try:
                span = loads_exact(record[len(head) : -len(TAIL)])
            except BadJsonError:
                return decode_details(record)
            known = self._without_span[head]
            assert known is not None  # noqa: S101 - it has a usual head
            details = _usual_details(span, known) if isinstance(span, dict) else None
            if details is not None:
                return details
        return decode_details(record)

    def head(self, record: bytes) -> bytes | None:
        """Return what a line begins with, up to its spans; None where that is unusual."""
        start = record.find(_SPANS, 0, _MAX_HEAD_BYTES) + len(_SPANS)
        if start < len(_SPANS):
            return None
        head = record[:start]
        if head not in self._without_span:
            self._note(head)
        return head if self._without_span[head] is not None else None

    def _note(self, head: bytes) -> None:
        if len(self._without_span) >= _MAX_KEPT:
            self._without_span.clear()
        self._without_span[head] = _span_without_fields(head + b"{}" + TAIL)


def _span_without_fields(line: bytes) -> Span | None:
    """Return the only span of a line, if it has no fields, and the line is as it is usual; else None."""
    try:
        document = loads_exact(line)
        (of_resource,) = document["resourceSpans"]
        (of_scope,) = of_resource["scopeSpans"]
        (span,) = otlp.spans_of(document, NOWHERE)
    except (BadJsonError, KeyError, TypeError, ValueError):
        return None
    return span if of_scope["spans"] == [{}] else None


def _usual_details(span: dict[str, Any], known: Span) -> SpanDetails | None:
    """Return the details of a span's object, with the resource and scope of another; None where anything is unusual."""
    flags, status, parent_id = span.get("flags", 0), span.get("status", {}), span.get("parentSpanId")
    if not span.keys() <= _USUAL or type(flags) is not int or flags not in UINT32 or not isinstance(status, dict):
        return None
    message = status.get("message", "")
    trace_id, span_id = parse_id(span.get("traceId"), TRACE_ID_DIGITS), parse_id(span.get("spanId"), SPAN_ID_DIGITS)
    if UNUSABLE in (trace_id, span_id) or not isinstance(message, str):
        return None
    if parent_id is not None and parse_id(parent_id, SPAN_ID_DIGITS) == UNUSABLE:
        return None
    attributes = Reader().attributes(span.get("attributes"))
    if otlp.SPAN_TYPE in attributes:
        return None
    extra = {"flags": flags} if flags else {}
    return SpanDetails(trace_id, span_id, message or None, attributes, (), (), {}, known.resource, known.scope, extra)

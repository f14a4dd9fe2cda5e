"""Lines of OTLP with one span each, as `spanview.ray` writes them: resource and scope are decoded once for many.

{"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[ {"traceId":…} ]}]}]}
---------------------------- head ----------------------------------- -- span ------ tail --

Head and tail are one document with an empty list; what stands between them is one object, and so the only span of that
list. Of a usual one, only what the columns don't have is looked at. A line so decoded takes 14 µs, and 50 by
`decode_details`, which every other record is left to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.formats.decoder import decode_details
from spanview.formats.foreign import details_of
from spanview.formats.jsontext import BadJsonError, loads_exact
from spanview.formats.otlp import read as otlp
from spanview.formats.rows import ignore_part
from spanview.formats.usual import NOWHERE

if TYPE_CHECKING:
    from spanview.formats.otlp.read import SharedParts
    from spanview.formats.rows import SpanDetails

_SPANS: Final = b'"spans":['
TAIL: Final = b"]}]}]}"
"""What such a line ends with, after its only span."""
_MAX_KEPT: Final = 1024
_MAX_HEAD_BYTES: Final = 16 * 1024


class KnownLines:
    """Decodes records, and remembers the heads of their lines."""

    def __init__(self) -> None:
        self._without_span: dict[bytes, SharedParts | None] = {}
        """By head, what spans have in common that follow it; None for a head of another kind."""

    def details(self, record: bytes) -> SpanDetails | None:
        """Return what the columns don't have of the span that a record holds, as `decode_details` does."""
        head = self.head(record)
        if head is not None and record.endswith(TAIL):
            try:
                span = loads_exact(record[len(head) : -len(TAIL)])
            except BadJsonError:
                return decode_details(record)
            shared = self._without_span[head]
            if isinstance(span, dict) and shared is not None:
                return details_of(otlp.span_of(span, shared, NOWHERE))
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
        self._without_span[head] = _shared_in(head + b"{}" + TAIL)


def _shared_in(line: bytes) -> SharedParts | None:
    """Return what the only span of a line has beside it, if it has no fields, and the line is as it is usual."""
    try:
        (of_resource,) = otlp.of_resources(loads_exact(line), ignore_part)
        (of_scope,) = otlp.of_scopes(of_resource, ignore_part)
    except (BadJsonError, ValueError):
        return None
    return otlp.parts_of(of_resource, of_scope) if of_scope.get("spans") == [{}] else None

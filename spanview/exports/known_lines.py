"""Lines of OTLP with one span each, as `spanview.ray` writes them: resource and scope are decoded once for many.

{"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[ {"traceId":…} ]}]}]}
---------------------------- head ----------------------------------- -- span ------ tail --

Head and tail are one document with an empty list; what stands between them is one object, and so the only span of that
list. A line so decoded takes half as long. Every other record goes the general way, by `decode_details`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.formats import otlp
from spanview.formats.decoder import decode_details
from spanview.formats.foreign import NOWHERE, details_of
from spanview.formats.jsontext import BadJsonError, loads_exact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanview.formats.rows import SpanDetails
    from spanview.model.span import Span

    _ReadSpan: TypeAlias = Callable[[Mapping[str, object]], Span]

_SPANS: Final = b'"spans":['
_TAIL: Final = b"]}]}]}"
_MAX_KEPT: Final = 1024
_MAX_HEAD_BYTES: Final = 16 * 1024


class KnownLines:
    """Decodes records, and remembers the heads of their lines."""

    def __init__(self) -> None:
        self._readers: dict[bytes, _ReadSpan | None] = {}

    def details(self, record: bytes) -> SpanDetails | None:
        """Return what the columns don't have of the span that a record holds, as `decode_details` does."""
        start = record.find(_SPANS, 0, _MAX_HEAD_BYTES) + len(_SPANS)
        if start >= len(_SPANS) and record.endswith(_TAIL):
            head = record[:start]
            if head not in self._readers:
                self._note(head)
            if (read := self._readers[head]) is not None:
                try:
                    span = loads_exact(record[start : -len(_TAIL)])
                except BadJsonError:
                    return decode_details(record)
                if isinstance(span, dict):
                    return details_of(read(span))
        return decode_details(record)

    def _note(self, head: bytes) -> None:
        if len(self._readers) >= _MAX_KEPT:
            self._readers.clear()
        try:
            self._readers[head] = otlp.span_reader(loads_exact(head + _TAIL), NOWHERE)
        except BadJsonError:
            self._readers[head] = None

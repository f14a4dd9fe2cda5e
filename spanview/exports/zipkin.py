"""Spans as one list of Zipkin's, those of a trace together."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from spanview.exports.losses import CIRCLES
from spanview.exports.shares import ALIKE_SHARES, shares_of_traces, written
from spanview.exports.walks import Above, alike_spans, spans_in_place
from spanview.formats.jsontext import dumps_reporting
from spanview.formats.zipkin.write import FORMAT, LOOKED_AT, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.exports.alike_spans import AlikeSpans
    from spanview.index.store import Store
    from spanview.model.span import Span


def zipkin_chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the spans of traces in their order as a list, each on a line of its own."""
    prefix, alike = b"[\n", alike_spans(store, traces, _told, LOOKED_AT)
    shares = shares_of_traces(store, traces, ALIKE_SHARES if alike else 1)
    for piece in written(shares, partial(_spans, store, alike), lose, between=b",\n"):
        yield prefix + piece
        prefix = b""
    yield b"[]\n" if prefix else b"\n]\n"


def _told(span: Span, lose: Callable[[str], None]) -> tuple[bytes, None] | None:
    """Return what is written of a span; None where it depends on what else is, as of two events at the same time."""
    value, times = value_of(span, lose), [event.timestamp_ns for event in span.events]
    if value is None or FORMAT in span.extra or len({*times}) < len(times):
        return None
    return dumps_reporting(value, lose), None


def _spans(
    store: Store, alike: AlikeSpans | None, traces: Sequence[int], lose: Callable[[str], None]
) -> Iterator[bytes]:
    """Yield the spans of traces with a comma and a line feed between them."""
    between, span_ids = b"", store.spans.span_id
    for _, spans in groupby(spans_in_place(store, traces, alike, lose), itemgetter(0)):
        ids = set[int]()
        for _, span, above in spans:
            if isinstance(span, tuple):
                text, _, row, *_ = span
                span_id, value = span_ids[row], None
            elif (value := value_of(span, lose)) is None:
                continue
            else:
                span_id = int(value["id"], 16)
                if above is Above.CIRCLE and value.pop("parentId", None) is not None:
                    lose(CIRCLES)
                text = dumps_reporting(value, lose)
            if span_id in ids and (value is None or "shared" not in value):
                lose("wrote {span} with the id of another span, which Zipkin shows as one")
            ids.add(span_id)
            yield between + text
            between = b",\n"

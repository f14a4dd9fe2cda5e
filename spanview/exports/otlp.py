"""OTLP's JSON, a line a trace, or several where it is large: what the collector and all that speaks OTLP takes."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from spanview.exports.shares import ALIKE_SHARES, shares_of_traces, written
from spanview.exports.walks import alike_spans
from spanview.formats.otlp.write import JsonForm, OtlpLines, OtlpPart, OtlpParts
from spanview.index.whole_spans import spans_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.exports.alike_spans import AlikeSpan
    from spanview.formats.otlp.values import Lose
    from spanview.formats.otlp.write import PartEnds
    from spanview.index.store import Store
    from spanview.model.span import Span


def otlp_chunks(store: Store, traces: Sequence[int], lose: Lose, *, forks: bool = True) -> Iterator[bytes]:
    """Yield some traces in their order as lines of JSON, some lines at a time."""
    alike = alike_spans(store, traces, _told)

    def write(share: Sequence[int], lose: Lose) -> Iterator[bytes]:
        # By path and offset, duplicate ids keep their order.
        rows = [row for trace in share for row in sorted(store.rows_of_trace(trace), key=store.intake.order)]
        spans = spans_at(store, rows) if alike is None else map(_part_of, alike.spans(rows, lose=lose))
        lines = OtlpLines(lose)
        for _, of_trace in groupby(zip(map(store.spans.trace.__getitem__, rows), spans, strict=True), itemgetter(0)):
            yield from lines.of(span for _, span in of_trace)

    return written(shares_of_traces(store, traces, ALIKE_SHARES if alike else 1), write, lose, forks=forks)


def _told(span: Span, lose: Lose) -> tuple[bytes, tuple[PartEnds, PartEnds]]:
    """Return what is written of a span, and of what it is in."""
    resource, scope, text = OtlpParts(lose, JsonForm()).of(span)
    return text, (resource, scope)


def _part_of(span: Span | AlikeSpan) -> Span | OtlpPart:
    return OtlpPart(span[1].told[0], span[1].told[1], span[0]) if isinstance(span, tuple) else span

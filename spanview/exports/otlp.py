"""OTLP's JSON, a line a trace, or several where it is large: what the collector and all that speaks OTLP takes."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from spanview.exports.shares import shares_of_traces, written
from spanview.formats.otlp.write import OtlpLines
from spanview.index.whole_spans import spans_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.formats.otlp.values import Lose
    from spanview.index.store import Store


def otlp_chunks(store: Store, traces: Sequence[int], lose: Lose, *, forks: bool = True) -> Iterator[bytes]:
    """Yield some traces in their order as lines of JSON, some lines at a time."""

    def write(share: Sequence[int], lose: Lose) -> Iterator[bytes]:
        # By path and offset, duplicate ids keep their order.
        rows = [row for trace in share for row in sorted(store.rows_of_trace(trace), key=store.intake.order)]
        spans = zip(map(store.spans.trace.__getitem__, rows), spans_at(store, rows), strict=True)
        lines = OtlpLines(lose)
        for _, of_trace in groupby(spans, itemgetter(0)):
            yield from lines.of(span for _, span in of_trace)

    return written(shares_of_traces(store, traces), write, lose, forks=forks)

"""OTLP's JSON, a line a trace, or several where it is large: what the collector and all that speaks OTLP takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.exports.shares import shares_of_traces, written
from spanview.formats.otlp_out import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.formats.otlp_value import Lose
    from spanview.index.store import Store
    from spanview.model.span import Span


def otlp_chunks(store: Store, traces: Sequence[int], lose: Lose) -> Iterator[bytes]:
    """Yield some traces as lines of JSON, some lines at a time.

    Args:
        store: Where the traces are.
        traces: Their numbers, in the order in which they are to be written.
        lose: Takes note of what can't be said.
    """

    def write(share: Sequence[int], lose: Lose) -> Iterator[bytes]:
        for trace in share:
            yield from lines_of(_spans_of(store, trace), lose)

    return written(shares_of_traces(store, traces), write, lose)


def _spans_of(store: Store, trace: int) -> Iterator[Span]:
    """Yield the spans of a trace by path and offset: so files are read quickest, and doubled ids keep their order."""
    return map(store.span, sorted(store.rows_of_trace(trace), key=store.intake.order))

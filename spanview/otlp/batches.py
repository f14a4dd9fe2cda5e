"""What is sent at once: some spans, written, with the rows that they are of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from spanview.formats.otlp.write import OtlpParts, count_losses, grouped
from spanview.index.whole_spans import spans_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.formats.otlp.values import Lose
    from spanview.formats.otlp.write import Form, OtlpPart
    from spanview.index.store import Store
    from spanview.model.span import Span

MAX_BYTES: Final = 4 * 1024 * 1024 - 64 * 1024
"""Of the spans of a batch, unless one alone is longer: many gRPC servers take 4 MiB."""


@dataclass(frozen=True, slots=True)
class SpanBatch:
    """Spans that are sent at once."""

    rows: Sequence[int]
    """Their rows in the store."""
    parts: Sequence[OtlpPart]
    """Each of them, written."""

    def halves(self) -> tuple[Self, Self]:
        """Return the first and the second half of two spans or more."""
        middle = len(self.rows) // 2
        return (
            replace(self, rows=self.rows[:middle], parts=self.parts[:middle]),
            replace(self, rows=self.rows[middle:], parts=self.parts[middle:]),
        )

    def body(self, form: Form) -> bytes:
        """Return the request that sends them."""
        return form.document(grouped(self.parts))


class Batches:
    """Makes batches.

    Args:
        shift_ns: What is added to all times.
    """

    def __init__(self, store: Store, form: Form, lose: Lose, max_spans: int, shift_ns: int = 0) -> None:
        self._store = store
        self._form = form
        self._lose = lose
        self._max_spans = max_spans
        self._shift_ns = shift_ns
        self._parts = OtlpParts(lose, form)

    def of(self, rows: Sequence[int]) -> Iterator[SpanBatch]:
        """Yield the spans of some rows, in their order."""
        parts: list[OtlpPart] = []
        first, size = 0, 0
        for index, span in enumerate(spans_at(self._store, rows)):
            part = self._parts.of(shifted(span, self._shift_ns) if self._shift_ns else span)
            if parts and (len(parts) == self._max_spans or size + len(part.span) > MAX_BYTES):
                yield self._batch(rows[first:index], parts)
                first, size, parts = index, 0, []
            parts.append(part)
            size += len(part.span)
        if parts:
            yield self._batch(rows[first:], parts)

    def _batch(self, rows: Sequence[int], parts: list[OtlpPart]) -> SpanBatch:
        count_losses(grouped(parts), self._lose)
        return SpanBatch(rows, parts)


def shifted(span: Span, shift_ns: int) -> Span:
    """Return a span whose times, and those of its events, are later by so many nanoseconds."""
    return replace(
        span,
        start_ns=_later(span.start_ns, shift_ns),
        end_ns=_later(span.end_ns, shift_ns),
        events=tuple(replace(event, timestamp_ns=_later(event.timestamp_ns, shift_ns)) for event in span.events),
    )


def _later(ns: int | None, shift_ns: int) -> int | None:
    return None if ns is None else ns + shift_ns

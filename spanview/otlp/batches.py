"""What is sent: which spans, each once, and those that are sent at once, written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from spanview.formats.otlp.write import OtlpParts, count_losses, grouped
from spanview.index.whole_spans import spans_at
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spanview.formats.otlp.values import Lose
    from spanview.formats.otlp.write import Form, OtlpPart
    from spanview.index.store import Store
    from spanview.model.span import Span

MAX_BYTES: Final = 4 * 1024 * 1024 - 64 * 1024
"""Of the spans of a batch, unless one alone is longer: many gRPC servers take 4 MiB."""


class Unsent:
    """Takes out of a store that may grow the spans that have ended, each once, those of a trace together.

    Args:
        was_sent: Says for each of some rows whether its span was sent in an earlier call; None where none was.
    """

    def __init__(self, store: Store, was_sent: Callable[[Store, Sequence[int]], Iterable[bool]] | None) -> None:
        self._store = store
        self._was_sent = was_sent
        self._taken = bytearray()
        """By row, whether it was taken."""
        self._unended = set[int]()
        self.known = 0
        """Spans that were sent in an earlier call."""
        self.without_ids = 0
        """Spans that can't be sent, because they have no usable trace id or span id."""

    @property
    def unended(self) -> int:
        """Spans without an end, which aren't taken."""
        return len(self._unended)

    def take(self, traces: Iterable[int]) -> list[int]:
        """Return the rows of traces, in their order, that weren't taken before, and are taken from now on."""
        store, spans, taken = self._store, self._store.spans, self._taken
        rows = []
        for trace in traces:
            has_id = store.trace_table.trace_id(trace) != 0
            # By path and offset, duplicate ids keep their order.
            for row in sorted(store.rows_of_trace(trace), key=store.intake.order):
                if row >= len(taken):
                    taken.extend(bytes(row + 1 - len(taken)))
                if taken[row]:
                    continue
                if spans.end_ns[row] == NO_TIME:
                    self._unended.add(row)
                    continue
                self._unended.discard(row)
                taken[row] = True
                if has_id and spans.span_id[row]:
                    rows.append(row)
                else:
                    self.without_ids += 1
        if self._was_sent is None:
            return rows
        unsent = [row for row, was_sent in zip(rows, self._was_sent(store, rows), strict=True) if not was_sent]
        self.known += len(rows) - len(unsent)
        return unsent


@dataclass(frozen=True, slots=True)
class RequestBatch:
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
    """Makes batches of spans, with all times later by so many nanoseconds."""

    def __init__(self, store: Store, form: Form, lose: Lose, max_spans: int, shift_ns: int = 0) -> None:
        self._store = store
        self._form = form
        self._lose = lose
        self._max_spans = max_spans
        self._shift_ns = shift_ns
        self._parts = OtlpParts(lose, form)

    def of(self, rows: Sequence[int]) -> Iterator[RequestBatch]:
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

    def _batch(self, rows: Sequence[int], parts: list[OtlpPart]) -> RequestBatch:
        count_losses(grouped(parts), self._lose)
        return RequestBatch(rows, parts)


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

"""Which spans are still to be sent: those that have ended, each once, those of a trace together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spanview.index.store import Store


class Unsent:
    """Takes spans out of a store that may grow.

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

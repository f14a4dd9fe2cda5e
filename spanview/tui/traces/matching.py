"""Filters run in a thread of their own: a query may have to read every record again."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from spanview.index.table import PAYS_FROM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spanview.analysis.query import Query
    from spanview.index.store import Store

_CHUNK: Final = 512
"""Traces that are looked at before the next ones."""
_EVERY_S: Final = 0.15


class TraceMatcher:
    """Finds the traces that match a query, in pieces, until it is cancelled.

    Args:
        store: The store.
        query: What to look for.
        tell: Called from the thread with itself, the traces found in a piece, and what share is still to be looked at.
    """

    def __init__(self, store: Store, query: Query, tell: Callable[[TraceMatcher, set[int], float], None]) -> None:
        self._store = store
        self.query = query
        self._tell = tell
        self._cancelled = threading.Event()
        self._waiting: SimpleQueue[Iterable[int]] = SimpleQueue()
        self._matched: set[int] = set()
        self._seen = 0
        """Rows that were looked at, where rows are looked at one by one."""
        threading.Thread(target=self._run, name="spanview-filter", daemon=True).start()

    def look_at(self, traces: Iterable[int]) -> None:
        """Look at these traces too."""
        self._waiting.put(traces)

    def cancel(self) -> None:
        """Stop looking; nothing is told any more."""
        self._cancelled.set()
        self._waiting.put(())

    def _run(self) -> None:
        while not self._cancelled.is_set():
            found: set[int] = set()
            told_at = time.monotonic()
            for some, waiting in self._found(self._next()):
                if self._cancelled.is_set():
                    return
                found |= some
                # Each time the list is put in order anew, and this thread waits for it.
                if not waiting or time.monotonic() - told_at >= _EVERY_S:
                    self._matched |= found
                    self._tell(self, found, waiting)
                    found, told_at = set(), time.monotonic()

    def _next(self) -> set[int]:
        """Return all traces that wait to be looked at, once there are any."""
        traces = {*self._waiting.get()}
        while not self._waiting.empty():
            traces.update(self._waiting.get())
        return traces

    def _found(self, traces: set[int]) -> Iterator[tuple[set[int], float]]:
        """Yield those of some traces that match, piece by piece, and what share still waits."""
        store = self._store
        if len(store.spans) >= PAYS_FROM and (not self.query.needs_tree or len(traces) > _CHUNK):
            yield from self._found_in_many(traces)
            return
        matches, order = self.query.matches_trace, sorted(traces - self._matched)
        for start in range(0, max(len(order), 1), _CHUNK):
            found = {trace for trace in order[start : start + _CHUNK] if matches(store, trace)}
            yield found, max(0, len(order) - start - _CHUNK) / max(1, len(order))

    def _found_in_many(self, traces: set[int]) -> Iterator[tuple[set[int], float]]:
        from spanview.analysis.bulk_query import matching_traces, matching_traces_from

        if self.query.needs_tree:
            pieces = matching_traces(self._store, self.query, sorted(traces - self._matched))
        else:
            # A span says the same whatever its trace grows to: each is looked at once.
            first, self._seen = self._seen, len(self._store.spans.next_row)
            pieces = matching_traces_from(self._store, self.query, first, self._seen)
        most = 1
        for found, waiting in pieces:
            most = max(most, waiting)
            yield found, waiting / most

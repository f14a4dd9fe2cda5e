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
        self._waiting: SimpleQueue[list[int]] = SimpleQueue()
        threading.Thread(target=self._run, name="spanview-filter", daemon=True).start()

    def look_at(self, traces: Iterable[int]) -> None:
        """Look at these traces too."""
        self._waiting.put(list(traces))

    def cancel(self) -> None:
        """Stop looking; nothing is told any more."""
        self._cancelled.set()
        self._waiting.put([])

    def _run(self) -> None:
        while not self._cancelled.is_set():
            found: set[int] = set()
            told_at = time.monotonic()
            for some, waiting in self._found(self._waiting.get()):
                if self._cancelled.is_set():
                    return
                found |= some
                # Each time the list is put in order anew, and this thread waits for it.
                if not waiting or time.monotonic() - told_at >= _EVERY_S:
                    self._tell(self, found, waiting)
                    found, told_at = set(), time.monotonic()

    def _found(self, traces: list[int]) -> Iterator[tuple[set[int], float]]:
        """Yield those of some traces that match, piece by piece, and what share still waits."""
        store, most = self._store, 1
        if len(traces) > _CHUNK and len(store.spans) >= PAYS_FROM:
            from spanview.analysis.bulk_query import matching_traces

            for found, waiting in matching_traces(store, self.query, traces):
                most = max(most, waiting)
                yield found, waiting / most
            return
        matches = self.query.matches_trace
        for start in range(0, max(len(traces), 1), _CHUNK):
            found = {trace for trace in traces[start : start + _CHUNK] if matches(store, trace)}
            yield found, max(0, len(traces) - start - _CHUNK) / max(1, len(traces))

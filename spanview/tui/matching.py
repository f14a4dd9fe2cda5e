"""Filters run in a thread of their own: a query may have to read every record again."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.analysis.query import Query
    from spanview.index.store import Store

_CHUNK: Final = 512


class TraceMatcher:
    """Finds the traces that match a query, in pieces, until it is cancelled.

    Args:
        store: The store.
        query: What to look for.
        tell: Called from the thread with itself, the traces found in a piece, and how many still wait.
    """

    def __init__(self, store: Store, query: Query, tell: Callable[[TraceMatcher, set[int], int], None]) -> None:
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
        matches, store = self.query.matches_trace, self._store
        while not self._cancelled.is_set():
            traces = self._waiting.get()
            for start in range(0, max(len(traces), 1), _CHUNK):
                found = {trace for trace in traces[start : start + _CHUNK] if matches(store, trace)}
                if self._cancelled.is_set():
                    return
                self._tell(self, found, max(0, len(traces) - start - _CHUNK))

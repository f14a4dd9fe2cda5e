"""Which traces match a filter; found in a thread, as a query may have to read every record again."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.analysis.query import Query
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store


class TraceMatcher:
    """Finds the traces that match a query, as they come."""

    def __init__(self, store: Store, query: Query) -> None:
        self._store = store
        self.query = query
        self._waiting: SimpleQueue[Iterable[int]] = SimpleQueue()
        self._matched: set[int] = set()
        self._seen = 0
        """Rows that were looked at, where a span's row alone decides."""
        self._replaced = len(store.intake.replaced)
        """Replaced records that were looked at."""

    def look_at(self, traces: Iterable[int]) -> None:
        """Let these traces be looked at, too."""
        self._waiting.put(traces)

    def matches(self, tell: Tell) -> Iterator[set[int]]:
        """Yield those that match of what waits to be looked at, piece by piece; in one thread at a time."""
        for matches, waiting in self._matches_of(self._next()):
            tell(1 - waiting)
            self._matched |= matches
            yield matches

    def _next(self) -> set[int]:
        """Return all traces that wait to be looked at."""
        traces = set[int]()
        while not self._waiting.empty():
            traces.update(self._waiting.get())
        return traces

    def _matches_of(self, traces: set[int]) -> Iterator[tuple[set[int], float]]:
        """Yield those of some traces that match, piece by piece, and what share still waits."""
        from spanview.analysis.matches import matching_traces, matching_traces_from

        if self.query.needs_tree:
            pieces = matching_traces(self._store, self.query, sorted(traces - self._matched))
        else:
            # A span says the same whatever its trace grows to: each is looked at once, and again when it has ended.
            first, self._seen = self._seen, len(self._store.spans.next_row)
            replaced, log = self._replaced, self._store.intake.replaced
            self._replaced = len(log)
            again = {row for row in log[replaced : self._replaced] if row < first}
            pieces = matching_traces_from(self._store, self.query, first, self._seen, sorted(again))
        most = 1
        for matches, waiting in pieces:
            most = max(most, waiting)
            yield matches, waiting / most

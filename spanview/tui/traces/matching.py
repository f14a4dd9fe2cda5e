"""Which traces match a filter; found in a thread, as a query may have to read every record again."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING

from spanview.analysis.query.base import OfState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.analysis.query.query import Query
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store


class TraceMatcher:
    """Finds the traces that match a query, as they come."""

    def __init__(self, store: Store, query: Query) -> None:
        self._store = store
        self.query = query
        self._waiting: SimpleQueue[Iterable[int]] = SimpleQueue()
        self._matched: set[int] = set()
        self._open: set[int] = set()
        """Traces in which something ran or waited when that was asked last, and those that have come to match since."""
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
            self._open |= matches if self.query.of_now else set()
            yield matches

    def matches_again(self, tell: Tell) -> tuple[set[int], set[int]]:
        """Return the traces that have come to match, and those that have ceased to, though nothing was read.

        What runs, and what ran when it was asked last, is looked at again; in the thread of `matches`.
        """
        from spanview.analysis.query.matches import matching_traces

        now = self._open_now()
        asked, self._open = self._open | now, now
        found = set[int]()
        for matches, _ in matching_traces(self._store, self.query, sorted(asked)):
            found |= matches
            tell(0.0)
        new, gone = found - self._matched, (asked & self._matched) - found
        self._matched = (self._matched | new) - gone
        return new, gone

    def _open_now(self) -> set[int]:
        """Return the traces in which something has no end, or is in a state that is asked for."""
        if self._store.ask_lives is None:
            return set()
        lives, traces = self._store.ask_lives(self._store), self._store.spans.trace
        states = [part.state for part in self.query.of_now if isinstance(part, OfState)]
        rows = {*lives.known_until()}.union(*lives.rows_in(*states))
        return {traces[row] for row in rows}

    def _next(self) -> set[int]:
        """Return all traces that wait to be looked at."""
        traces = set[int]()
        while not self._waiting.empty():
            traces.update(self._waiting.get())
        return traces

    def _matches_of(self, traces: set[int]) -> Iterator[tuple[set[int], float]]:
        """Yield those of some traces that match, piece by piece, and what share still waits."""
        from spanview.analysis.query.matches import matching_traces, matching_traces_from

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

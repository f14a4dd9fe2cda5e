"""The filter of the list of traces: what is typed, what it has found by now, and what is said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.display.unnamed import Unnamed
from spanview.model.problems import QueryError
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.index.store import Store
    from spanview.tui.traces.matching import TraceMatcher
    from spanview.tui.traces.traces_model import TracesModel
    from spanview.tui.widgets.work import Owner


class TraceFilter:
    """Lets only those traces be listed that match a query, as they are found.

    Args:
        screen: Shows the list.
        model: The list.
        text: The query to begin with.
        has_found: Called with traces that are listed from now on, and when all were looked at.
    """

    def __init__(
        self, screen: Owner, store: Store, model: TracesModel, text: str, has_found: Callable[[set[int]], object]
    ) -> None:
        self.text = text
        """What is typed."""
        self._is_mistaken = False
        """Whether it can't be understood, so that the query before it still holds."""
        self.left = 0.0
        """What share of the traces is still to be looked at."""
        self._store = store
        self._model = model
        self._has_found = has_found
        self._matcher: TraceMatcher | None = None
        self._work = Work(screen)
        self._unnamed = Unnamed(())

    def set_text(self, text: str) -> str:
        """Filter by another query; return what is wrong with it, empty where nothing is."""
        from spanview.analysis.query import parse_query
        from spanview.tui.traces.matching import TraceMatcher

        self.text = text
        try:
            query = parse_query(text)
        except QueryError as error:
            self._is_mistaken = True
            return str(error)
        self._is_mistaken = False
        self._work.end()
        self._matcher, self.left = None, 0.0
        self._unnamed = Unnamed(query.words)
        self._model.matching = None if query.is_empty else set()
        if not query.is_empty:
            self._matcher, self.left = TraceMatcher(self._store, query), 1.0
            self._matcher.look_at(range(len(self._store.trace_table)))
            self._work.begin_pieces(self._matcher.matches, self._take)
        return ""

    def look_at(self, traces: Iterable[int]) -> None:
        """Look at traces that have come or grown."""
        if self._matcher is not None:
            self._matcher.look_at(traces)
            self._work.queue_pieces(self._matcher.matches, self._take)

    def _take(self, pieces: list[set[int]]) -> None:
        matches = set[int]().union(*pieces)
        self._model.add_matching(matches)
        self.left = 1 - (self._work.share or 0.0) if self._work.is_busy else 0.0
        self._has_found(matches)

    def result_text(self, *, is_loading: bool) -> str:
        """Return how many traces were found, empty without a query.

        What the query before a mistake finds goes on, but is no answer to the mistake.
        """
        if self._matcher is None or self._is_mistaken:
            return ""
        looking = f", {1 - self.left:.0%} looked at" if self.left else ""
        number = len(self._store.trace_table)
        return f"{len(self._model.order):,} of {number:,} traces{' so far' if is_loading else looking}"

    def why_nothing(self) -> list[str]:
        """Return in lines why nothing is listed, where there are spans."""
        if self.left:
            return ["looking …"]
        return ["no trace matches", *self._unnamed.says(self._store.names.texts)]

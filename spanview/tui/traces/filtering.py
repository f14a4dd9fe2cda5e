"""The filter of the list of traces: what is typed, what it has found by now, and what is said of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.model.problems import QueryError
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.analysis.query.query import Query
    from spanview.analysis.telling import Tell
    from spanview.display.miss_text import Unnamed
    from spanview.index.store import Store
    from spanview.reports.traces_model import TracesModel
    from spanview.tui.traces.matching import TraceMatcher
    from spanview.tui.widgets.work import Owner

_EXPLAINED_AT_ONCE: Final = 100_000
"""Below so many spans it is asked again why nothing matches whenever more have come; else when they have grown."""
_GROWN_BY: Final = 1.2


class TraceFilter:
    """Lets only those traces be listed that match a query; `has_found` is told of them, and when all are known."""

    def __init__(
        self, screen: Owner, store: Store, model: TracesModel, text: str, has_found: Callable[[set[int]], object]
    ) -> None:
        self.text = text
        """What is typed."""
        self.is_mistaken = False
        """Whether it can't be understood, so that the query before it still holds."""
        self.left = 0.0
        """What share of the traces is still to be looked at."""
        self._store = store
        self._model = model
        self._has_found = has_found
        self._matcher: TraceMatcher | None = None
        self._work, self._explaining = Work(screen), Work(screen)
        self._unnamed: Unnamed | None = None
        """What is said of its words that no name has; None without a query."""
        self._why: list[str] = []
        """Why nothing matches, besides words that no name has."""
        self._explained = 0
        """Of how many spans that is said."""

    def set_text(self, text: str) -> str:
        """Filter by another query; return what is wrong with it, empty where nothing is."""
        from spanview.analysis.query.query import parse_query
        from spanview.display.miss_text import Unnamed
        from spanview.tui.traces.matching import TraceMatcher

        self.text = text
        try:
            query = parse_query(text)
        except QueryError as error:
            self.is_mistaken = True
            return str(error)
        self.is_mistaken = False
        self._work.end()
        self._explaining.end()
        self._explained = 0
        self._matcher, self.left = None, 0.0
        self._unnamed = Unnamed(query.words)
        self._model.matching = None if query.is_empty else set()
        if not query.is_empty:
            self._matcher, self.left = TraceMatcher(self._store, query), 1.0
            self._matcher.look_at(range(len(self._store.trace_table)))
            self._work.begin_pieces(self._matcher.matches, self._take)
        return ""

    @property
    def holding(self) -> str:
        """The query that holds, which what is typed may not be."""
        return "" if self._matcher is None else self._matcher.query.text.strip()

    def look_at(self, traces: Iterable[int]) -> None:
        """Look at traces that have come or grown."""
        if self._matcher is not None:
            self._matcher.look_at(traces)
            self._work.queue_pieces(self._matcher.matches, self._take)

    def look_again(self) -> None:
        """Look once more at what runs, or ran, where the query asks for that, or for how long it has."""
        if self._matcher is not None and self._matcher.query.of_now and not self._work.is_busy:
            self._work.begin(self._matcher.matches_again, self._take_again)

    def _take_again(self, found: tuple[set[int], set[int]]) -> None:
        new, gone = found
        if self._model.matching is not None and gone:
            self._model.matching -= gone
        if new or gone:
            self._model.add_matching(new)
            self._has_found(new | gone)

    def _take(self, pieces: list[set[int]]) -> None:
        matches = set[int]().union(*pieces)
        self._model.add_matching(matches)
        self.left = 1 - (self._work.share or 0.0) if self._work.is_busy else 0.0
        self._has_found(matches)

    def result_text(self, *, is_loading: bool) -> str:
        """Return how many traces were found, empty without a query.

        What the query before a mistake finds goes on, but is no answer to the mistake.
        """
        if self._matcher is None or self.is_mistaken:
            return ""
        looking = f", {1 - self.left:.0%} looked at" if self.left else ""
        number = len(self._store.trace_table)
        return f"{len(self._model.order):,} of {number:,} traces{' so far' if is_loading else looking}"

    def why_nothing(self) -> list[str]:
        """Return in lines why nothing is listed, where everything was read and there are spans."""
        if self.is_mistaken and self.holding:
            return [f"nothing matches {self.holding}, the query before the mistake", "", "Esc lists all again"]
        if self.left:
            return ["looking …"]
        query = None if self._matcher is None else self._matcher.query
        spans = len(self._store.spans)
        if query is not None and self._explained != spans:
            # It is true of the spans that there were.
            self._why = []
            if spans < _EXPLAINED_AT_ONCE or spans > self._explained * _GROWN_BY:
                self._explained = spans
                self._explaining.queue(partial(self._explain, query), self._take_reasons)
        unnamed = () if self._unnamed is None else self._unnamed.says(self._store.names.texts)
        return ["no trace matches", *self._why, *unnamed]

    def _explain(self, query: Query, tell: Tell) -> list[str]:
        from spanview.analysis.query.misses import misses_of
        from spanview.display.miss_text import miss_lines

        return miss_lines(misses_of(self._store, query, tell=tell))

    def _take_reasons(self, why: list[str]) -> None:
        if why:
            self._why = why
            self._has_found(set())

"""Finding spans in a trace: by a query, and those that failed."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.display.units import count
from spanview.index.table import PAYS_FROM
from spanview.index.tree import ROOT
from spanview.model.problems import QueryError
from spanview.tui.trace.trace_stitch import StitchedTrace
from spanview.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from textual.worker import Worker

    from spanview.analysis.query import Query
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.tui.trace.trace_shape import Shape

_SEARCH: Final = "search"
"""The group of the threads that search."""
_SLOW_S: Final = 0.4
"""A search that takes longer says that it goes on."""


class SearchedTrace(StitchedTrace):
    """What a trace's screen does to find spans.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
    """

    def __init__(self, store: Store, trace: int) -> None:
        super().__init__(store, trace)
        self._searched = ""
        self._unanswered: Worker[None] | None = None
        """The latest search, until its matches are taken."""
        self._looks_in_names = False
        self._named: tuple[Shape, int, list[int]] | None = None
        """The places of the spans with a name."""

    async def action_search(self) -> None:
        """Let a search be typed."""
        await self.query_one(Prompt).open()

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Mark what matches; Enter goes to the next match."""
        from spanview.analysis.query import parse_query

        if self.is_left:
            return
        prompt = self.query_one(Prompt)
        if event.text != prompt.text or (event.text == self._searched and not event.done):
            return
        self._searched = event.text
        self._unanswered = None
        self.workers.cancel_group(self, _SEARCH)
        try:
            query = parse_query(event.text)
        except QueryError as error:
            prompt.say(str(error), is_mistake=True)
            return
        if event.done:
            self.set_focus(self.rows)
        if query.is_empty:
            prompt.say("")
            self.rows.matched = set()
            if event.done:
                prompt.clear()
            self.rows.refresh()
            return
        self._looks_in_names = bool(query.words)
        worker = self.run_worker(lambda: self._search(query, go=event.done), thread=True, group=_SEARCH)
        self._unanswered = worker
        self.set_timer(_SLOW_S, lambda: self._say_that_it_takes_long(worker))

    def _say_that_it_takes_long(self, worker: Worker[None]) -> None:
        # A worker counts as finished only some time after it has handed in its answer, or was cancelled.
        if worker is self._unanswered and not self.is_left:
            self.query_one(Prompt).say("searching…")

    def _search(self, query: Query, *, go: bool) -> None:
        """Called in a thread: a query may have to read every record of the trace again."""
        worker, found = get_current_worker(), set()
        rows = self._store.rows_of_trace(self.trace)
        if len(rows) >= PAYS_FROM:
            from spanview.analysis.bulk_query import rows_that_match

            found.update(rows_that_match(self._store, query, rows))
        else:
            for row in rows:
                if worker.is_cancelled:
                    return
                if query.keeps(self._store, row):
                    found.add(row)
        self.app.call_from_thread(self._take_matches, worker, found, go=go)

    def _take_matches(self, worker: Worker[None], found: set[int], *, go: bool) -> None:
        if worker.is_cancelled or self.is_left:
            # Another search was typed meanwhile, or none is wanted any more.
            return
        self._unanswered = None
        self.rows.matched = found
        # Whoever pastes an id or a value learns here that bare words are looked for in names only.
        what_next = "any~… looks further" if self._looks_in_names and not found else "n N"
        self.query_one(Prompt).say(f"{count(len(found), 'match')}, {what_next}")
        self.rows.refresh()
        if go:
            self.when_stitched(lambda: self.action_match(1, stay=True))

    def action_only_matches(self) -> None:
        """Hide what a search has not found, but for what stands above it, or show everything again."""
        node = self.rows.node
        if not self._model.shows_all:
            self._model.show_only(None)
            self.viewer.say("everything is shown")
        elif self.rows.matched:
            self._model.show_only({*self.rows.matched})
            self.viewer.say(f"only {count(len(self.rows.matched), 'match')} and what stands above")
        else:
            self.viewer.say("nothing was searched for: / searches")
            return
        self.refold(node)

    def action_match(self, by: int, *, stay: bool = False) -> None:
        """Go to the next match, or to the one before."""
        self._go_to(self.rows.found, by, "match", stay=stay)

    def action_same_name(self, by: int) -> None:
        """Go to the next span with the name of the selected one, or to the one before."""
        shape, node = self._model.shape, self.rows.node
        if node is None or shape.tree.is_missing(node):
            self.viewer.say("this parent was not seen: its name isn't known")
            return
        name = self._store.spans.name[shape.tree.rows[node]]
        if self._named is None or self._named[:2] != (shape, name):
            self._named = shape, name, shape.places_of_name(name)
        self._go_to(self._named[2], by, "span of this name")

    def action_parent(self) -> None:
        """Go to the parent."""
        node = self.rows.node
        parent = ROOT if node is None else self._model.tree.parents[node]
        if parent == ROOT:
            self.viewer.say("this is a root")
        else:
            self._go_to_node(parent)

    def go_to_span(self, row: int) -> None:
        """Go to a span of the trace, by its row in the span table."""
        node = self._model.shape.node_of.get(row)
        if node is not None and node != self.rows.node:
            self._go_to_node(node)

    @property
    def trace_tree(self) -> TraceTree:
        """The trace, stitched as it is now."""
        return self._model.shape.stitched

    def action_error(self, by: int) -> None:
        """Go to the next error, or to the one before."""
        self._go_to(self._model.shape.failed, by, "error")

    def _go_to(self, places: list[int], by: int, noun: str, *, stay: bool = False) -> None:
        """Go to the next of some places, in the order of the whole tree; round the end if need be."""
        shape, current = self._model.shape, self.rows.node
        if not places or current is None:
            self.viewer.say(f"no {noun} in this trace")
            return
        here = shape.place[current]
        if by > 0 and self._model.run(current):
            # The row stands for all of its run, whose first one hasn't been seen.
            stay = True
        at = bisect_left(places, here) - 1 if by < 0 else bisect_left(places, here if stay else here + 1)
        at %= len(places)
        self._go_to_node(shape.order[places[at]])
        self.viewer.say(f"{noun} {at + 1:,} of {len(places):,}")

    def _go_to_node(self, node: int) -> None:
        row = self._model.reveal(node)
        self.rows.rows_have_changed(len(self._model.rows))
        self.rows.move_to(row)
        self.rows.reveal()

    def action_back(self) -> None:
        """Drop the search, then go back to the traces."""
        prompt = self.query_one(Prompt)
        if prompt.display:
            self.workers.cancel_group(self, _SEARCH)
            self._searched = ""
            prompt.clear()
            self.rows.matched = set()
            if not self._model.shows_all:
                self.action_only_matches()
            self.rows.refresh()
            self.set_focus(self.rows)
        else:
            self.app.pop_screen()

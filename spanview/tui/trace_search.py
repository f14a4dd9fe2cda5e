"""Finding spans in a trace: by a query, and those that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.display.units import count
from spanview.index.table import PAYS_FROM
from spanview.index.tree import ROOT
from spanview.model.problems import QueryError
from spanview.model.span import ERROR
from spanview.tui.copying import Copying
from spanview.tui.prompt import Prompt
from spanview.tui.waterfall import Waterfall

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.worker import Worker

    from spanview.analysis.query import Query
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.tui.trace_model import TraceModel

_SEARCH: Final = "search"
"""The group of the threads that search."""


class SearchedTrace(Copying):
    """What a trace's screen does to find spans.

    Args:
        store: The store.
        model: The trace.
    """

    def __init__(self, store: Store, model: TraceModel) -> None:
        super().__init__()
        self._store = store
        self._model = model
        self._searched = ""

    @property
    def rows(self) -> Waterfall:
        """The tree and the waterfall."""
        return self.query_one(Waterfall)

    def action_search(self) -> None:
        """Let a search be typed."""
        self.query_one(Prompt).open()

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Mark what matches; Enter goes to the next match."""
        from spanview.analysis.query import parse_query

        if self.is_left:
            return
        prompt = self.query_one(Prompt)
        if event.text != prompt.text or (event.text == self._searched and not event.done):
            return
        self._searched = event.text
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
        self.run_worker(lambda: self._search(query, go=event.done), thread=True, group=_SEARCH)

    def _search(self, query: Query, *, go: bool) -> None:
        """Called in a thread: a query may have to read every record of the trace again."""
        worker, found = get_current_worker(), set()
        rows = self._model.tree.rows
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
        self.rows.matched = found
        self.query_one(Prompt).say(f"{count(len(found), 'match')}, n N")
        self.rows.refresh()
        if go:
            self.action_match(1, stay=True)

    def action_only_matches(self) -> None:
        """Hide what a search has not found, but for what stands above it, or show everything again."""
        node = self.rows.node
        key = None if node is None else self._model.key(node)
        if self._model.only is not None:
            self._model.show_only(None)
            self.viewer.say("everything is shown")
        elif self.rows.matched:
            self._model.show_only({*self.rows.matched})
            self.viewer.say(f"only {count(len(self.rows.matched), 'match')} and what stands above")
        else:
            self.viewer.say("nothing was searched for: / searches")
            return
        self.rows.rows_have_changed(len(self._model.rows), self._model.row_of_key(key, 0))
        self.rows.reveal()

    def action_match(self, by: int, *, stay: bool = False) -> None:
        """Go to the next match, or to the one before."""
        self._go_to(lambda row: row in self.rows.matched, by, "match", stay=stay)

    def action_same_name(self, by: int) -> None:
        """Go to the next span with the name of the selected one, or to the one before."""
        names, node = self._store.spans.name, self.rows.node
        if node is None or self._model.tree.is_missing(node):
            self.viewer.say("this parent was not seen: its name isn't known")
            return
        name = names[self._model.tree.rows[node]]
        self._go_to(lambda row: names[row] == name, by, "span of this name")

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
        rows = self._model.tree.rows
        if row in rows and rows.index(row) != self.rows.node:
            self._go_to_node(rows.index(row))

    def _go_to_node(self, node: int) -> None:
        row = self._model.reveal(node)
        self.rows.rows_have_changed(len(self._model.rows))
        self.rows.move_to(row)
        self.rows.reveal()

    @property
    def trace_tree(self) -> TraceTree:
        """The trace, stitched as it is now."""
        return self._model.tree

    def action_error(self, by: int) -> None:
        """Go to the next error, or to the one before."""
        status = self._store.spans.status
        self._go_to(lambda row: status[row] == ERROR, by, "error")

    def _go_to(self, is_wanted: Callable[[int], bool], by: int, noun: str, *, stay: bool = False) -> None:
        """Go to the next node, in the order of the whole tree, whose span is wanted; round the end if need be."""
        tree, current = self._model.tree, self.rows.node
        order = [node for node, _ in tree.walk()]
        wanted = [at for at, node in enumerate(order) if not tree.is_missing(node) and is_wanted(tree.rows[node])]
        if not wanted or current is None:
            self.viewer.say(f"no {noun} in this trace")
            return
        here = order.index(current)
        if by > 0:
            target = next((at for at in wanted if at > here or (stay and at == here)), wanted[0])
        else:
            target = next((at for at in reversed(wanted) if at < here), wanted[-1])
        self._go_to_node(order[target])
        self.viewer.say(f"{noun} {wanted.index(target) + 1} of {len(wanted)}")

    def action_back(self) -> None:
        """Drop the search, then go back to the traces."""
        prompt = self.query_one(Prompt)
        if prompt.display:
            self.workers.cancel_group(self, _SEARCH)
            self._searched = ""
            prompt.clear()
            self.rows.matched = set()
            if self._model.only is not None:
                self.action_only_matches()
            self.rows.refresh()
            self.set_focus(self.rows)
        else:
            self.app.pop_screen()

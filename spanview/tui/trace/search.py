"""Finding spans in a trace: by a query, by name, and those that failed."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from spanview.display.units import count
from spanview.index.tree import ROOT
from spanview.model.problems import QueryError
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.query import Query
    from spanview.analysis.telling import Tell
    from spanview.tui.trace.stitched_trace import StitchedTrace
    from spanview.tui.trace.waterfall import Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.prompt import Prompt

_SLOW_S: Final = 0.4
"""A search that takes longer says that it goes on."""


class Jumps:
    """Moves the cursor from span to span, and opens what hides them."""

    def __init__(self, screen: BaseScreen, rows: Waterfall) -> None:
        self._screen = screen
        self._model = rows.model
        self._rows = rows
        self._same_name: tuple[StitchedTrace, int, list[int]] | None = None
        """The positions of the spans with a name, of which trace and of which name."""

    def to_node(self, node: int) -> None:
        """Go to a node."""
        row = self._model.reveal(node)
        self._rows.rows_have_changed(len(self._model.rows))
        self._rows.move_to(row)
        self._rows.reveal()

    def to_span(self, row: int) -> None:
        """Go to a span of the trace, by its row in the span table."""
        node = self._model.stitched.node_of.get(row)
        if node is not None and node != self._rows.node:
            self.to_node(node)

    def to_parent(self) -> None:
        """Go to the parent."""
        node = self._rows.node
        parent = ROOT if node is None else self._model.tree.parents[node]
        if parent == ROOT:
            self._screen.viewer.say("this is a root")
        else:
            self.to_node(parent)

    def to_match(self, by: int, *, stay: bool = False) -> None:
        """Go to the next span that a search has found, or to the one before; `stay` where the cursor is on one."""
        self._to_next(self._rows.matches, by, "match", stay=stay)

    def to_error(self, by: int, *, stay: bool = False) -> None:
        """Go to the next error, or to the one before; to the selected one, where it may stay and is one."""
        self._to_next(self._model.stitched.failed, by, "error", stay=stay)

    def to_same_name(self, by: int) -> None:
        """Go to the next span with the name of the selected one, or to the one before."""
        stitched, node = self._model.stitched, self._rows.node
        if node is None or stitched.tree.is_missing(node):
            self._screen.viewer.say("this parent was not seen: its name isn't known")
            return
        name = self._model.store.spans.name[stitched.tree.rows[node]]
        if self._same_name is None or self._same_name[:2] != (stitched, name):
            self._same_name = stitched, name, stitched.positions_of_name(name)
        self._to_next(self._same_name[2], by, "span of this name")

    def _to_next(self, positions: list[int], by: int, noun: str, *, stay: bool = False) -> None:
        """Go to the next of some positions, in the order of the whole tree; round the end if need be."""
        stitched, current = self._model.stitched, self._rows.node
        if not positions or current is None:
            self._screen.viewer.say(f"no {noun} in this trace")
            return
        here = stitched.position[current]
        if by > 0 and self._model.run(current):
            # The row stands for all of its run, whose first one hasn't been seen.
            stay = True
        number = bisect_left(positions, here) - 1 if by < 0 else bisect_left(positions, here if stay else here + 1)
        number %= len(positions)
        self.to_node(stitched.order[positions[number]])
        self._screen.viewer.say(f"{noun} {number + 1:,} of {len(positions):,}")


class Search:
    """Finds spans by the query in a prompt, while it is typed.

    Args:
        screen: Has the prompt.
        rows: Those of the trace; they mark what is found.
        prompt: Where the query is typed.
        go: Called with what goes to the first match, once Enter was pressed and the matches are known.
        refold: Called with the node under the cursor when other rows are in sight.
    """

    def __init__(
        self,
        screen: BaseScreen,
        rows: Waterfall,
        prompt: Prompt,
        *,
        go: Callable[[], object],
        refold: Callable[[int | None], object],
    ) -> None:
        self._screen = screen
        self._model = rows.model
        self._rows = rows
        self._prompt = prompt
        self._go = go
        self._refold = refold
        self._text = ""
        self._query: Query | None = None
        """The latest query, until its matches are known."""
        self._work = Work(screen)

    def type(self, text: str, *, done: bool) -> None:
        """Mark what matches; where `done`, after Enter, go to the next match."""
        from spanview.analysis.query import parse_query

        if text != self._prompt.text or (text == self._text and not done):
            return
        self._stop()
        self._text = text
        try:
            query = parse_query(text)
        except QueryError as error:
            self._prompt.say(str(error), is_mistake=True)
            return
        if done:
            self._screen.set_focus(self._rows)
        if query.is_empty:
            self._prompt.say("")
            self._rows.matched = set()
            if done:
                self._prompt.clear()
            self._rows.refresh()
            return
        self._query = query
        self._work.begin(lambda tell: self._matches(query, tell), lambda matches: self._take(query, matches, go=done))
        self._screen.set_timer(_SLOW_S, lambda: self._say_that_it_takes_long(query))

    def _stop(self) -> None:
        self._text, self._query = "", None
        self._work.end()

    def _say_that_it_takes_long(self, query: Query) -> None:
        if query is self._query and not self._screen.is_left:
            self._prompt.say("searching…")

    def _matches(self, query: Query, tell: Tell) -> set[int]:
        """Called in a thread: a query may have to read every record of the trace again."""
        import numpy as np

        from spanview.analysis.matches import matching_rows

        store, matches = self._model.store, set[int]()
        rows = np.array(store.rows_of_trace(self._model.trace), np.int64)
        for some, waiting in matching_rows(store, query, rows):
            matches.update(some.tolist())
            tell(1 - waiting / len(rows))
        return matches

    def _take(self, query: Query, matches: set[int], *, go: bool) -> None:
        self._query = None
        self._rows.matched = matches
        # Whoever pastes an id or a value learns here that bare words are looked for in names only.
        what_next = "any~… looks further" if query.words and not matches else "n N"
        self._prompt.say(f"{count(len(matches), 'match')}, {what_next}")
        self._rows.refresh()
        if go:
            self._go()

    def show_only_matches(self) -> None:
        """Hide what was not found, but for what stands above it, or show everything again."""
        node, viewer = self._rows.node, self._screen.viewer
        if not self._model.shows_all:
            self._model.show_only(None)
            viewer.say("everything is shown")
        elif self._rows.matched:
            self._model.show_only({*self._rows.matched})
            viewer.say(f"only {count(len(self._rows.matched), 'match')} and what stands above")
        else:
            viewer.say("nothing was searched for: / searches")
            return
        self._refold(node)

    def drop(self) -> bool:
        """Forget what was searched for; return False where nothing was."""
        if not self._prompt.display:
            return False
        self._stop()
        self._prompt.clear()
        self._rows.matched = set()
        if not self._model.shows_all:
            self.show_only_matches()
        self._rows.refresh()
        self._screen.set_focus(self._rows)
        return True

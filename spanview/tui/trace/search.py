"""Finding spans in a trace by the query in a prompt, while it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.units import count
from spanview.model.problems import QueryError
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.query.query import Query
    from spanview.analysis.telling import Tell
    from spanview.tui.trace.waterfall import Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.prompt import Prompt

_SLOW_S: Final = 0.4
"""A search that takes longer says that it goes on."""


class Search:
    """Finds spans by the query in a prompt, while it is typed; calls `go` after Enter, when matches are known."""

    def __init__(self, screen: BaseScreen, rows: Waterfall, prompt: Prompt, go: Callable[[], object]) -> None:
        self._screen = screen
        self._model = rows.model
        self._rows = rows
        self._prompt = prompt
        self._go = go
        self._text = ""
        self._query: Query | None = None
        """The latest query, until its matches are known."""
        self._work = Work(screen)

    def type(self, text: str, *, done: bool) -> None:
        """Mark what matches; where `done`, after Enter, go to the next match."""
        from spanview.analysis.query.query import parse_query

        if text != self._prompt.text or (text == self._text and not done):
            return
        self._stop()
        self._text = text
        try:
            query = parse_query(text)
        except QueryError as error:
            self._prompt.say(str(error), is_mistake=True)
            if done:
                self._prompt.insist()
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
        self._work.begin(lambda tell: self._matches(query, tell), lambda matches: self._take(query, *matches, go=done))
        self._screen.set_timer(_SLOW_S, lambda: self._say_that_it_takes_long(query))

    def _stop(self) -> None:
        self._text, self._query = "", None
        self._work.end()

    def _say_that_it_takes_long(self, query: Query) -> None:
        if query is self._query and not self._screen.is_left:
            self._prompt.say("searching…")

    def _matches(self, query: Query, tell: Tell) -> tuple[set[int], list[str]]:
        """Return what matches, or else why nothing does; in a thread, as every record may be read again."""
        import numpy as np

        from spanview.analysis.query.matches import matching_rows
        from spanview.analysis.query.misses import misses_of
        from spanview.display.miss_text import miss_lines

        store, matches = self._model.store, set[int]()
        rows = np.array(store.rows_of_trace(self._model.trace), np.int64)
        for batch, waiting in matching_rows(store, query, rows):
            matches.update(batch.tolist())
            tell(1 - waiting / max(len(rows), waiting))
        # What isn't read yet may have it.
        is_known = not (matches or self._screen.viewer.feed_state.loading)
        misses = misses_of(store, query, [self._model.trace], tell) if is_known else []
        return matches, miss_lines(misses, "no span of this trace")

    def _take(self, query: Query, matches: set[int], why: list[str], *, go: bool) -> None:
        self._query = None
        self._rows.matched = matches
        # Whoever pastes an id or a value learns here that bare words are looked for in names only.
        what_next = "any~… looks further" if query.words and not matches else "n N"
        self._prompt.say(f"{count(len(matches), 'match')}, {what_next}", "; ".join(why))
        self._rows.refresh()
        if go:
            self._go()

    def show_only_matches(self) -> None:
        """Hide what was not found, but for what stands above it, or show everything again."""
        node, viewer = self._rows.node, self._screen.viewer
        if self._model.wanted is not None:
            self._model.show_only(None)
            viewer.say("showing all spans")
        elif self._rows.matched:
            self._model.show_only({*self._rows.matched})
            viewer.say(f"showing only {count(len(self._rows.matched), 'match')} and the spans above")
        else:
            viewer.say("nothing to repeat: / starts a search")
            return
        self._rows.refold(node)

    def drop(self) -> bool:
        """Forget what was searched for; return False where nothing was."""
        if not self._prompt.display:
            return False
        self._stop()
        self._prompt.clear()
        self._rows.matched = set()
        if self._model.wanted is not None:
            self.show_only_matches()
        self._rows.refresh()
        self._screen.set_focus(self._rows)
        return True

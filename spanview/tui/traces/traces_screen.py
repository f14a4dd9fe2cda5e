"""The first screen: all traces, newest first, sorted, grouped and filtered as one likes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.display.unnamed import Unnamed
from spanview.model.problems import QueryError
from spanview.model.times import NO_TIME
from spanview.tui.keys import On
from spanview.tui.traces.group_list import GroupList
from spanview.tui.traces.listed_traces import ListedTraces
from spanview.tui.traces.plot import Plot
from spanview.tui.traces.trace_list import ColumnHeads, TraceList
from spanview.tui.widgets.base_screen import ASK_AGAIN_S, bindings_of
from spanview.tui.widgets.header import TwoSided, state_text, totals_text
from spanview.tui.widgets.prompt import Prompt
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from spanview.index.store import Store
    from spanview.tui.traces.matching import TraceMatcher

_GROWING_S: Final = 2.0
_ROOM_FOR_PLOT: Final = 30
"""Lines from which on the plot stands above the list."""
_HINT: Final = "a name, or key=value, duration>10ms, status=ERROR, request_id=…, -term"


class TracesScreen(ListedTraces):
    """A line a trace, or a line a root name.

    Args:
        store: The store.
        query: The filter to begin with.
        nothing: What to say while there is nothing to show.
    """

    ON: ClassVar[On] = On.TRACES
    BINDINGS = bindings_of(On.TRACES)

    def __init__(self, store: Store, query: str, nothing: list[str]) -> None:
        super().__init__(store, query)
        self._nothing = nothing
        self._matcher: TraceMatcher | None = None
        self._matching = Work(self)
        self._is_mistaken = False
        """Whether what is typed can't be understood, so that the query before it still holds."""
        self._is_read = False
        """Whether everything that was there had been read when the last news came."""
        self._unnamed = Unnamed(())
        self._is_plotted = True
        self._failure: int | None = None
        """The trace that was opened for its error last."""
        self._failed_at: tuple[str | None, int | None] | None = None
        """The group and the trace that the cursor was left on by it."""
        self._held = ""
        """What the header said last, for as long as nothing moves."""

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Prompt(_HINT, self._query, is_query=True)
        yield Plot(self._model)
        traces, groups = TraceList(self._store, self._model), GroupList()
        yield ColumnHeads(traces, groups)
        yield traces
        yield groups
        yield Static(Content(""), id="nothing")
        yield self.footer()

    def on_mount(self) -> None:
        """Begin with the list of traces, or of groups."""
        self.take_settings()
        if self._query:
            self._filter(self._query)
        self.set_interval(1.0, self._calm_down)
        self.set_interval(ASK_AGAIN_S, self._ask_what_lives)

    # -- what is shown -----------------------------------------------------------------------------------------------

    def title_text(self) -> str:
        """Return what was read, in one line; of a list that is narrowed without a filter, to what."""
        if self._model.narrowed_to:
            listed, number = len(self._model.order), count(len(self._store.trace_table), "trace")
            return f"spanview  {listed:,} of {number}: {sanitise(self._model.narrowed_to, 80)}; Esc: all"
        if self.viewer.paused and self._held:
            return self._held
        state = state_text(self.viewer.feed_state, paused=self.viewer.paused)
        room = self.size.width - cell_len(state) - 5
        self._held = totals_text(self._store, self.viewer.places, self.viewer.notices, room)
        return self._held

    def feed_has_news(self, changed: set[int]) -> None:
        """Take in new and grown traces."""
        self._has_grown = self._has_grown or bool(changed)
        if self._matcher is not None and changed:
            self._matcher.look_at(changed)
            self._matching.queue_pieces(self._matcher.matches, self._take_matches)
        # What was read at first has not grown since somebody looks.
        if self.viewer.feed_state.following and self._is_read:
            now = time.monotonic()
            for trace in changed:
                self._grown_at[trace] = now
        self._is_read = not self.viewer.feed_state.loading
        self._show(is_news=True)

    def _show(self, *, anew: bool = False, is_news: bool = False) -> None:
        traces = self.traces
        traces.is_loading = self.viewer.feed_state.loading
        self._mark_growing()
        traces.refresh_rows(anew=anew)
        # What takes long isn't done each time that spans come.
        can_wait = is_news and self._model.has_many
        if self.grouped:
            self._count_groups(can_wait=can_wait)
        self._say_if_nothing()
        self._count_matches()
        self.query_one(ColumnHeads).refresh()
        if can_wait:
            self._is_plotted = False
        else:
            self._plot()
        self.refresh_frame()

    def _plot(self) -> None:
        self._is_plotted = True
        self.query_one(Plot).look_again(self._lit())

    def on_resize(self, event: events.Resize) -> None:
        """Show the plot where there is room for it."""
        self.query_one(Plot).display = event.size.height >= _ROOM_FOR_PLOT

    def limit_to(self, choose: Callable[[Store], set[int] | None]) -> None:
        """List only the traces that are chosen, and those that are yet to come."""
        self._model.limit_to(choose(self._store))
        self._show(anew=True)

    def _say_if_nothing(self) -> None:
        is_empty = not self._model.order
        nothing = self.query_one("#nothing", Static)
        nothing.display = is_empty
        self.rows.display = not is_empty
        if is_empty:
            state = self.viewer.feed_state
            if state.loading:
                lines = ["reading …"]
            elif self._matcher is not None and self._still_looking:
                lines = ["looking …"]
            elif len(self._store.spans):
                lines = ["no trace matches", *self._unnamed.says(self._store.names.texts)]
            else:
                lines = ["no spans yet" if state.following else "no spans here", "", *self._nothing]
            nothing.update(Content("\n".join(map(sanitise, lines))))

    def _calm_down(self) -> None:
        """Drop the marks of traces that don't grow any more, and do what was put off when spans came."""
        if self.viewer.paused or (self._model.has_many and time.monotonic() < self.viewer.acts_until):
            return
        if not self._is_plotted:
            self._plot()
        if self.grouped:
            self._stitch()
        limit = time.monotonic() - _GROWING_S
        calm = [trace for trace, grown_at in self._grown_at.items() if grown_at < limit]
        for trace in calm:
            del self._grown_at[trace]
        if calm:
            self._mark_growing()
            self.rows.refresh()

    def _ask_what_lives(self) -> None:
        """While spans come, ask in a thread which traces may still grow: processes come and go."""
        state = self.viewer.feed_state
        is_busy = self.viewer.paused or (self._model.has_many and time.monotonic() < self.viewer.acts_until)
        if state.following and not state.loading and not is_busy:
            growing = self.viewer.running.growing
            self._living.queue(lambda _: growing(), self._take_living)

    # -- filtering ---------------------------------------------------------------------------------------------------

    async def action_search(self) -> None:
        """Let a filter be typed."""
        await self.query_one(Prompt).open()

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Filter as it is typed; Enter doesn't begin anew what is filtered already."""
        prompt = self.query_one(Prompt)
        if event.text != self._query and event.text == prompt.text:
            self._filter(event.text)
        if event.done:
            self.set_focus(self.rows)
            if not event.text.strip():
                prompt.clear()

    def _filter(self, text: str) -> None:
        from spanview.analysis.query import parse_query
        from spanview.tui.traces.matching import TraceMatcher

        prompt, self._query = self.query_one(Prompt), text
        try:
            query = parse_query(text)
        except QueryError as error:
            self._is_mistaken = True
            prompt.say(str(error), is_mistake=True)
            return
        self._is_mistaken = False
        self._matching.end()
        self._matcher, self._still_looking = None, 0.0
        prompt.say("")
        self._unnamed = Unnamed(query.words)
        self._model.matching = None if query.is_empty else set()
        if not query.is_empty:
            self._still_looking = 1.0
            self._matcher = TraceMatcher(self._store, query)
            self._matcher.look_at(range(len(self._store.trace_table)))
            self._matching.begin_pieces(self._matcher.matches, self._take_matches)
        self._show(anew=True)

    def _take_matches(self, found: list[set[int]]) -> None:
        matching = set[int]().union(*found)
        self._model.add_matching(matching)
        self._still_looking = 1 - (self._matching.share or 0.0) if self._matching.is_busy else 0.0
        if matching or not self._still_looking:
            self._show()
        else:
            self._count_matches()
            self._say_if_nothing()

    def _count_matches(self) -> None:
        # What the filter before finds goes on, but is no answer to a mistake.
        if self._matcher is not None and not self._is_mistaken:
            looking = f", {1 - self._still_looking:.0%} looked at" if self._still_looking else ""
            if self.viewer.feed_state.loading:
                looking = " so far"
            self.query_one(Prompt).say(
                f"{len(self._model.order):,} of {len(self._store.trace_table):,} traces{looking}"
            )

    # -- keys --------------------------------------------------------------------------------------------------------

    async def action_open(self) -> None:
        """Open the trace, or show the traces of the group."""
        group = self.chosen_group
        if group is not None:
            self._model.only_root, self._model.is_drilled = group.name, True
            self._show_groups(on=False, anew=True)
            self.viewer.say(f"only {group.name or 'traces without a root'}; Esc: all groups")
        elif not self.grouped and self.traces.selected is not None:
            await self.viewer.open_trace(self.traces.selected)

    def action_back(self) -> None:
        """Drop the group that was opened, then the filter."""
        if self._model.is_drilled:
            self._model.is_drilled = False
            self._show_groups(on=True, anew=True)
            self.viewer.say("all groups")
        elif self._model.picked != (None, None):
            self._pick(None, None)
        elif self.query_one(Prompt).display:
            self.query_one(Prompt).clear()
            self.set_focus(self.rows)
            self._filter("")
            self.viewer.say("everything is listed")
        elif self.grouped:
            self._show_groups(on=False, anew=False)
        elif self.viewer.marked is not None:
            self.viewer.mark(None)
            self.viewer.say("nothing is marked any more")

    def action_leave(self) -> None:
        """Go back; where there is nothing to go back to, quit."""
        if self._model.is_drilled or self.grouped:
            self.action_back()
        else:
            self.app.exit()

    def action_pick(self, side: int) -> None:
        """Let the list begin, or end, with the time of the selected trace."""
        trace = self.traces.selected
        if self.grouped or trace is None or (ns := self._store.trace_table.start_ns[trace]) == NO_TIME:
            self.viewer.say("a trace with a start is picked from, or up to")
            return
        start, end = self._model.picked
        start, end = (ns, end) if side < 0 else (start, ns)
        self._pick(start, None if start is not None and end is not None and end < start else end)

    def on_plot_picked(self, event: Plot.Picked) -> None:
        """Narrow the list to what was drawn over."""
        self._pick(event.start_ns, event.end_ns)

    def _pick(self, start_ns: int | None, end_ns: int | None) -> None:
        self._model.picked = start_ns, end_ns
        self._show(anew=True)
        found = count(len(self._model.order), "trace")
        times = self._model.narrowed_to
        self.viewer.say(f"{times}: {found}; Esc: all" if times else found)

    async def action_error(self, _by: int) -> None:
        """Open the newest trace with an error, of the selected group where there is one, at the error.

        Where the cursor still stands as this left it, it is the next one, the one that started before.
        """
        group = self.chosen_group
        here = None if group is None else group.name, self.chosen_trace
        before = self._failure if here == self._failed_at else None
        newest = self._model.newest_failure(self._lit(), before)
        if newest is None:
            self.viewer.say("no trace with an error" if group is None else "no trace of this group with an error")
            return
        if group is None:
            self.traces.go_to(newest)
        self._failure, self._failed_at = newest, (here[0], self.chosen_trace)
        await self.viewer.open_trace(newest, at_error=True)

    @property
    def chosen_trace(self) -> int | None:
        """The selected trace."""
        return None if self.grouped else self.traces.selected

"""One trace: tree and waterfall, and the details of the selected span below where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.worker import get_current_worker

from spanview.display.span_text import SpanInTree
from spanview.display.units import count, duration
from spanview.model.ids import format_trace_id
from spanview.tui.base_screen import bindings_of
from spanview.tui.comparing import MARK, ComparingScreen
from spanview.tui.details import Details
from spanview.tui.header import TwoSided
from spanview.tui.keys import On
from spanview.tui.legend import Legend
from spanview.tui.minimap import Minimap
from spanview.tui.prompt import Prompt
from spanview.tui.trace_facets import LitPath
from spanview.tui.trace_look import ROOM_FOR_DETAILS
from spanview.tui.trace_model import TraceModel
from spanview.tui.trace_pictures import PicturedTrace
from spanview.tui.waterfall import RulerLine, Waterfall

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from spanview.index.store import Store
    from spanview.tui.comparing import Side
    from spanview.tui.window import Window

_LOOK_S: Final = 0.03
"""The details follow the cursor when it rests for so long."""


class TraceScreen(PicturedTrace, ComparingScreen):
    """Tree and waterfall of one trace.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
        at_error: Whether to begin at the first error.
        at_row: The span to begin at, by its row in the span table.
    """

    ON: ClassVar[On] = On.TRACE
    BINDINGS = bindings_of(On.TRACE)

    def __init__(self, store: Store, trace: int, *, at_error: bool = False, at_row: int | None = None) -> None:
        super().__init__(store, TraceModel(store, trace))
        self._at_error = at_error
        self._at_row = at_row

    @property
    def trace(self) -> int:
        """The trace's row in the trace table."""
        return self._model.trace

    @property
    def chosen_trace(self) -> int:
        """The trace."""
        return self.trace

    @property
    def chosen_span(self) -> SpanInTree | None:
        """The selected span; None for a placeholder."""
        node = self.rows.node
        return None if node is None or self._model.tree.is_missing(node) else self._subject(node)

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Prompt("a name, or key=value, duration>10ms, status=ERROR, -term …", is_query=True)
        yield Minimap(self._store, self._model)
        yield RulerLine(self._model, self._facets)
        yield Waterfall(self._store, self._model, self._facets)
        yield Legend(self._facets)
        yield Details(classes="below")
        yield self.footer()

    @property
    def details(self) -> Details:
        """The pane below."""
        return self.query_one(Details)

    def on_mount(self) -> None:
        """Begin at the root, or at the first error."""
        self.set_focus(self.rows)
        self.take_settings()
        self.rows.rows_have_changed(len(self._model.rows), self._model.row_of_key(self._at_row, 0))
        self.call_after_refresh(self.rows.reveal)
        self.refresh_frame()
        self._look_timer = self.set_timer(_LOOK_S, self._show_details)
        if self._at_error:
            self.call_after_refresh(self._show_first_error)

    def _show_first_error(self) -> None:
        if not self.is_left:
            self.action_error(1)

    def on_resize(self, event: events.Resize) -> None:
        """Show the details, and what the colours stand for, where there is room for them."""
        has_room = event.size.height >= ROOM_FOR_DETAILS
        self.details.display = has_room
        self._explain(shown=has_room and len(self._facets.legend()) > 1)

    def title_text(self) -> str:
        """Return the trace in one line."""
        table, tree, trace = self._store.trace_table, self._model.tree, self.trace
        spans = self._store.spans
        name = self.viewer.root_name(trace)
        parts = [f"‹ {name}", duration(self._model.whole.length_ns), count(table.span_count[trace], "span")]
        parts.append(count(len({spans.source[row] for row in tree.rows}), "process"))
        if table.error_count[trace]:
            parts.append(f"✖ {count(table.error_count[trace], 'error')}")
        if self.viewer.feed_state.loading and not tree.complete:
            parts.append("loading")
        else:
            parts.append("complete" if tree.complete else "incomplete")
        trace_id = table.trace_id(trace)
        parts.append(format_trace_id(trace_id) if trace_id else "no trace id")
        if self.viewer.marked is not None and self.viewer.marked.key == trace:
            parts.insert(1, f"{MARK}marked")
        return "   ".join(parts)

    def side(self) -> Side:
        """Return this trace."""
        return self.side_of_trace(self._store, self.trace)

    def mark_has_changed(self) -> None:
        """Say whether this trace is marked."""
        self.refresh_frame()

    # -- growing -----------------------------------------------------------------------------------------------------

    def feed_has_news(self, changed: set[int]) -> None:
        """Stitch the trace anew when it has grown."""
        if self.trace in changed:
            node = self.rows.node
            key = None if node is None else self._model.key(node)
            self._model.refresh()
            was_lit, self._facets.lit = self._facets.lit is not None, None
            if was_lit:
                self.action_critical()
            self.rows.refresh_rows(key)
            self._refresh_time()
            self.query_one(Legend).refresh()
            self._look_later()
        self.refresh_frame()

    # -- details -----------------------------------------------------------------------------------------------------

    def on_line_list_moved(self, event: Waterfall.Moved) -> None:
        """Let the details follow."""
        if not self.is_left and event.sender is self.rows:
            self._look_later()

    def _look_later(self) -> None:
        self._look_timer.stop()
        self._look_timer = self.set_timer(_LOOK_S, self._show_details)

    def _show_details(self) -> None:
        if self.is_left or not self.details.display:
            return
        node = self.rows.node
        if node is None:
            return
        if self._model.tree.is_missing(node):
            self.details.show(None, self._model.tree.span_id(node))
        else:
            self.details.show(self._subject(node))

    def _subject(self, node: int) -> SpanInTree:
        tree = self._model.tree
        return SpanInTree(self._store.span(tree.rows[node]), self._store, self.trace, tree, node)

    async def action_open(self) -> None:
        """Show the span on a screen of its own."""
        from spanview.tui.span_screen import SpanScreen

        subject = self.chosen_span
        if subject is not None:
            await self.app.push_screen(SpanScreen(subject, self.details.section))
        else:
            self.viewer.say("this parent was not seen: there is nothing to open")

    async def action_flame(self) -> None:
        """Show where this trace's time goes."""
        await self.viewer.open_flame([self.trace], self.viewer.root_name(self.trace))

    async def action_statistics(self) -> None:
        """Show statistics of this trace's spans."""
        await self.viewer.open_statistics([self.trace], self.viewer.root_name(self.trace))

    def action_next_pane(self) -> None:
        """Show the next section of the details."""
        self.details.next_section()
        self.viewer.say(f"{self.details.section.lower()} of the span")

    async def action_raw(self) -> None:
        """Show the record as the file has it."""
        self.details.toggle_raw()
        self.viewer.say(f"{self.details.section.lower()} of the span")
        if not self.details.display:
            await self.action_open()

    def action_copy(self) -> None:
        """Copy the span id."""
        node = self.rows.node
        if node is not None:
            self.viewer.copy(f"{self._model.tree.span_id(node):016x}", "span id")

    # -- the critical path -------------------------------------------------------------------------------------------

    def action_critical(self) -> None:
        """Light the critical path up, or let it be."""
        if self._facets.lit is not None:
            self._facets.lit = None
            self.viewer.say("critical path no longer lit")
            self.rows.refresh()
        else:
            self.run_worker(self._find_path, thread=True, group="critical", exclusive=True)

    def _find_path(self) -> None:
        """Called in a thread: a trace can have a hundred thousand spans."""
        from spanview.analysis.critical import critical_path

        worker, tree = get_current_worker(), self._model.tree
        lit = LitPath(tree, critical_path(tree, self._store.spans))
        if not worker.is_cancelled:
            self.app.call_from_thread(self._light, lit)

    def _light(self, lit: LitPath) -> None:
        if self.is_left or lit.tree is not self._model.tree:
            return
        self._facets.lit = lit
        self.viewer.say(lit.text)
        self.rows.refresh()

    # -- folding -----------------------------------------------------------------------------------------------------

    def action_collapse(self) -> None:
        """Hide what is below, or go to the parent."""
        if self._model.rows and not self._model.collapse(self.rows.cursor):
            parent = self._model.parent_row(self.rows.cursor)
            if parent is not None:
                self.rows.move_to(parent)
        elif self.rows.node is not None:
            self.viewer.say(f"{count(self._model.below[self.rows.node], 'span')} hidden; → shows them")
        self.rows.refresh_rows()

    def action_expand(self) -> None:
        """Show what is below, or go to the first child."""
        model, rows = self._model, self.rows
        if model.rows and model.expand(rows.cursor):
            self.viewer.say("what is below is shown")
        elif rows.node is not None and model.tree.children(rows.node):
            rows.move_to(rows.cursor + 1)
        else:
            self.viewer.say("nothing stands below this span")
        rows.refresh_rows()

    def action_collapse_all(self) -> None:
        """Hide everything but the roots."""
        node = self.rows.node
        while node is not None and self._model.tree.parents[node] >= 0:
            node = self._model.tree.parents[node]
        self._model.collapse_all()
        self._refold(node)
        self.viewer.say("all collapsed; ] expands them")

    def action_expand_all(self) -> None:
        """Show everything."""
        node = self.rows.node
        self._model.expand_all()
        self._refold(node)
        self.viewer.say("all expanded")

    # -- time --------------------------------------------------------------------------------------------------------

    def _look_at(self, window: Window) -> None:
        whole = self._model.whole
        self._model.window = None if window == whole else window
        after = duration(window.start_ns - whole.start_ns)
        self.viewer.say("the whole time" if window == whole else f"{duration(window.length_ns)} from +{after}")
        self.rows.refresh()
        self._refresh_time()

    def _refresh_time(self) -> None:
        self.query_one(RulerLine).refresh()
        self.query_one(Minimap).refresh()

    def on_minimap_picked(self, event: Minimap.Picked) -> None:
        """Show the stretch that was picked with the mouse."""
        whole = self._model.whole
        self._look_at(whole if event.stretch is None else whole.within(*event.stretch))

    @property
    def _interval(self) -> tuple[int, int] | None:
        node = self.rows.node
        return None if node is None else self._model.interval(node)

    def action_zoom(self, by: int) -> None:
        """Show less time, or more, around the middle of the selected span."""
        self._look_at(self._model.whole.zoomed(self._model.shown, self._interval, by))

    def action_pan(self, by: int) -> None:
        """Show earlier or later time."""
        self._look_at(self._model.whole.panned(self._model.shown, by))

    def action_fit(self) -> None:
        """Show just the time of the selected span."""
        if self._interval is not None:
            self._look_at(self._model.whole.fitted(self._interval))
        else:
            self.viewer.say("this span has no time to show")

    def action_whole(self) -> None:
        """Show the time of the whole trace."""
        self._look_at(self._model.whole)

"""One trace: tree and waterfall, and the details of the selected span below where there is room."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.worker import get_current_worker

from spanview.display.units import count, duration
from spanview.model.ids import format_trace_id
from spanview.tui.diff.marking import mark_or_compare, side_of_trace
from spanview.tui.diff.side import MARK
from spanview.tui.keys import On
from spanview.tui.span.details import Details
from spanview.tui.trace.trace_details import DetailedTrace
from spanview.tui.trace.waterfall import RulerLine, Waterfall
from spanview.tui.widgets.base_screen import ASK_AGAIN_S, bindings_of
from spanview.tui.widgets.copying import Copier
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.legend import Legend
from spanview.tui.widgets.minimap import Minimap
from spanview.tui.widgets.prompt import Prompt
from spanview.tui.widgets.scope import ChosenTraces, TraceScope
from spanview.tui.widgets.zooming import Zoom

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from spanview.index.store import Store
    from spanview.tui.trace.trace_facets import LitPath


class TraceScreen(DetailedTrace):
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
        super().__init__(store, trace)
        self._at_error = at_error
        self._at_row = at_row
        self.zoom = Zoom(
            self,
            self._model,
            time_cells=lambda: self.rows.time_cells,
            interval=self._interval,
            refresh=self.refresh_time,
        )
        self.copier = Copier(self, lambda: self.trace, lambda: self.chosen_span, why_no_span=self.why_no_span)
        self._counts: tuple[int, int] | None = None
        """Spans and errors, as the header says them."""

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Prompt("a name, or key=value, duration>10ms, status=ERROR, request_id=…, -term", is_query=True)
        yield Minimap(self._model)
        yield RulerLine(self._model, self._facets)
        yield Waterfall(self._store, self._model, self._facets)
        yield Legend(self._facets)
        yield Details(classes="below")
        yield self.footer()

    def on_mount(self) -> None:
        """Begin at the root, at a span, or at the first error."""
        self.set_focus(self.rows)
        self.rows.rows_have_changed(len(self._model.rows), 0)
        self.take_settings()
        self.grows = self.viewer.is_growing(self.trace)
        self.refresh_frame()
        self.look_later()
        if not self.is_stitched:
            self.call_after_refresh(self.stitch)
        self.guess()
        self.ask_what_lives()
        self.set_interval(ASK_AGAIN_S, self.ask_what_lives)
        self.live.begin_with(None, ChosenTraces(None, ""), 0)
        if self._at_error or self._at_row is not None:
            self.when_stitched(self._begin_elsewhere)

    def _begin_elsewhere(self) -> None:
        if self.is_left:
            return
        if self._at_row is not None:
            self._go_to_node(self._model.shape.node_of.get(self._at_row, 0))
            self.call_after_refresh(self.rows.reveal)
        if self._at_error:
            self.call_after_refresh(self._show_first_error)

    def _show_first_error(self) -> None:
        if not self.is_left:
            self.action_error(1)

    def title_text(self) -> str:
        """Return the trace in one line."""
        table, tree, trace = self._store.trace_table, self._model.tree, self.trace
        name = self.viewer.root_name(trace)
        if self._counts is None or not self.viewer.paused:
            self._counts = table.span_count[trace], table.error_count[trace]
        spans, errors = self._counts
        parts = [f"‹ {name}", duration(self._model.whole.length_ns), count(spans, "span")]
        if self.is_stitched:
            parts.append(count(self._model.shape.processes, "process"))
        if errors:
            parts.append(f"✖ {count(errors, 'error')}")
        if self.viewer.feed_state.loading and not tree.complete:
            parts.append("loading")
        elif not self.is_stitched:
            parts.append("stitching …")
        elif self.grows:
            parts.append("● growing")
        else:
            parts.append("complete" if tree.complete else "incomplete")
        trace_id = table.trace_id(trace)
        parts.append(format_trace_id(trace_id) if trace_id else "no trace id")
        if self.viewer.marked is not None and self.viewer.marked.key == trace:
            parts.insert(1, f"{MARK}marked")
        return "   ".join(parts)

    async def action_mark(self) -> None:
        """Mark this trace, or compare it with what is marked."""
        await mark_or_compare(self.viewer, side_of_trace(self.viewer, self.trace))

    def mark_has_changed(self) -> None:
        """Say whether this trace is marked."""
        self.refresh_frame()

    # -- keys --------------------------------------------------------------------------------------------------------

    async def action_open(self) -> None:
        """Show the span on a screen of its own; like siblings one by one."""
        await self.open_span(self.details.section)

    async def open_span(self, section: str) -> None:
        """Show a section of the span on a screen of its own; like siblings one by one."""
        from spanview.tui.span.span_screen import SpanScreen

        node, subject = self.rows.node, self.chosen_span
        if not self.is_stitched:
            self.when_stitched(partial(self.open_span, section))
        elif node is not None and self._model.run(node):
            self.action_expand()
        elif subject is not None:
            await self.app.push_screen(SpanScreen(subject, section))
        else:
            self.viewer.say("this parent was not seen: there is nothing to open")

    async def action_flame(self) -> None:
        """Show where this trace's time goes."""
        await self.viewer.open_flame(self._scope())

    async def action_lanes(self) -> None:
        """Show what each worker did in this trace."""
        await self.viewer.open_lanes(self._scope())

    async def action_statistics(self) -> None:
        """Show statistics of this trace's spans."""
        await self.viewer.open_statistics(self._scope())

    async def action_calls(self) -> None:
        """Show Ray's calls in this trace."""
        await self.viewer.open_calls(self._scope())

    async def action_serve(self) -> None:
        """Show Serve's requests in this trace."""
        await self.viewer.open_serve(self._scope())

    def _scope(self) -> TraceScope:
        """Return this trace."""
        return TraceScope.of_trace(self._store, self.trace, lambda: self.viewer.root_name(self.trace))

    def action_copy(self) -> None:
        """Copy the span id."""
        node = self.rows.node
        if node is not None and self._model.run(node):
            self.viewer.say(f"{self.why_no_span()}: there is nothing to copy")
        elif node is not None:
            self.viewer.copy(f"{self._model.tree.span_id(node):016x}", "span id")

    def action_copy_trace_id(self) -> None:
        """Copy the trace id."""
        self.copier.copy_trace_id()

    def action_copy_command(self) -> None:
        """Copy a command line that opens the trace."""
        self.copier.copy_command()

    def action_copy_json(self) -> None:
        """Copy the span as JSON."""
        self.copier.copy_json()

    def _interval(self) -> tuple[int, int] | None:
        """Return when the selected span starts and ends, or what stands for one."""
        node = self.rows.node
        return None if node is None else self._model.interval(node)

    # -- the critical path -------------------------------------------------------------------------------------------

    def action_critical(self) -> None:
        """Light the critical path up, or let it be."""
        if self._facets.lit is not None:
            self._facets.lit = None
            self.viewer.say("critical path no longer lit")
            self.rows.refresh()
        else:
            self.viewer.say("critical path: looking for it …")
            # Behind the painting: one interpreter runs both.
            self.call_after_refresh(self.run_worker, self._find_path, thread=True, group="critical", exclusive=True)

    def _find_path(self) -> None:
        """Called in a thread: a trace can have a hundred thousand spans."""
        worker, lit = get_current_worker(), self._lit(self._model.shape)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._light, lit)

    def _light(self, lit: LitPath) -> None:
        if self.is_left:
            return
        if lit.shape is not self._model.shape:
            # The trace has grown meanwhile.
            self.action_critical()
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
            self.viewer.say(f"{count(self._model.below(self.rows.node), 'span')} hidden; → shows them")
        self.rows.refresh_rows()

    def action_expand(self) -> None:
        """Show what is below, or go to the first child."""
        model, rows = self._model, self.rows
        is_run = rows.node is not None and model.run(rows.node)
        if model.rows and model.expand(rows.cursor):
            self.viewer.say("each sibling is shown" if is_run else "what is below is shown")
        elif rows.node is not None and model.below(rows.node):
            rows.move_to(rows.cursor + 1)
        else:
            self.viewer.say("nothing stands below this span")
        rows.refresh_rows()

    def action_collapse_all(self) -> None:
        """Hide everything but the roots."""
        node = self.rows.node
        self._model.collapse_all()
        self.refold(node)
        self.viewer.say("all collapsed; ] expands them")

    def action_expand_all(self) -> None:
        """Show what hangs below every span."""
        node = self.rows.node
        self._model.expand_all()
        self.refold(node)
        more = "; like siblings are one row each; R shows them" if self._model.has_folded else ""
        self.viewer.say(f"all expanded{more}")

    # -- time --------------------------------------------------------------------------------------------------------

    def on_minimap_picked(self, event: Minimap.Picked) -> None:
        """Show the stretch that was picked with the mouse."""
        self.zoom.pick(event.stretch)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Show less time around the mouse with Ctrl, earlier time with Shift."""
        self.zoom.wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Show more time around the mouse with Ctrl, later time with Shift."""
        self.zoom.wheel(event, -1)

    def action_zoom(self, by: int) -> None:
        """Show less time, or more."""
        self.zoom.zoom(by)

    def action_pan(self, by: int) -> None:
        """Show earlier or later time."""
        self.zoom.pan(by)

    def action_fit(self) -> None:
        """Show just the time of what is selected."""
        self.zoom.fit()

    def action_whole(self) -> None:
        """Show all of the time."""
        self.zoom.show_whole()

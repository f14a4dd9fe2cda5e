"""The details of a trace's selected span: below the waterfall where there is room, or where they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.sanitise import sanitise
from spanview.display.span_text import RAW, SpanInTree
from spanview.display.units import count
from spanview.model.ids import format_span_id
from spanview.tui.span.details import Details
from spanview.tui.trace.trace_look import ROOM_FOR_DETAILS
from spanview.tui.trace.trace_marks import lines_of_run
from spanview.tui.trace.trace_unseen import GuessedTrace
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.scope import ChosenTraces, TraceScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.timer import Timer

    from spanview.analysis.telling import Tell
    from spanview.display.timing_text import TimingFacts
    from spanview.index.store import Store
    from spanview.tui.trace.runs import Run
    from spanview.tui.widgets.linelist import LineList

_LOOK_S: Final = 0.03
"""The details follow the cursor when it rests for so long."""
_LEAST_ROOM: Final = 16
"""Lines from which on both, the waterfall and the details, have some."""


class DetailedTrace(GuessedTrace):
    """What a trace's screen does with the details of the selected span.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
    """

    def __init__(self, store: Store, trace: int) -> None:
        super().__init__(store, trace)
        self._are_asked_for = False
        """Whether details are to be shown where the screen alone has no room to spare for them."""
        self._look_timer: Timer | None = None
        scope = TraceScope(lambda: ChosenTraces(None, ""), self._timing_version)
        self.live: Live[tuple[SpanInTree, TimingFacts] | None] = Live(self, scope, self._count, self._take_counted)

    @property
    def details(self) -> Details:
        """The pane below."""
        return self.query_one(Details)

    @property
    def chosen_span(self) -> SpanInTree | None:
        """The selected span; None for a placeholder, and for like siblings."""
        node = self.rows.node
        if node is None or self._model.tree.is_missing(node) or self._model.run(node):
            return None
        return self._subject(node)

    def why_no_span(self) -> str:
        """Return in words why no span is selected."""
        node = self.rows.node
        is_run = node is not None and self._model.run(node)
        return "these are like siblings, → shows each" if is_run else "this parent was not seen"

    def on_resize(self, event: events.Resize) -> None:
        """Show the details, and what the colours stand for, where there is room for them."""
        self._take_room(event.size.height)
        self.explain_colors(event.size.height)

    def _take_room(self, height: int) -> None:
        self.details.display = height >= (_LEAST_ROOM if self._are_asked_for else ROOM_FOR_DETAILS)

    # -- what is counted among all spans -----------------------------------------------------------------------------

    def _timing_version(self) -> int:
        """Tell one state of what the span is compared with from another; 0 where it isn't compared."""
        return len(self._store.spans) if self.is_mounted and self.details.shows_timing else 0

    def _count(self, _traces: Sequence[int] | None, _tell: Tell) -> tuple[SpanInTree, TimingFacts] | None:
        """Called in a thread: compare the span with those that there are now."""
        from spanview.display.timing_text import timing_facts

        shown = self.details.subject
        if shown is None:
            return None
        subject = SpanInTree(shown.span, shown.store, shown.trace, shown.tree, shown.node)
        return subject, timing_facts(subject)

    def _take_counted(self, counted: tuple[SpanInTree, TimingFacts] | None) -> None:
        shown = self.details.subject
        if counted is not None and shown is not None and shown.row == counted[0].row:
            self.details.show(*counted)

    def feed_has_news(self, changed: set[int]) -> None:
        """Compare the span anew, too."""
        super().feed_has_news(changed)
        self.live.look()

    # -- following the cursor ----------------------------------------------------------------------------------------

    def on_line_list_moved(self, event: LineList.Moved) -> None:
        """Let the details follow."""
        if not self.is_left and event.sender is self.rows:
            self.look_later()

    def look_later(self) -> None:
        """Show the details when the cursor rests."""
        if self._look_timer is not None:
            self._look_timer.stop()
        self._look_timer = self.set_timer(_LOOK_S, self._show_details)

    def _show_details(self) -> None:
        if self.is_left or not self.details.display:
            return
        node = self.rows.node
        if node is None:
            return
        if run := self._model.run(node):
            self._show_run(node, run)
        elif self._model.tree.is_missing(node):
            span_id = self._model.tree.span_id(node)
            text = f"parent not seen ({format_span_id(span_id)}): {self.fate_of_missing(span_id)}"
            self.details.show_lines(text, self.known_of_missing(span_id))
        else:
            self.details.show(self._subject(node))

    def _show_run(self, node: int, run: Run) -> None:
        store, row = self._store, self._model.tree.rows[node]
        errors = self._model.shape.failed_between(run.first, run.end)
        parts = [f"{sanitise(store.names.texts[store.spans.name[row]], 120) or '(no name)'} ×{len(run.members):,}"]
        parts += [f"✖ {count(errors, 'error')}"] if errors else []
        parts += [self._facets.kind(row), "→ shows each"]
        self.details.show_lines("   ".join(parts), lines_of_run(run, errors))

    def _subject(self, node: int) -> SpanInTree:
        shape, row = self._model.shape, self._model.tree.rows[node]
        return SpanInTree(self._store.span(row), self._store, self.trace, shape.stitched, shape.stitched_node(node))

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_next_pane(self) -> None:
        """Show the next section of the details; at first the details, where they aren't in sight."""
        if self.details.display:
            self.details.next_section()
            self._say_section()
        elif self._ask_for_details():
            self._say_section()
        else:
            self.viewer.say("no room for details here: Enter shows them on a screen of their own")

    async def action_raw(self) -> None:
        """Show the record as the file has it, and back."""
        was_in_sight = self.details.display
        if was_in_sight or self._ask_for_details():
            if was_in_sight or self.details.section != RAW:
                self.details.toggle_raw()
            self._say_section()
        else:
            await self.open_span(RAW)

    async def open_span(self, section: str) -> None:
        """Show the selected span on a screen of its own, if it is one."""
        raise NotImplementedError

    def _ask_for_details(self) -> bool:
        """Show the details over the lower half; return False where there is too little room even for that."""
        self._are_asked_for = True
        self._take_room(self.size.height)
        self._show_details()
        return self.details.display

    def _say_section(self) -> None:
        hides = "; Esc hides the details" if self._hides_details else ""
        self.viewer.say(f"{self.details.section.lower()} of the span{hides}")

    @property
    def _hides_details(self) -> bool:
        """Whether the details are in sight for as long only as they are asked for."""
        return self._are_asked_for and self.details.display and self.size.height < ROOM_FOR_DETAILS

    def action_back(self) -> None:
        """Hide the details that were asked for, then drop the search, then go back to the traces."""
        if self._hides_details:
            self._are_asked_for = False
            self._take_room(self.size.height)
            self.viewer.say("the details are hidden; Tab shows them")
        else:
            super().action_back()

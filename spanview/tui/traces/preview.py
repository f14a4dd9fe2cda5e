"""The selected trace beside the list, where the screen is wide: its tree and waterfall, as `Enter` opens them."""

from __future__ import annotations

from dataclasses import replace
from time import time_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from spanview.display.cells import fixed
from spanview.display.units import count, duration
from spanview.index.lives import OpenEnd
from spanview.tui.widgets.answer_line import CURSOR_RESTS_S, AnswerLine
from spanview.tui.widgets.work import Work
from spanview.tui.widgets.zooming import Zoom

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.waited_for import WaitReasons
    from spanview.analysis.silent import SilentFailure
    from spanview.index.store import Store
    from spanview.tui.trace.appearance import Appearance
    from spanview.tui.trace.stitched_trace import StitchedTrace
    from spanview.tui.trace.trace_model import TraceModel
    from spanview.tui.trace.waterfall import RulerLine, Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.linelist import LineList

ROOM_FOR_PREVIEW: Final = 150
"""Columns from which on it is shown."""
_RUNS_ON_S: Final = 1.0
"""How often it is asked how far what runs has come."""
_MAX_SPANS: Final = 50_000
"""A trace with more spans is shown when it is opened."""
_MAX_READ: Final = 200_000
"""Where more spans were read, what a call without an attempt may be takes too long to find out for each row."""


class _Known(NamedTuple):
    unended: Mapping[int, Unended]
    """What has become of spans without an end, by row."""
    answer: Sequence[str]
    """Where the time went, as `answer_texts` returns it; nothing where that isn't known."""
    reasons: Mapping[int, Why] = MappingProxyType({})
    """Why calls have no attempt, by row."""
    silent: Mapping[int, SilentFailure] = MappingProxyType({})
    """How spans failed without an error, by row."""
    open_calls: Collection[int] = ()
    """The rows of calls without an attempt that may still run."""
    waits: WaitReasons | None = None
    """What calls waited for, where Ray's own events say so."""
    is_over: bool = False
    """Whether nothing more becomes of its calls, as they say."""
    until_ns: int = 0
    """Until when it had lasted, where its time went."""

    def going_on(self) -> _Known:
        """Return what is known now, until it is asked again: what ran runs on."""
        from spanview.analysis.ray.unended import Fate

        now_ns = time_ns()
        runs = {row: replace(span, seen_ns=now_ns) for row, span in self.unended.items() if span.fate is Fate.RUNS}
        return self._replace(unended={**self.unended, **runs})


class Preview(Vertical):
    """The selected trace, in brief, beside the list."""

    def __init__(self, screen: BaseScreen, store: Store) -> None:
        super().__init__()
        self._list = screen
        self._store = store
        self._calls: KnownCalls | None = None
        self._work = Work(screen)
        self._timer: Timer | None = None
        self._shown: tuple[int, int, bool] | None = None
        """The trace, how many spans it had, and whether calls are rows."""
        self._title = Static(Content(""), classes="heads")
        self._titled = ""
        """What it says, in any width."""
        self._known: _Known | None = None
        """What was said last."""
        self._answer_line = AnswerLine()
        """Where its time went."""
        self._answer_line.display = False

    def compose(self) -> ComposeResult:
        """Make the title and the line below; the rows come with the first trace."""
        yield self._title
        yield self._answer_line

    def follow(self, trace: int | None) -> None:
        """Show a trace when the cursor rests on it; None for none."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self.display and trace is not None:
            self._timer = self.set_timer(CURSOR_RESTS_S, lambda: self._make(trace))

    def _make(self, trace: int) -> None:
        table, joins = self._store.trace_table, self._list.viewer.settings.joins
        spans, shown = table.span_count[trace], (trace, table.version(trace), joins)
        if self._list.is_left or self._shown == shown:
            return
        self._shown = shown
        if spans > _MAX_SPANS:
            self._say_title(f"{count(spans, 'span')}: ⏎ opens the trace")
            self.query("RulerLine, LineList").remove()
            self._answer_line.display = False
            return
        store, folds = self._store, self._list.viewer.settings.folds

        def made() -> tuple[TraceModel, Appearance, _Known]:
            # A trace's modules aren't needed for the first rows of the list.
            from spanview.tui.trace.appearance import Appearance
            from spanview.tui.trace.stitched_trace import StitchedTrace
            from spanview.tui.trace.trace_model import TraceModel

            model = TraceModel(store, trace, StitchedTrace(store, trace, store.tree(trace), joins=joins))
            if folds != model.folds:
                model.toggle_folds()
            appearance = Appearance(model)
            appearance.find_beforehand(model.stitched)
            return model, appearance, self._known_of(model.stitched, trace)

        self._work.begin(lambda _: made(), self._show)

    def _known_of(self, stitched: StitchedTrace, trace: int) -> _Known:
        """Called in a thread: find out where the time went, and what has become of spans without an end."""
        from spanview.analysis.answer import answer_of
        from spanview.analysis.ray.calls import calls_of
        from spanview.analysis.ray.known_calls import KnownCalls
        from spanview.analysis.ray.unended import known_until
        from spanview.analysis.silent import silent_failures
        from spanview.display.answer_text import answer_texts

        store, running = self._store, self._list.viewer.running
        unended = running.unended([trace]) if stitched.without_end else {}
        if len(store.spans) > _MAX_READ:
            return _Known(unended, [])
        known, until = self._calls, known_until(unended, stitched.whole.end_ns)
        if known is None or not known.is_current:
            # The next trace is looked at soon: it has the same calls around it.
            self._calls = known = KnownCalls(store)
        answer = answer_of(store, trace, stitched.unjoined, until, known)
        reasons = known.reasons_among(calls_of(store, [trace]).without_attempt)
        silent, open_calls = silent_failures(store, [trace], running.is_open, reasons=reasons)
        texts = answer_texts(answer, stitched.short_names, len(open_calls))
        shown = reasons if stitched.has_calls else {}
        waits, is_over = known.told_waits_in(trace), known.is_over(trace)
        until_ns = max(stitched.whole.end_ns, *until.values(), 0)
        return _Known(unended, texts, shown, silent, open_calls, waits, is_over, until_ns)

    def _show(self, made: tuple[TraceModel, Appearance, _Known]) -> None:
        from spanview.tui.trace.waterfall import RulerLine, Waterfall

        model, appearance, known = made
        if self._list.is_left:
            return
        if not self.display:
            # Made again when there is room again.
            self._shown = None
            return
        self.query("RulerLine, LineList").remove()
        rows = Waterfall(model, appearance)
        rows.can_focus = False
        zoom = Zoom(rows, model, interval=lambda: None, refresh=lambda: self.query(RulerLine).refresh())
        ruler = RulerLine(rows, zoom)
        self.mount(ruler, rows)
        self._say(rows, ruler, known)
        rows.rows_have_changed(len(model.rows), 0)

    def _say(self, rows: Waterfall, ruler: RulerLine, known: _Known) -> None:
        """Say what is known by now, and again soon while something runs."""
        from spanview.display.answer_text import as_far_as_known
        from spanview.display.tree_text import lasted_text

        model, viewer = rows.model, self._list.viewer
        if self._list.is_left or not self.display:
            return
        appearance, self._known = rows.appearance, known
        appearance.take_unended(known.unended)
        appearance.reasons, appearance.silent, appearance.open_calls = known.reasons, known.silent, known.open_calls
        appearance.waits = known.waits
        appearance.lay_out_silent()
        parts = [viewer.root_name(model.trace), lasted_text(self._store, model.trace, model.tree, known.unended)]
        parts += [count(self._store.trace_table.span_count[model.trace], "span")]
        self._say_title(" " + "   ".join(parts))
        may_grow = viewer.feed_state.loading or (viewer.is_growing(model.trace) and not known.is_over)
        end = OpenEnd.RUNS if may_grow else model.open_end
        start_ns = model.whole.start_ns
        is_first = end is OpenEnd.RUNS and duration(known.until_ns - start_ns) != duration(model.whole.length_ns)
        self._answer_line.say(as_far_as_known(known.answer, end, is_first=is_first))
        self._answer_line.display = bool(known.answer)
        rows.refresh()
        ruler.refresh()
        # That a trace has stopped growing changes nothing in it, and is known later than what is lost.
        if end is OpenEnd.RUNS or (known.open_calls and viewer.feed_state.following):
            self.set_timer(_RUNS_ON_S, lambda: self._look_again(rows, ruler, known))

    def _say_title(self, text: str) -> None:
        self._titled = text
        self._title.update(Content(fixed(text, self.size.width)), layout=False)

    def on_resize(self) -> None:
        """Say as much of the title as there is room for; there is none before the first time."""
        self._say_title(self._titled)

    def _look_again(self, rows: Waterfall, ruler: RulerLine, known: _Known) -> None:
        """Find out how far what runs has come, unless something else is shown; it goes on with the clock until then."""
        if not rows.is_attached or self._list.is_left or known is not self._known:
            return
        is_seen = self._list.is_in_front and not self._list.viewer.paused
        if is_seen and self._work.is_busy:
            self._say(rows, ruler, known.going_on())
            return
        if is_seen:
            stitched, trace = rows.model.stitched, rows.model.trace
            self._work.begin(lambda _: self._known_of(stitched, trace), lambda found: self._say(rows, ruler, found))
        self.set_timer(_RUNS_ON_S, lambda: self._look_again(rows, ruler, known))

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Open the trace at the span that was double-clicked."""
        from spanview.tui.trace.waterfall import Waterfall

        event.stop()
        rows = event.sender
        if isinstance(rows, Waterfall) and rows.node is not None:
            trace, tree = rows.model.trace, rows.model.tree
            row = None if tree.is_missing(rows.node) else tree.rows[rows.node]
            self.app.call_later(lambda: self._list.viewer.views.open_trace(trace, at_row=row))

"""What runs and what waits now, oldest first; Enter leads to the trace of one."""

from __future__ import annotations

from collections import Counter
from time import time_ns
from typing import TYPE_CHECKING

from spanview.analysis.diagnosis.finding import Certainty
from spanview.display.sanitise import sanitise
from spanview.index.lives import State
from spanview.model.ids import format_span_id
from spanview.reports.running import running_table
from spanview.tui.keys import On
from spanview.tui.log.span_logs import SpanLogs, of_row
from spanview.tui.widgets.base_screen import ASK_AGAIN_S
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.table import TableList
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.ray.running import OpenSpan
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope


class RunningScreen(ReportScreen["OpenSpan"], on=On.RUNNING):
    """What runs and waits, asked again and again: processes come and go though no span does."""

    def __init__(self, store: Store, scope: TraceScope) -> None:
        keys: RowKeys[OpenSpan] = RowKeys(
            open=lambda span: self.viewer.views.open_span(span.row),
            copied=lambda span: (format_span_id(store.spans.span_id[span.row]), "span id"),
            failed=lambda _: [],
            has_failed=lambda _: False,
            nothing_failed="what runs has not failed",
        )
        super().__init__(TableList(running_table(store, 0), lambda span: span.row), keys)
        self._store = store
        self.live: Live[Sequence[OpenSpan]] = Live(self, scope, self._find, self._take)
        self._calls: Sequence[int] = ()
        """Calls without an attempt of which processes may tell more."""
        self._asking = Work(self)
        self._logs = SpanLogs(self.rows, self.refresh_frame)

    def begin(self) -> None:
        """Ask now, and then as often as the answer may be another."""
        super().begin()
        self.set_interval(ASK_AGAIN_S, self._ask_again)
        if not (self.viewer.follows or self.viewer.feed_state.loading):
            # What has ended since isn't known.
            self.viewer.say("files were read once: ␣ follows them")

    def _find(self, traces: Sequence[int] | None, _: Tell) -> Sequence[OpenSpan]:
        """Called in a thread: spans have come, so other calls may be open."""
        self._calls = self.viewer.running.open_calls()
        return self._open_spans(traces)

    def _open_spans(self, traces: Sequence[int] | None) -> Sequence[OpenSpan]:
        return self.viewer.running.open_spans(self._calls, None if traces is None else {*traces})

    def _ask_again(self) -> None:
        if self.live.has_answer and not (self.live.work.is_busy or self.viewer.paused or not self.is_in_front):
            traces = self.live.chosen.traces
            self._asking.queue(lambda _: self._open_spans(traces), self._take)

    def something_is_lost(self) -> None:
        """Ask at once: what is said to be lost isn't to run here."""
        self._ask_again()

    def _take(self, spans: Sequence[OpenSpan]) -> None:
        if not self.viewer.paused or not self.rows.items:
            self.rows.table = running_table(self._store, time_ns())
            self.rows.show(spans, stay=True)
            self.refresh_frame()

    def title_text(self) -> str:
        """Return how many run and wait."""
        head = f"‹ now in {self.live.chosen.what}{self.live.as_of}"
        if not self.live.has_answer:
            return f"{head}   asking processes … {self.live.work.share_text}"
        states = Counter(span.state if span.certainty else None for span in self.rows.items)
        said = f"{states[State.RUNNING]:,} running, {states[State.WAITING]:,} waiting"
        said += f", {states[None]:,} may wait or run" if states[None] else ""
        return f"{head}   {said}"

    def note_text(self, cells: int) -> str:  # noqa: ARG002 - it is short
        """Return why the selected span is thought to run or to wait."""
        span = self.rows.selected
        if span is None:
            return "nothing runs or waits, as far as processes show" if self.live.has_answer else ""
        likely = ", likely" if span.certainty is Certainty.LIKELY else ""
        # What may wait says so itself.
        return sanitise(f"{span.state}{likely}: {span.text}" if span.certainty else span.text)

    async def action_log(self) -> None:
        """Show the log of what runs the selected span."""
        await self.live.wait_for_answer()
        if self.rows.selected is not None:
            await self._logs.open(of_row(self._store, self.rows.selected.row), None)

"""What each worker did over time: a line each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from time import time_ns
from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.names import RAN
from spanview.analysis.ray.unended import seen_until
from spanview.analysis.ray.waits import wait_in, wait_word
from spanview.display.cells import name_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count, duration
from spanview.index.table import NO_ROW
from spanview.model.codes import CONSUMER, ERROR
from spanview.model.times import NO_TIME
from spanview.reports.workers_model import Identities, Sort, WorkersModel, WorkersShape, key_of, processes_text
from spanview.tui.app.settings import chosen
from spanview.tui.keys import On, View
from spanview.tui.log.span_logs import SpanLogs, of_worker
from spanview.tui.widgets.base_screen import ASK_AGAIN_S, BaseScreen
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.legend import Legend
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.minimap import Minimap
from spanview.tui.widgets.table import following
from spanview.tui.widgets.work import Work
from spanview.tui.widgets.zooming import Zoom
from spanview.tui.workers.worker_bars import AWAITING, RUNNING, UNENDED
from spanview.tui.workers.worker_lines import WaitingLine, WorkerHeads, WorkerLines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.ray.lanes import Lane
    from spanview.analysis.ray.running import RunsNow
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope

_SHORTEST_NAME: Final = 12
_LONGEST_ID: Final = 20


class WorkersScreen(BaseScreen, on=On.WORKERS, view=View.WORKERS):
    """The workers, a line each."""

    rows: WorkerLines
    zoom: Zoom
    NOTES = 3

    def __init__(self, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self._store = store
        self._identities = Identities(store)
        self.live: Live[WorkersShape] = Live(self, scope, self._find_out, self._take_workers)
        self._asking = Work(self)
        self._model = WorkersModel(store)
        self.rows = WorkerLines(self._model)
        self.zoom = Zoom(self.rows, self._model, interval=lambda: self.rows.interval, refresh=self.refresh_time)
        self._opened: int | None = None
        """The row of the failed block that was opened last."""
        self._is_without_rays_own = False
        self._is_asked = False
        """Whether it was asked what runs, or ran until when."""
        self._gap: tuple[int, tuple[int, int]] | None = None
        """The idle gap that was gone to last: the index of its worker, and its times."""
        self._logs = SpanLogs(self.rows, self.refresh_frame)

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield Minimap(self._model, self.zoom.look_at)
        yield WorkerHeads(self._model, self.zoom, self._sort_by, classes="heads")
        yield WaitingLine(self._model, self.zoom)
        yield self.rows
        yield Legend(self._model, self._hatches)
        yield TwoSided(classes="chosen", id="lane")
        yield TwoSided(classes="chosen", id="block")

    def _hatches(self) -> str:
        """Return what hatched time is, where there may be some."""
        has_unended = any(lane.blocks.unended for lane in self._model.shape.lanes)
        texts = [f"{RUNNING} runs now"] if self._model.something_runs else []
        texts += [f"{AWAITING} awaits others"] if self._model.awaits else []
        return "  ".join(texts + ([f"{UNENDED} no end seen"] if has_unended else []))

    def on_mount(self) -> None:
        """Find out what workers did, in a thread."""
        self.set_focus(self.rows)
        self.take_settings()
        self.live.begin()
        self.set_interval(ASK_AGAIN_S, self._ask_what_runs)

    def _find_out(self, traces: Sequence[int] | None, tell: Tell) -> WorkersShape:
        """Called in a thread."""
        without, until = self._is_without_rays_own, self._known_until(traces)
        return WorkersShape.of(self._store, self._identities, traces, tell, without_rays_own=without, until=until)

    def _known_until(self, traces: Sequence[int] | None) -> Mapping[int, int]:
        # How busy a worker was at least; Ray may hear late that something had ended.
        return seen_until(self.viewer.running.unended(None if traces is None else {*traces}))

    def _take_workers(self, shape: WorkersShape) -> None:
        lane, row = self.rows.lane, self.rows.row
        self._model.take(shape)
        self.query_one(WaitingLine).display = shape.waiting is not None and bool(len(shape.waiting.times))
        self._show_from(lane, row)

    def _show_from(self, lane: Lane | None, row: int | None) -> None:
        """Show what has become of the workers, the cursor where it was, on a worker and a block, or at the first."""
        if lane is None:
            self.rows.show_all()
        else:
            self.rows.update(self._model.index_of(key_of(lane)), row)
        self.refresh_time()
        self.query_one(Legend).refresh()

    def _ask_what_runs(self) -> None:
        """While spans come, ask in a thread what processes of this host run: they come and go.

        Else ask until when what has no end is known to have run, once.
        """
        state, running = self.viewer.feed_state, self.viewer.running
        if state.loading or self.viewer.paused or not self.live.has_answer or (self._is_asked and not state.following):
            return
        self._is_asked, traces = True, self.live.chosen.traces
        chosen = None if traces is None else {*traces}

        def ask(_: Tell) -> tuple[Sequence[RunsNow], Mapping[int, int]]:
            return running.runs_now(chosen) if state.following else (), self._known_until(traces)

        self._asking.queue(ask, self._take_running)

    def _take_running(self, known: tuple[Sequence[RunsNow], Mapping[int, int]]) -> None:
        lane, row = self.rows.lane, self.rows.row
        if not self.viewer.paused and self._model.take_running(*known, time_ns()):
            self._show_from(lane, row)

    # -- texts -------------------------------------------------------------------------------------------------------

    def title_text(self) -> str:
        """Return what is shown."""
        if not self.live.has_answer:
            return f"‹ workers in {self.live.chosen.what}   looking at spans … {self.live.work.share_text}"
        number, untraced = processes_text(self._model.shape.workers), self._model.shape.untraced
        number += f", {count(untraced, 'call')} not traced" if untraced else ""
        number += ", without Ray's own" if self._model.shape.is_without_rays_own else ""
        empty, by = self._model.shape.empty_files, self._model.by.value
        # What no line shows comes last, as a narrow header cuts it.
        note = (
            ""
            if not empty
            else "   1 worker's file is empty"
            if empty == 1
            else f"   {empty:,} workers' files are empty"
        )
        return f"‹ workers in {self.live.chosen.what}{self.live.as_of}   {number}   by {by}{note}"

    def refresh_time(self) -> None:
        """Paint anew what says which time is shown."""
        self.query_one(Minimap).refresh()
        self.query_one(WorkerHeads).refresh()
        self.query_one(WaitingLine).refresh()
        self.refresh_frame()

    on_line_list_moved = BaseScreen.refresh_frame
    """Say what is selected now."""

    def show_frame(self) -> None:
        """Show the frame, and say what is selected."""
        super().show_frame()
        lane, index = self.rows.lane, self.rows.index
        texts = [("", ""), ("", "")]
        if lane is not None and index is not None:
            texts = [(self._lane_text(lane, index), ""), self._block_texts(lane, index)]
        for name, (left, right) in zip(("#lane", "#block"), texts, strict=True):
            self.query_one(name, TwoSided).say(left, right)

    def _lane_text(self, lane: Lane, index: int) -> str:
        """Return what is said of a worker; where there is less room, its share of the view gives way to its gap."""
        before, parts, worker = list[str](), list[str](), self._model.shape.workers[index]
        busy = [""]
        if (runs := self._model.runs_now(index)) is not None:
            likely = ", likely" if runs.certainty is Certainty.LIKELY else ""
            before.append(f"{' '.join(filter(None, ('runs', sanitise(runs.title, _LONGEST_ID), 'now')))}{likely}")
        longest, (busy_ns, length_ns) = self._model.gap(index), self._model.own_time(index)
        if longest is not None:
            most = self._model.at_most(index)
            parts.append(f"longest gap {most}{duration(self._model.gap_ns(index))} from {self._after(longest[0])}")
        if not self._model.is_busy_known(index):
            busy = ["busy time not known: its spans wait for its calls, too", "busy time not known"]
        elif length_ns:
            share, own, shown = busy_ns / length_ns, duration(length_ns), self._model.shown_share(index)
            rest = ", without generators" if index in self._model.shape.with_generators else ""
            of_own = f"busy {self._model.bound_text(index, share)}{share:.1%} of {own}"
            of_view = f"{self._model.bound_text(index, shown)}{shown:.1%} of view{rest}"
            # How long it was there at all isn't known of what was lost.
            busy = [f"busy {of_view}"] if self._model.has_lost_end(index) else [f"{of_own} ({of_view})", of_own]
            if awaited := self._model.awaited_share(index):
                parts.append(f"likely awaits others {awaited:.1%}")
        least = "at least " if self._model.at_most(index) else ""
        parts += [f"{least}{lane.max_concurrency:,} at once"] if lane.max_concurrency else []
        if lane.restarts:
            parts.append(f"restarted {count(len(lane.restarts), 'time')}")
        named = {
            "pid": worker.pid,
            "node": worker.node,
            "actor": worker.actor,
            "id": worker.actor_id,
            "job": worker.job,
        }
        parts += [f"{name} {sanitise(text, _LONGEST_ID)}" for name, text in named.items() if text]
        # What comes last is cut: ids and the like.
        room, gap = self.size.width - 2, parts[: longest is not None]
        heads = [[*before, *filter(None, (text,))] for text in busy]
        head = next((head for head in heads if len("   ".join([*head, *gap])) <= room), heads[-1])
        return "   ".join([*head, *parts])

    def _block_texts(self, lane: Lane, index: int) -> tuple[str, str]:
        """Return what is said of the selected block, and which one of all it is."""
        block, row, spans = self.rows.block, self.rows.row, self._store.spans
        if block is None or row is None:
            return "no span of this worker has a start", ""
        start, end, parent = spans.start_ns[row], spans.end_ns[row], lane.blocks.parents[block]
        parts, calls = [self._after(start), self._length_text(row, start, end)], self._model.shape.calls
        if parent != NO_ROW and calls is not None and (wait := wait_in(calls, parent, row)):
            parts.append(f"{wait_word(self._store, row)} {duration(wait)}")
        gap = self._model.idle_before(index, start)
        if gap is None:
            parts.append("first span of this worker")
        else:
            parts.append(f"idle {self._model.at_most(index)}{duration(gap)} before" if gap else "while others ran")
        is_failed, failed = spans.status[row] == ERROR, lane.blocks.has_failed(block)
        rest, place = "   ".join(["", *parts]), f"{block + 1:,} of {len(lane.blocks.rows):,}"
        if failed and not is_failed:
            rest = f"   ✖ in a span below{rest}"
        mark = "✖ " if is_failed else ""
        # What it is called gives way to what is said of it.
        room = max(_SHORTEST_NAME, self.size.width - len(mark) - len(rest) - len(place) - 4)
        name = name_text(self._store.names.texts[spans.name[row]] or "(no name)", room).rstrip()
        return mark + name + rest, place

    def _length_text(self, row: int, start: int, end: int) -> str:
        spans, texts = self._store.spans, self._store.names.texts
        generator = self._model.shape.generators.get(texts[spans.name[row]].removesuffix(RAN))
        if generator is not None and spans.kind[row] == CONSUMER:
            is_likely = generator is Certainty.LIKELY
            return "likely a generator: end not known" if is_likely else "a generator: end not known"
        return "no end" if end == NO_TIME else duration(end - start)

    def _after(self, ns: int) -> str:
        return f"+{duration(ns - self._model.whole.start_ns)}"

    # -- keys --------------------------------------------------------------------------------------------------------

    def take_settings(self) -> None:
        """Sort as was sorted last, with what is Ray's own or without."""
        settings, index = self.viewer.settings, self.rows.index
        self._model.sort(chosen(Sort, settings.workers_sort) or Sort.START, is_reversed=settings.workers_reversed)
        self.rows.keep_on(index)
        self.refresh_time()
        if self._is_without_rays_own != settings.without_rays_own:
            self._is_without_rays_own = settings.without_rays_own
            self.live.begin()

    def _sort_by(self, by: Sort) -> None:
        """Sort by something else, or the other way round."""
        if by is self._model.by:
            self.action_turn()
            return
        self.viewer.keep(workers_sort=by.value, workers_reversed=False)
        self.take_settings()
        self.viewer.say(f"sorted by {by.value}; S reverses")

    def action_sort(self) -> None:
        """Sort by the next thing."""
        self._sort_by(following(Sort, self._model.by))

    def action_turn(self) -> None:
        """Reverse the order."""
        self.viewer.keep(workers_reversed=not self._model.is_reversed)
        self.take_settings()
        self.viewer.say(f"sorted by {self._model.by.value}{', reversed' if self._model.is_reversed else ''}")

    def action_sibling(self, by: int) -> None:
        """Go to the next block of the lane, or to the one before."""
        rows = self.rows
        if rows.lane is None or rows.block is None:
            self.viewer.say("this worker has no block")
        elif 0 <= rows.block + by < len(rows.lane.blocks.rows):
            self._go_to(rows.block + by)
        else:
            self.viewer.say(
                "this is the last block of the worker" if by > 0 else "this is the first block of the worker"
            )

    async def action_longest(self, by: int) -> None:
        """Go to the longest idle gap of all workers, from there to the next longest, or back: to what ended it."""
        await self.live.wait_for_answer()
        gaps = self._model.longest_gaps()
        if not gaps:
            self.viewer.say("no idle gaps")
            return
        number = (gaps.index(self._gap) + by if self._gap in gaps else min(0, by)) % len(gaps)
        index, (start, end) = self._gap = gaps[number]
        self.rows.move_to(self._model.line_of(index))
        block = self._model.lane(index).blocks.nearest(end)
        if block is not None:
            self._go_to(block)
            shown, whole = self._model.shown, self._model.whole
            if start < shown.start_ns:
                self.zoom.look_at(whole.within(start, max(end, start + shown.length_ns)))
        gap = f"idle {self._model.at_most(index)}{duration(end - start)} from {self._after(start)}"
        self.viewer.say(f"{gap}: {number + 1:,} of {len(gaps):,}, longest first")

    async def action_log(self) -> None:
        """Show the log of the worker, at the lines of the selected block."""
        await self.live.wait_for_answer()
        lane, row = self.rows.lane, self.rows.row
        if lane is None or row is None:
            self.viewer.say("no log: no span of this worker has a start")
        else:
            await self._logs.open(of_worker(self._store, row, lane.blocks.rows), None)

    def _go_to(self, block: int) -> None:
        """Select a block, and show another time where it isn't in sight."""
        self.rows.select(block)
        interval, shown, whole = self.rows.interval, self._model.shown, self._model.whole
        if interval is not None and (interval[1] < shown.start_ns or interval[0] > shown.end_ns):
            self.zoom.look_at(whole.centred(shown, *interval))

    async def action_error(self, by: int) -> None:
        """Open the selected block where it failed; else the next one that did, worker after worker, or the one before.

        Where the selected one was opened last, it is the next one; round the end if need be.
        """
        await self.live.wait_for_answer()
        order, rows = self._model.order, self.rows
        failed = [self._model.lane(index).blocks.failed for index in order]
        before = [*accumulate(map(len, failed), initial=0)]
        if rows.index is None or not before[-1]:
            if not await self.viewer.views.open_newest_failure():
                self.viewer.say("no error in these workers")
            return
        here, own = -1 if rows.block is None else rows.block, order.index(rows.index)
        place = bisect_right(failed[own], here) if by > 0 else bisect_left(failed[own], here) - 1
        if rows.row != self._opened and here in failed[own]:
            place = failed[own].index(here)
        number = (before[own] + place) % before[-1]
        worker = bisect_right(before, number) - 1
        rows.move_to(self._model.line_of(order[worker]))
        self._go_to(failed[worker][number - before[worker]])
        self._opened = rows.row
        if rows.row is not None:
            await self.viewer.views.open_span(rows.row, at_error=True)

    async def action_open(self) -> None:
        """Show the selected block in its trace."""
        await self.live.wait_for_answer()
        row = self.rows.row
        if row is not None:
            await self.viewer.views.open_span(row)
        else:
            self.viewer.say("nothing to open")

    def action_copy(self) -> None:
        """Copy the span id of the selected block."""
        row = self.rows.row
        if row is not None:
            self.viewer.copy(f"{self._store.spans.span_id[row]:016x}", "span id")
        else:
            self.viewer.say("nothing to copy")

"""The first screen: all traces, newest first, sorted, grouped and filtered as one likes."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from spanview.analysis.trace_lists import TraceColumn
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME
from spanview.reports.traces_model import TracesModel
from spanview.tui.diff.marking import mark_or_compare, side_of_trace
from spanview.tui.keys import On, View
from spanview.tui.traces.filtering import TraceFilter
from spanview.tui.traces.group_list import GroupList
from spanview.tui.traces.listed import scope_of_listed, scope_of_selected, side_of_group, side_of_listed
from spanview.tui.traces.marks import TraceMarks
from spanview.tui.traces.places import PlacesWithSpans
from spanview.tui.traces.plot import Plot
from spanview.tui.traces.preview import ROOM_FOR_PREVIEW, Preview
from spanview.tui.traces.trace_list import TraceList
from spanview.tui.widgets.answer_line import TypicalLine
from spanview.tui.widgets.base_screen import ASK_AGAIN_S, BaseScreen, done_by
from spanview.tui.widgets.copying import Copier
from spanview.tui.widgets.header import Wrong, state_text, totals_text
from spanview.tui.widgets.prompt import QUERY_HINT, Prompt
from spanview.tui.widgets.scope import ViewScope
from spanview.tui.widgets.table import Sorting
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult

    from spanview.analysis.ray.running import Living
    from spanview.analysis.trace_lists import TraceGroup
    from spanview.index.store import Store
    from spanview.reports.table import RowOrder
    from spanview.tui.diff.side import MarkedSide
    from spanview.tui.traces.completeness import Completeness
    from spanview.tui.widgets.linelist import LineList

_GROWTH_MARK_S: Final = 2.0
"""So long after it has grown a trace is marked."""
_STITCHED_AT_ONCE: Final = 1_000
"""So many spans are stitched before the next key."""
_ROOM_FOR_PLOT: Final = 30
"""Lines from which on the plot stands above the list."""
_MANY_TRACES, _FEW_NAMES = 1_000, 20
"""Where so many traces have so few names, their groups come first."""
_ABOUT_ERRORS: Final = re.compile(r"status|error", re.IGNORECASE)
"""In a filter that asks for failures, as `status=ERROR` or `trace.errors>0`."""
_LONGEST_NAME: Final = 40
_LONGEST_REASON: Final = 160
_MOST_LABELS: Final = 3


class TracesScreen(BaseScreen, on=On.TRACES):
    """A line a trace, or a line a root name."""

    def __init__(self, store: Store, query: str, nothing: list[str]) -> None:
        super().__init__()
        self._store = store
        self._nothing = nothing
        self._model = TracesModel(store)
        self._model.is_loading = True
        self._places = PlacesWithSpans(store)
        self.filter = TraceFilter(self, store, self._model, query, self._show_found)
        self._grown_at: dict[int, float] = {}
        """When traces have just grown, by `time.monotonic`."""
        self._counted: object = None
        """The choice of traces that the groups were counted among."""
        self._living: Living | None = None
        """Which traces may still grow, as far as their processes tell; None before they were asked."""
        self._living_version = -1
        """The store's, when spans without an end were asked about last, where nothing is followed."""
        self._completeness: Completeness | None = None
        self._incomplete: bytes | None = None
        """1 for each trace that is incomplete, as far as they were stitched; None where none was yet."""
        self._has_grown = False
        """Whether something has come since they were stitched."""
        self.marks = TraceMarks(self, store, self._model, self._show_marks)
        self._asking, self._counting, self._stitching = Work(self), Work(self), Work(self)
        self.copier = Copier(self, store, lambda: self.chosen_trace)
        self.grouped = False
        self._is_chosen = False
        """Whether it was decided with what to begin: the list, or groups."""
        self._acted_until = 0.0
        """When the last key before this screen had acted."""
        self._is_read = False
        """Whether everything that was there had been read when the last news came."""
        self._is_plotted = True
        self._failure: int | None = None
        """The trace that was opened for its error last."""
        self._failed_at: tuple[str | None, int | None] | None = None
        """The group and the trace that the cursor was left on by it."""
        self._held = ""
        """What the header said last, for as long as nothing moves."""
        self._prompt = Prompt(QUERY_HINT, self.filter.text, is_query=True)
        self._plot = Plot(self._model, self._pick)
        self.traces, self.groups = TraceList(store, self._model), GroupList(self._model)
        self.rows: LineList = self.traces
        self._sortings = (
            Sorting(self, self.traces, "sort"),
            Sorting(self, self.groups, "group_sort", self._sort_groups),
        )
        self._empty = Static(Content(""), id="nothing")
        self._beside, self._lists = Horizontal(), Vertical()
        """What stands side by side, and the lists in it; groups and preview come with their first use."""
        self._preview = Preview(self, store)
        self._answer_line = TypicalLine(self, store, scope_of_selected(store, self._model, self.groups))
        self.scope = ViewScope(lambda: scope_of_listed(store, self._model), self._narrowed_to, self._compare)

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self._answer_line
        yield self._prompt
        yield self._plot
        with self._beside, self._lists:
            yield self.traces.heads
            yield self.traces
            yield self._empty

    def on_mount(self) -> None:
        """Begin with the list of traces, or of groups."""
        self._acted_until = self.viewer.acts_until
        self.take_settings()
        if self.filter.text:
            self._filter_by(self.filter.text)
        self.set_interval(1.0, self._calm_down)
        self.set_interval(ASK_AGAIN_S, self._ask_what_lives)

    @property
    def view(self) -> View:
        """The list, or the groups."""
        return View.GROUPS if self.grouped else View.TRACES

    def _narrowed_to(self) -> str:
        """Return what the list is narrowed to, for the bar; empty where it isn't."""
        if self._model.is_whole:
            return ""
        words = [self._model.narrowed_to, self.filter.holding]
        words.append(f"{len(self._model.order):,} of {count(len(self._store.trace_table), 'trace')}")
        return ", ".join(filter(None, words))

    @property
    def chosen_group(self) -> TraceGroup | None:
        """The group under the cursor, while groups are shown."""
        return self.groups.selected if self.grouped else None

    # -- what is shown -----------------------------------------------------------------------------------------------

    def title_text(self) -> str:
        """Return what was read, in one line."""
        if self.viewer.paused and self._held:
            return self._held
        state = state_text(self.viewer.feed_state, paused=self.viewer.paused)
        room = self.size.width - cell_len(state) - 5
        viewer = self.viewer
        is_looking = self.marks.are_awaited and not viewer.feed_state.loading
        lost = 0 if self._living is None else len(self._living.lost_spans)
        wrong = Wrong(self._model.errors, lost, viewer.notices, viewer.findings, is_looking)
        self._held = totals_text(self._store, self._places.among(viewer.paths), wrong, room)
        return self._held

    def feed_has_news(self, changed: set[int]) -> None:
        """Take in new and grown traces."""
        if changed:
            self._has_grown = True
            self.filter.look_at(changed)
        # What was read at first has not grown since somebody looks.
        if self.viewer.feed_state.following and self._is_read:
            now = time.monotonic()
            self._grown_at |= dict.fromkeys(changed, now)
            self.groups.grown_at |= dict.fromkeys(self._model.group_names(changed), now)
        self._is_read = not self.viewer.feed_state.loading
        if not self._is_chosen and (self._is_read or len(self._store.trace_table) >= _MANY_TRACES):
            self._begin_with_groups()
        self._show(anew=self._model.choose_anew(changed), is_news=True)

    def _begin_with_groups(self) -> None:
        """Begin with the groups where many traces have few names, unless somebody is at work."""
        self._is_chosen = True
        is_free = self.viewer.acts_until == self._acted_until and not self.filter.text
        if is_free and len(self._store.trace_table) >= _MANY_TRACES and not self._model.limit:
            names, table = self._store.spans.name, self._store.trace_table
            roots = {names[row] for row in table.root_row[:_MANY_TRACES] if row != NO_ROW}
            if len(roots) <= _FEW_NAMES:
                self._show_groups(on=True, anew=False)

    def _show(self, *, anew: bool = False, is_news: bool = False, is_same: bool = False) -> None:
        """Show what is listed.

        Args:
            anew: Whether the choice of traces has changed.
            is_news: Whether traces may have come or grown.
            is_same: Whether the list is as it was.
        """
        self._model.is_loading = self.viewer.feed_state.loading
        self._mark_growing()
        if not is_same:
            self.traces.refresh_rows(reveal=anew)
        # What takes long isn't done each time that spans come.
        can_wait = is_news and self._model.has_many
        if self.grouped:
            # What was counted before is shown meanwhile, where it is of the same.
            is_known = is_same and self.viewer.feed_state.following and self._counted == self._choice
            self._count_groups(can_wait=can_wait or (is_known and self._model.has_many))
        self._say_if_nothing()
        self._take_room_for_preview()
        self._count_matches()
        if can_wait:
            self._is_plotted = False
        elif is_news:
            # The first rows are painted before numpy is imported.
            self.call_after_refresh(self._draw_plot)
        else:
            self._draw_plot()
        self._answer_line.display = self.grouped and bool(self._model.order)
        if self.grouped:
            (self._answer_line.live.catch_up if is_news else self._answer_line.live.begin)()
        self.refresh_frame()

    def _draw_plot(self) -> None:
        self._is_plotted = True
        self._plot.count_anew(self._lit())

    def on_resize(self, event: events.Resize) -> None:
        """Show the plot where there is room for it."""
        self._plot.display = event.size.height >= _ROOM_FOR_PLOT
        self._take_room_for_preview()

    def _take_room_for_preview(self) -> None:
        has_room = self.size.width >= ROOM_FOR_PREVIEW and not self.grouped and bool(self._model.order)
        self._preview.display = has_room
        if has_room and self._beside.is_attached and not self._preview.is_attached:
            self._beside.mount(self._preview)
        self._preview.follow(self.traces.selected)

    def limit_to(self, choose: Callable[[Store], set[int] | None]) -> None:
        """List only the traces that are chosen, and those to come; chosen again when a new run begins."""
        self._model.limit_by(choose)
        self._show(anew=True)

    @property
    def _no_failure(self) -> str:
        """What is said where none is known: what failed without an error isn't known at once."""
        is_known = self.marks.are_known or (not self._model.order and not self._model.only_failed)
        return "no trace here has failed" if is_known else "looking for failures …"

    def _say_if_nothing(self) -> None:
        is_empty = not self._model.order
        self._empty.display = is_empty
        self.rows.display = not is_empty
        if is_empty:
            state = self.viewer.feed_state
            if state.loading:
                lines = ["reading …"]
            elif self._model.only_failed and self._model.matching != set():
                lines = [
                    self._no_failure,
                    "",
                    "f lists all again",
                ]
            elif len(self._store.spans):
                lines = [*self.filter.why_nothing(), *self._silent_failures_beside()]
            else:
                files = [file for _, file in self._store.tallies.each_file()]
                has_contents = sum(1 for file in files if file.bytes and not file.events)
                spanless = f"; {count(has_contents, 'file')} of another kind, under Check" if has_contents else ""
                if any(file.events for file in files):
                    elsewhere = "" if state.following else ", but the spans are in another folder"
                    spanless += f"; Ray's own events are there{elsewhere}"
                lines = [f"no spans {'yet' if state.following else 'here'}{spanless}", "", *self._nothing]
            self._empty.update(Content("\n".join(map(sanitise, lines))))

    def _silent_failures_beside(self) -> list[str]:
        """Return what failed without an error, where errors were asked for and there are none."""
        errors = self._store.trace_table.error_count
        silent = {trace: how.label for trace, how in self._model.silent.items() if how.lasted and not errors[trace]}
        if not silent or not _ABOUT_ERRORS.search(self.filter.text):
            return []
        labels = dict.fromkeys(label.partition(" ×")[0] for label in silent.values())
        shown = ", ".join([*labels][:_MOST_LABELS]) + (", …" if len(labels) > _MOST_LABELS else "")
        return ["", f"{count(len(silent), 'trace')} failed without an error ({shown}): Esc, then f lists them"]

    def _calm_down(self) -> None:
        """Drop the marks of traces that don't grow any more, and do what was put off when spans came."""
        if self.viewer.paused or (self._model.has_many and time.monotonic() < self.viewer.acts_until):
            return
        if not self._is_plotted:
            self._draw_plot()
        if self.grouped:
            self._stitch()
        self.marks.find()
        limit = time.monotonic() - _GROWTH_MARK_S
        if calm := [trace for trace, grown_at in self._grown_at.items() if grown_at < limit]:
            for trace in calm:
                del self._grown_at[trace]
            self.groups.grown_at = {name: at for name, at in self.groups.grown_at.items() if at >= limit}
            self._show_growth()

    def _show_marks(self) -> None:
        self.rows.refresh()
        if self._model.only_failed:
            self._show()
        elif not self._model.order:
            self._say_if_nothing()
        elif self._model.has_many:
            self._is_plotted = False
        else:
            self._draw_plot()
        if self.grouped and not self._model.only_failed:
            self._count_groups(can_wait=self._model.has_many)
        self.refresh_frame()

    def _ask_what_lives(self) -> None:
        """While spans come, ask in a thread which traces may still grow: processes come and go.

        Else ask of spans without an end, once, and again while one runs.
        """
        state = self.viewer.feed_state
        is_busy = self.viewer.paused or (self._model.has_many and time.monotonic() < self.viewer.acts_until)
        if state.loading or is_busy:
            return
        version, running = self._store.version, self.viewer.running
        if state.following:
            self._asking.queue(lambda _: running.living(), self._take_living)
        elif version != self._living_version or (self._living is not None and self._living.running):
            self._living_version = version
            self._asking.queue(lambda _: running.living_by_unended(), self._take_living)

    def _take_living(self, living: Living) -> None:
        if (living.running or living != self._living) and not self.viewer.paused:
            before, self._living = self._living, living
            self.groups.living = self._model.group_names(living.growing)
            self.marks.take_lost(living.lost, living.lost_spans)
            self._show_growth()
            if before is None or (living.lost, living.lost_spans) != (before.lost, before.lost_spans):
                self.viewer.something_is_lost()
            if before is not None and (new := living.lost_spans.keys() - before.lost_spans.keys()):
                self._say_what_is_lost([*new])
        self.filter.look_again()

    def _say_what_is_lost(self, rows: Sequence[int]) -> None:
        """Say at once that spans were lost, whatever screen is in sight."""
        row = max(rows, key=self._store.spans.start_ns.__getitem__)
        name = sanitise(self._model.names[self._store.names.texts[self._store.spans.name[row]]], _LONGEST_NAME)
        lost = f"{name} was lost" if len(rows) == 1 else f"{name} and {count(len(rows) - 1, 'other span')} were lost"
        known = {} if self._living is None else self._living.lost_spans
        spans = [known[one] for one in rows if one in known]
        reasons = {span.reason for span in spans}
        reason = f": {sanitise(reasons.pop(), _LONGEST_REASON)}" if len(reasons) == 1 else ""
        may_go_on = bool(spans) and all(span.is_tried_again or span.may_be_tried_again for span in spans)
        again = f"; Ray may retry {'it' if len(rows) == 1 else 'them'}" * may_go_on
        self.viewer.say(f"✖ {lost}{reason}{'; e opens it' if self.is_in_front else ''}{again}")

    def _show_growth(self) -> None:
        before = self._model.known_until
        self._mark_growing()
        if self._model.sort is TraceColumn.DURATION and self._model.known_until != before:
            self.traces.refresh_rows()
        if self.grouped and self._model.known_until != before:
            self._count_groups(can_wait=self._model.has_many)
        if self._model.known_until != before and not self._model.has_many:
            self._draw_plot()
        self.rows.refresh()

    def _mark_growing(self) -> None:
        self._model.growing = {*self._grown_at}
        if self._living is not None:
            self._model.take_living(self._living, time.time_ns())
        self.viewer.growth_has_changed()

    # -- filtering ---------------------------------------------------------------------------------------------------

    action_search = done_by("_prompt.open")

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Filter as it is typed; Enter doesn't begin anew what is filtered already, nor leave a mistake."""
        if event.text != self.filter.text and event.text == self._prompt.text:
            self._filter_by(event.text)
        if event.done and self.filter.is_mistaken:
            # What is typed next is to mend it: the keys of the list are other ones.
            self._prompt.insist()
        elif event.done:
            self.set_focus(self.rows)
            if not event.text.strip():
                self._prompt.clear()

    def _filter_by(self, text: str) -> None:
        mistake = self.filter.set_text(text)
        self._prompt.say(mistake, is_mistake=bool(mistake))
        if mistake:
            self._say_if_nothing()
        else:
            self._show(anew=True)

    def _show_found(self, matches: set[int]) -> None:
        if matches or not self.filter.left:
            self._show()
        else:
            self._count_matches()
            self._say_if_nothing()

    def _count_matches(self) -> None:
        text = self.filter.result_text(is_loading=self.viewer.feed_state.loading)
        if text:
            self._prompt.say(text)

    # -- groups ------------------------------------------------------------------------------------------------------

    def take_settings(self) -> None:
        """Put traces and groups in order."""
        for sorting in self._sortings:
            sorting.take_setting()
        self._model.is_drilled = False
        self._show_groups(on=self.grouped, anew=True)

    def show_groups(self, *, on: bool) -> None:
        """Group by root name, or list the traces."""
        was_drilled, self._model.is_drilled = self._model.is_drilled, False
        self._is_chosen = True
        self._show_groups(on=on, anew=was_drilled)

    def _show_groups(self, *, on: bool, anew: bool) -> None:
        self.grouped = on
        if on and not self.groups.is_attached:
            self._lists.mount(self.groups.heads, self.groups, before=self._empty)
        self.answer = self._answer_line.live if on else None
        self.rows = self.groups if on else self.traces
        self.traces.display = not on
        self.groups.display = on
        self.traces.heads.display, self.groups.heads.display = not on, on
        self.sorting = self._sortings[on]
        self._show(anew=anew, is_same=not anew)
        self.set_focus(self.rows)

    def _count_groups(self, *, can_wait: bool = False) -> None:
        """Count the groups: at once where that is quick, else soon.

        Args:
            can_wait: Whether nobody waits for it.
        """
        self._model.is_loading = self.viewer.feed_state.loading
        self._mark_growing()
        if not can_wait:
            self._stitch()
        if self._model.has_few_names and not can_wait:
            self._take_groups(self._model.groups(self._incomplete))
            return
        listed, incomplete, model = self._model.order[:], self._incomplete, self._model
        self._counting.queue(
            lambda _: model.counted_groups(listed, incomplete),
            lambda rows: self._take_groups(model.with_open_durations(rows)),
        )

    def _stitch(self) -> None:
        """Find out which traces are incomplete, where something has come since that was known: all are stitched."""
        if self.viewer.feed_state.loading or self._stitching.is_busy:
            return
        if self._incomplete is None or self._has_grown:
            from spanview.tui.traces.completeness import Completeness

            self._has_grown = False
            if self._completeness is None:
                self._completeness = Completeness(self._store)
            flags = self._completeness.flags
            if len(self._store.spans) < _STITCHED_AT_ONCE:
                self._incomplete = flags()
            else:
                self._stitching.queue(lambda _: flags(), self._take_incomplete)

    def _take_incomplete(self, incomplete: bytes) -> None:
        self._incomplete = incomplete
        if self.grouped:
            self._count_groups(can_wait=self._model.has_many)

    @property
    def _choice(self) -> object:
        """What tells the traces that are listed from others, but for those that come."""
        return self.filter.text, self._model.only_failed, id(self._model.limit)

    def _take_groups(self, groups: list[TraceGroup]) -> None:
        self._counted = self._choice
        self.groups.update(groups)
        if self.grouped:
            self._light()

    def on_line_list_moved(self, event: LineList.Moved) -> None:
        """Set the traces of the group under the cursor off from the others; let the preview follow."""
        if self.is_left:
            return
        if event.sender is self.groups:
            self._light()
        elif event.sender is self.traces:
            self._preview.follow(self.traces.selected)

    def _sort_groups(self, order: RowOrder) -> None:
        self.groups.put_in_order(order)
        self._light()

    def _light(self) -> None:
        self._plot.light(self._lit())
        self._answer_line.follow(self._lit())

    def _lit(self) -> Sequence[str | None]:
        """Return the root name whose traces are set off; none where no group is chosen."""
        group = self.chosen_group
        return () if group is None else (group.name,)

    # -- keys --------------------------------------------------------------------------------------------------------

    async def action_open(self) -> None:
        """Open the trace, or show the traces of the group."""
        group = self.chosen_group
        if group is not None:
            self._model.only_root, self._model.is_drilled = group.name, True
            self._show_groups(on=False, anew=True)
            only = "traces without a root" if group.name is None else self.groups.called(group)
            self.viewer.say(f"only {only}; Esc: all groups")
        elif not self.grouped and self.traces.selected is not None:
            await self.viewer.views.open_trace(self.traces.selected)

    def action_back(self) -> None:
        """Drop the group that was opened, then the filter."""
        if self._model.is_drilled:
            self._model.is_drilled = False
            self._show_groups(on=True, anew=True)
            self.viewer.say("all groups")
        elif self._model.picked != (None, None):
            self._pick(None, None)
        elif self._prompt.display:
            self._prompt.clear()
            self.set_focus(self.rows)
            self._filter_by("")
            self.viewer.say("filter cleared")
        elif self._model.only_failed:
            self.action_only_failed()
        elif self.grouped:
            self._show_groups(on=False, anew=False)
        elif self.viewer.marked is not None:
            self.viewer.mark(None)
            self.viewer.say("mark removed")

    def action_leave(self) -> None:
        """Go back to the groups from one of them; else quit."""
        if self._model.is_drilled:
            self.action_back()
        else:
            self.app.exit()

    def action_only_failed(self) -> None:
        """List only what failed, or all again."""
        model = self._model
        model.only_failed = not model.only_failed
        self._show(anew=True)
        what = "only what failed" if model.only_failed else "all that there is"
        self.viewer.say(
            f"{what}: {count(len(model.order), 'trace')}; f: {'all' if model.only_failed else 'only failed'}"
        )

    def action_pick(self, side: int) -> None:
        """Let the list begin, or end, with the time of the selected trace."""
        trace = self.traces.selected
        if self.grouped or trace is None or (ns := self._store.trace_table.start_ns[trace]) == NO_TIME:
            self.viewer.say("select a trace that has a start")
            return
        start, end = self._model.picked
        start, end = (ns, end) if side < 0 else (start, ns)
        self._pick(start, None if start is not None and end is not None and end < start else end)

    def _pick(self, start_ns: int | None, end_ns: int | None) -> None:
        """Narrow the list to a range of time, or to none; where nothing would be listed, it stays as it is."""
        before, self._model.picked = self._model.picked, (start_ns, end_ns)
        self._show(anew=True)
        if not self._model.order and (start_ns, end_ns) != (None, None):
            self._model.picked = before
            self._show(anew=True)
            self.viewer.say("no trace starts in this range")
            return
        listed = count(len(self._model.order), "trace")
        times = self._model.narrowed_to
        self.viewer.say(f"{times}: {listed}; Esc: all" if times else listed)

    async def action_error(self, _by: int) -> None:
        """Open the trace with the newest failure, at that failure; where groups are shown, first of the selected one.

        Where the cursor still stands as this left it, it is the next trace, the one that failed before.
        """
        if self._failure is not None and self._cursor == self._failed_at:
            newest = self._model.next_failure(after=self._failure)
        else:
            newest = self._model.next_failure(self._lit())
            newest = self._model.next_failure() if newest is None else newest
        if newest is None:
            self.viewer.say(self._no_failure)
            return
        self._take_failure(newest)
        await self.viewer.views.open_trace(newest, at_error=True)

    def go_to_failure_after(self, trace: int, by: int) -> int | None:
        """Put the cursor on the failure behind a trace, below 0 on the one before, and return it; None without one."""
        other = self._model.next_failure(after=trace, by=by)
        if other is None or other == trace:
            return None
        self._take_failure(other)
        return other

    def newest_failure(self, trace: int | None) -> int | None:
        """Return the listed trace that failed last, or one where it has failed; None where none has."""
        if trace is None:
            return self._model.next_failure()
        return trace if self._model.is_visited(trace) else None

    def _take_failure(self, trace: int) -> None:
        if self.grouped:
            name = self._model.group_name(trace)
            self.groups.move_on(lambda group: group.name == name)
        else:
            self.traces.go_to(trace)
        self._failure, self._failed_at = trace, self._cursor

    @property
    def _cursor(self) -> tuple[str | None, int | None]:
        """The group and the trace that the cursor is on."""
        group = self.chosen_group
        return None if group is None else group.name, self.chosen_trace

    @property
    def chosen_trace(self) -> int | None:
        """The selected trace."""
        return None if self.grouped else self.traces.selected

    # -- the other screens -------------------------------------------------------------------------------------------

    def mark_has_changed(self) -> None:
        """Show the mark where it is now."""
        self.traces.marked = self.groups.marked = self.viewer.marked
        self.rows.refresh()

    async def action_mark(self) -> None:
        """Mark what is selected, take the mark off again, or compare with what is marked."""
        await mark_or_compare(self.viewer, self._side())

    def _side(self) -> MarkedSide | None:
        """Return the selected trace, or the selected group as it is now."""
        if self.grouped:
            group = self.groups.selected
            return None if group is None else side_of_group(self._store, self._model, group)
        trace = self.traces.selected
        return None if trace is None else side_of_trace(self.viewer, self._store, trace)

    async def _compare(self) -> None:
        """Compare what is marked, or else the listed traces, with what a query finds, or with the rest."""
        if self.viewer.marked is not None:
            await self.viewer.views.open_other_side(self.viewer.marked)
        elif self.filter.left:
            self.viewer.say("still filtering")
        elif not self._model.order:
            self.viewer.say("no traces listed")
        else:
            await self.viewer.views.open_other_side(side_of_listed(self._model, self.filter.holding))

    # -- copying -------------------------------------------------------------------------------------------------------

    action_copy = BaseScreen.action_copy_trace_id
    """Copy the trace id, where a trace is selected."""
